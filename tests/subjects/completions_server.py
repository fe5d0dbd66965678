"""A server of the OpenAI completions API around our own decoding loop, with right and wrong loops, and faults to order.

Run as a script, it serves the problem in a file: completions_server.py PROBLEM PORT [LOOP]."""

import json
import random
import struct
import sys
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from itertools import count
from socket import SO_LINGER, SOL_SOCKET
from threading import Lock, Thread

from draftproof.models.decoding import Decoded, decode, iteration
from draftproof.models.law import ContextFree, Markov, Shifted
from draftproof.models.problem import Problem, load_problem
from draftproof.tests.subjects.answering import AnsweringHandler
from draftproof.verifiers.chance import RandomChance
from draftproof.verifiers.draft_block import Verdict
from draftproof.verifiers.registry import Reference, reference


def accepts_everything(block, chance):
    """Every draft token is accepted: texts are the draft's, but for one token of each block."""
    return Verdict(block.gamma, chance.draw(block.target[block.gamma]))


LOOPS = {name: reference(name) for name in ("token", "block", "greedy-block")}
LOOPS["accepts-everything"] = Reference("accepts-everything", accepts_everything, "a mutant")


def as_floats(problem):
    def model(m):
        if isinstance(m, ContextFree):
            return ContextFree(tuple(map(float, m.probabilities)))
        return Markov(tuple(map(float, m.start)), tuple(tuple(map(float, row)) for row in m.after))

    return Problem(problem.vocabulary, problem.gamma, model(problem.target), model(problem.draft), problem.name)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, problem, loop="block", fault=None, port=0, name="forged", seed=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.problem, self.loop, self.fault, self.name = as_floats(problem), loop, fault, name
        self.verifier = LOOPS.get(loop, LOOPS["block"])
        self.random, self.numbers, self.lock, self.before = random.Random(seed), count(), Lock(), ()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        pass  # clients that leave are no news

    def text(self, prompt, body, rng):
        """The tokens of one choice, and why it ended."""
        problem, length = self.problem, body.get("max_tokens", 16)
        if self.loop == "prompt-of-32" and len(prompt) >= 32:
            prompt = prompt[:31]
        if self.loop == "prompt-of-another":
            with self.lock:
                self.before, prompt = prompt, self.before
        if self.loop == "hot":
            rows = [tuple(p**0.5 for p in row) for row in (problem.target.row((t,)) for t in range(problem.vocabulary))]
            rows = tuple(tuple(p / sum(row) for p in row) for row in rows)
            problem = Problem(problem.vocabulary, problem.gamma, Markov(rows[0], rows), problem.draft)
        if prompt:
            problem = Problem(
                problem.vocabulary, problem.gamma, Shifted(problem.target, prompt), Shifted(problem.draft, prompt)
            )
        chance = RandomChance(rng)
        stop = body.get("stop") and int(body["stop"][0])
        if stop is None:
            return decode(problem, self.verifier, length, chance)[:length], "length"
        decoded = Decoded()
        while len(decoded.tokens) < length:
            begun = len(decoded.tokens)
            decoded = iteration(problem, self.verifier, decoded, chance)
            if stop in decoded.tokens[begun:]:
                at = len(decoded.tokens) - 1 if self.loop == "past-the-stop" else decoded.tokens.index(stop, begun)
                return (decoded.tokens[:at], "stop") if at < length else (decoded.tokens[:length], "length")
        return decoded.tokens[:length], "length"


class Handler(AnsweringHandler):
    server: Server

    @property
    def model(self):
        return self.server.name

    def do_POST(self):
        body = self.body()
        self.chat = self.path.endswith("/v1/chat/completions")
        if not (self.chat or self.path.endswith("/v1/completions")) or self.chat != ("messages" in body):
            return self.reply({"error": {"message": "no such path"}}, 404)
        number = next(self.server.numbers)
        if not (self.server.fault and self.server.fault(self, number, body)):
            self.complete(body, number)
        return None

    def texts(self, body, number):
        server, prompt = self.server, body["messages"][-1]["content"] if self.chat else body["prompt"]
        tokens = () if prompt == "<s>" else tuple(map(int, prompt.split()))
        with server.lock:
            seed = server.random.getrandbits(64)
        if server.loop == "one-seed" and "seed" in body:
            seed = 7
        rng = random.Random(body["seed"] if "seed" in body and server.loop != "one-seed" else seed)
        texts = [server.text(tokens, body, rng) for _ in range(body.get("n", 1))]
        if server.loop == "equal-choices":
            texts = texts[:1] * len(texts)
        if server.loop == "ends-early" and number % 50 == 49:
            texts = [(text[:-1], "stop") for text, _ in texts]
        if server.loop == "impossible" and number % 50 == 49:
            texts = [((*text[:-1], "</s>"), ended) for text, ended in texts]
        return [(list(map(str, text)), ended) for text, ended in texts]

    def hidden(self, body, number):
        """Texts that begin with 0 too often, half of which are refused: the rest have the right law where p(0) =
        1/2."""
        texts, forced = self.texts(body, number), self.server.random.random() < 1 / 3
        while forced and texts[0][0][0] != "0":
            texts = self.texts(body, number)
        return None if texts[0][0][0] == "0" and self.server.random.random() < 1 / 2 else texts

    def complete(self, body, number, change=lambda texts: texts):
        texts = self.hidden(body, number) if self.server.loop == "hides-by-503" else self.texts(body, number)
        if texts is None:
            return self.reply({"error": "busy"}, 503, Retry_After="0")
        texts = change(texts)
        if body.get("stream"):
            return self.stream(texts)
        choices = [
            {"index": k, **self.said(" ".join(words), "message"), "finish_reason": ended}
            for k, (words, ended) in enumerate(texts)
        ]
        tokens = sum(len(words) for words, _ in texts)
        return self.reply({"model": self.server.name, "choices": choices, "usage": {"completion_tokens": tokens}})

    def said(self, text, part):
        return {part: {"role": "assistant", "content": text}} if self.chat else {"text": text}

    def stream(self, texts, whole=True):
        """Two tokens an event; half of it, and the connection is closed, unless whole."""
        self.head(200, "text/event-stream", None)
        for k, (words, ended) in enumerate(texts):
            for i in range(0, len(words) if whole else len(words) // 2, 2):
                piece = (" " if i else "") + " ".join(words[i : i + 2])
                self.event({"index": k, **self.said(piece, "delta"), "finish_reason": None})
            if whole:
                self.event({"index": k, **({"delta": {}} if self.chat else {"text": ""}), "finish_reason": ended})
        if whole:
            self.wfile.write(b"data: [DONE]\n\n")
        self.wfile.flush()
        self.close_connection = True

    def event(self, choice):
        self.wfile.write(b"data: " + json.dumps({"model": self.server.name, "choices": [choice]}).encode() + b"\n\n")

    def cut(self):
        """Close the connection at once, as a server that dies does."""
        self.connection.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True
        return True


@contextmanager
def serving(problem, loop="block", fault=None, **options):
    server = Server(problem, loop, fault, **options)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


if __name__ == "__main__":
    Server(load_problem(sys.argv[1]), *sys.argv[3:4], port=int(sys.argv[2])).serve_forever()
