"""A server of the completions API that decodes in one batch all requests that wait: right, and wrong from three on.

Run as a script: batching_server.py PROBLEM. The first part of the path names the loop, http://127.0.0.1:PORT/right/v1.
It answers with llama.cpp's timings, by the path /counting/v1 with vLLM's metrics in their place."""

import random
import sys
from collections import Counter, defaultdict
from http.server import ThreadingHTTPServer
from itertools import count
from queue import Empty, SimpleQueue
from threading import Event, Thread

from draftproof.models.decoders.reference import Decoder
from draftproof.models.decoding_settings import TextRequest, modified
from draftproof.models.problem import load_problem
from draftproof.tests.subjects.answering import AnsweringHandler
from draftproof.tests.subjects.completions_server import as_floats
from draftproof.verifiers.chance import RandomChance

NEUTRAL = {"temperature": 1.0, "top_k": 0}

REQUESTS, BUSY_EVERY = count(), 20
"""Numbers of requests to the busy loop, of which one in so many is to be asked again."""

WINDOW = 0.004
"""Seconds for which a batch waits for its next request."""


class Counting(Decoder):
    """A right decoder that counts what it drafts and keeps."""

    drafts, kept = 0, 0

    def append(self, emitted, block):
        self.drafts, self.kept = self.drafts + len(block), self.kept + len(emitted) - 1
        super().append(emitted, block)


class RowOfTheSlotBefore(Counting):
    """Verifies the first token of a block by the row of the slot before, in batches of three and more."""

    def target_row(self, text, place):
        other = self.batch[[*map(id, self.batch)].index(id(self)) - 1]
        if place or len(self.batch) < 3:
            return super().target_row(text, place)
        asked = TextRequest(self.prompt, text, self.tokens, self.settings)
        return modified(self.target.row(other.prompt + other.text), asked, self.order)


def decoded(loop, bodies):
    """Decode the requests of a batch, a block of each in turn."""
    wrong = len(bodies) >= 3
    settings = [{name: body[name] for name, off in NEUTRAL.items() if body[name] != off} for body in bodies]
    if loop == "first-temperature" and wrong:
        settings = [one | {"temperature": bodies[0]["temperature"]} for one in settings]
    kind = RowOfTheSlotBefore if loop == "row-of-another" else Counting
    batch = []
    for body, one in zip(bodies, settings):
        prompt = [*map(int, body["prompt"].split())]
        draft = None if loop == "plain" or (loop == "stops-drafting" and wrong) else PROBLEM.draft
        asked = {"prompt": prompt, **one}
        batch.append(kind(PROBLEM.target, draft, body["max_tokens"], 2, asked, RandomChance(random.Random())))
    for one in batch:
        one.batch = batch
    while going := [one for one in batch if not one.over]:
        for one in going:
            one.step()
    return [*batch[1:], batch[0]] if loop == "swapped" and wrong else batch


def work(loop, waiting):
    """Decode what waits, again and again."""
    while True:
        batch = [waiting.get()]
        try:
            while len(batch) < 64:
                batch.append(waiting.get(timeout=WINDOW))
        except Empty:
            pass
        for (_, done, answer), one in zip(batch, decoded(loop, [body for body, _, _ in batch])):
            answer.append(one)
            SEEN[loop].update({"draft": one.drafts, "accepted": one.kept})
            done.set()


class Queues(defaultdict):
    """A queue and its worker for each loop."""

    def __missing__(self, loop):
        self[loop] = SimpleQueue()
        Thread(target=work, args=(loop, self[loop]), daemon=True).start()
        return self[loop]


QUEUES, SEEN = Queues(), defaultdict(Counter)


METRICS = """# TYPE vllm:spec_decode_num_{name}_tokens_total counter
vllm:spec_decode_num_{name}_tokens_total{{engine="0",model_name="a model"}} {n}.0
# TYPE vllm:spec_decode_num_{name}_tokens_created gauge
vllm:spec_decode_num_{name}_tokens_created{{engine="0",model_name="a model"}} 1.7960370215249357e+09
vllm:spec_decode_num_{name}_tokens_per_pos_total{{engine="0",model_name="a model",position="0"}} {n}.0
"""
"""Lines that vLLM 0.32 has of a count, with a model's name of two words."""


class Handler(AnsweringHandler):
    server_version, sys_version = "draftproof", ""

    @property
    def model(self):
        return "forged"

    def do_GET(self):
        loop = self.path.split("/")[1]
        if not self.path.endswith("/metrics"):
            super().do_GET()
        elif loop != "counting":
            self.reply({}, 404)
        else:
            counts = {"draft": 0, "accepted": 0} | SEEN[loop]
            self.reply("".join(METRICS.format(name=name, n=n) for name, n in counts.items()).encode())

    def do_POST(self):
        body, loop, done, answer = self.body(), self.path.split("/")[1], Event(), []
        if loop == "busy" and next(REQUESTS) % BUSY_EVERY == BUSY_EVERY - 1:
            return self.reply({"error": "busy"}, 503, Retry_After="0")
        QUEUES[loop].put((body, done, answer))
        done.wait()
        choice = {"index": 0, "text": " ".join(map(str, answer[0].text)), "finish_reason": "length"}
        timings = {} if loop == "counting" else {"draft_n": answer[0].drafts, "draft_n_accepted": answer[0].kept}
        return self.reply({"model": "forged", "choices": [choice], "timings": timings})


class Server(ThreadingHTTPServer):
    daemon_threads, request_queue_size = True, 64


if __name__ == "__main__":
    PROBLEM = as_floats(load_problem(sys.argv[1]))
    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
