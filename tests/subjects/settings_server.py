"""A server of the OpenAI completions API around the decoders of models.decoders, right and wrong ones, by its path.

Run as a script: settings_server.py PROBLEM PORT. http://127.0.0.1:PORT/X01/v1 is mutant X01, /right/v1 the reference,
/plain/v1 the same without a draft; /prompt-shifted/v1 reports logprobs of its prompt one place off, /hidden/v1 none,
/own-logprob/v1 wrong ones of its tokens next to right ones of the most probable (or -of-chats, in the form of chats),
/wears-off/v1 forgets the temperature behind 20 tokens. Each request is decoded together with the one before it."""

import random
import sys
from http.server import ThreadingHTTPServer
from math import log
from threading import Lock

from draftproof.models.decoders import catalogue
from draftproof.models.decoders.reference import Decoder, texts_of
from draftproof.models.problem import load_problem
from draftproof.tests.subjects.answering import AnsweringHandler
from draftproof.tests.subjects.completions_server import as_floats
from draftproof.verifiers.chance import RandomChance

KEPT = ("temperature", "top_k", "top_p", "min_p", "typical_p", "repetition_penalty", "presence_penalty",
        "frequency_penalty", "logit_bias", "banned", "allowed", "grammar", "n")  # fmt: skip

NEUTRAL = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}


class WearsOff(Decoder):
    """The temperature is forgotten behind 20 tokens."""

    def target_row(self, text, place):
        if len(text) < 20:
            return super().target_row(text, place)
        return self.row(self.target, text, {n: v for n, v in self.settings.items() if n != "temperature"})


class Handler(AnsweringHandler):
    server_version, sys_version = "draftproof", ""
    lock, before = Lock(), {}

    def do_POST(self):
        body, loop = self.body(), self.path.split("/")[1]
        if loop == "no-typical" and "typical_p" in body:
            return self.reply({"error": {"message": "typical_p is not known"}}, 400)
        prompt = [] if body["prompt"] == "<s>" else list(map(int, body["prompt"].split()))
        settings = {name: body[name] for name in KEPT if name in body and body[name] != NEUTRAL.get(name)}
        settings |= {"prompt": prompt, "tokens": body["max_tokens"]}
        settings |= {"stop": [list(map(int, stop.split())) for stop in body["stop"]]} if "stop" in body else {}
        settings |= {"logprobs": True} if "logprobs" in body and not body.get("echo") else {}
        with self.lock:
            before, self.before[loop] = self.before.get(loop), {n: v for n, v in settings.items() if n != "n"}
        return self.reply({"model": "forged", "choices": self.choices(loop, body, settings, before)})

    def choices(self, loop, body, settings, before):
        kind = {"right": Decoder, "plain": Decoder, "wears-off": WearsOff}.get(loop)
        kind = kind or (catalogue.WRONG_DECODERS[loop].kind if loop[0] == "X" else Decoder)
        problem, tokens = PROBLEM, settings.pop("tokens")
        before = {n: v for n, v in (before or {}).items() if n != "tokens"}
        asked = {**settings, "together": [before]} if before and loop[0] == "X" else settings
        draft = None if loop == "plain" else problem.draft
        chance = RandomChance(random.Random())
        done = texts_of(kind, problem.target, draft, tokens, problem.gamma, asked, chance)[: settings.get("n", 1)]
        return [self.choice(loop, body, settings, k, one) for k, one in enumerate(done)]

    def choice(self, loop, body, settings, index, one):
        text, ended = list(one.text), "length"
        for stop in settings.get("stop", ()):
            if text[-len(stop) :] == stop:
                text, ended = text[: -len(stop)], "stop"
        choice = {"index": index, "finish_reason": ended}
        if settings.get("logprobs") and loop != "hidden":
            choice["logprobs"] = {"tokens": list(map(str, text)), "token_logprobs": one.logprobs[: len(text)]}
            if loop.startswith("own-logprob"):
                choice["logprobs"] = off_by_one(text, one.logprobs, loop.endswith("of-chats"))
        if body.get("echo"):
            prompt = settings["prompt"]
            rows = [PROBLEM.target.row(tuple(prompt[:i])) for i in range(len(prompt))]
            off = loop == "prompt-shifted"
            values = [None, *(log(rows[i - off][t]) for i, t in enumerate(prompt) if i)]
            text = prompt + text
            choice["logprobs"] = {
                "tokens": list(map(str, text)),
                "token_logprobs": values + [-1.0] * (len(text) - len(prompt)),
            }
        return choice | {"text": " ".join(map(str, text))}


def off_by_one(text, logprobs, chat):
    """Wrong logprobs of tokens; the lists of the most probable tokens have the right ones."""
    named = [(str(token), value - 1, value) for token, value in zip(text, logprobs)]
    if chat:
        return {"content": [{"token": t, "logprob": off, "top_logprobs": [{"token": t, "logprob": right}]}
                            for t, off, right in named]}  # fmt: skip
    tokens, off, _ = zip(*named)
    return {"tokens": tokens, "token_logprobs": off, "top_logprobs": [{t: right} for t, _, right in named]}


if __name__ == "__main__":
    PROBLEM = as_floats(load_problem(sys.argv[1]))
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_port, flush=True)
    server.serve_forever()
