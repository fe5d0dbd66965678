"""The handler of requests that all servers of tests have: bodies and answers in JSON, and nothing is logged."""

import json
from http.server import BaseHTTPRequestHandler


class AnsweringHandler(BaseHTTPRequestHandler):
    protocol_version, wbufsize, disable_nagle_algorithm = "HTTP/1.1", -1, True
    model = "forged"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.reply({"object": "list", "data": [{"id": self.model}]})

    def body(self):
        return json.loads(self.rfile.read(int(self.headers["content-length"])))

    def reply(self, data, status=200, kind="application/json", **headers):
        content = data if isinstance(data, bytes) else json.dumps(data).encode()
        self.head(status, kind, len(content), **headers)
        self.wfile.write(content)
        self.wfile.flush()
        return True

    def head(self, status, kind, length, **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close") if length is None else self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
