"""A server in front of another that changes fields of every request: altering_proxy.py URL PORT '{"temperature": 1.1}'.

What it is asked for it does not do: a planted fault of whatever server stands behind it."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import Request, urlopen

url, port, changes = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.forward(None)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.forward(json.dumps(body | changes).encode())

    def forward(self, body):
        with urlopen(Request(url + self.path, body, {"Content-Type": "application/json"}), timeout=600) as answer:
            content = answer.read()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
