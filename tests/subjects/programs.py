"""A program that speaks draftproof-1 and misbehaves as its argument says. Run, not imported."""

import json
import os
import sys
import time

HELLO = {"protocol": "draftproof-1", "name": "misbehaves", "batch": 4,
         "random": [{"name": "accept", "kind": "uniform", "shape": ["gamma"], "bits": 24},
                    {"name": "last", "kind": "uniform", "shape": []}]}  # fmt: skip


def say(text):
    print(text, flush=True)


def inverse(weights, u):
    total, edge = sum(weights), 0.0
    for token, weight in enumerate(weights):
        edge += weight
        if u * total < edge:
            return token
    return max(t for t, w in enumerate(weights) if w > 0)


def verify(request):
    target, draft, tokens, random = (request[name] for name in ("target", "draft", "tokens", "random"))
    for i, x in enumerate(tokens):
        if random["accept"][i] * draft[i][x] >= target[i][x]:
            return [*tokens[:i], inverse([max(p - q, 0) for p, q in zip(target[i], draft[i])], random["last"])]
    return [*tokens, inverse(target[-1], random["last"])]


def hello(how):
    lines = {
        "no json": "hello", "a list": "[1]", "nothing": "", "another protocol": json.dumps(HELLO | {"protocol": "x-1"}),
        "no random": json.dumps({"protocol": "draftproof-1"}),
        "shape": json.dumps(HELLO | {"random": [{"name": "u", "kind": "uniform", "shape": ["batch"]}]}),
        "bits": json.dumps(HELLO | {"random": [{"name": "u", "kind": "uniform", "shape": [], "bits": 64}]}),
        "dtype": json.dumps(HELLO | {"dtype": "int4"}), "batch": json.dumps(HELLO | {"batch": 0}),
        **{text: json.dumps(HELLO | json.loads(text)) for text in [how] if text[:1] == "{"},
        "bfloat16, parents": json.dumps(HELLO | {"dtype": "bfloat16", "parents": True}),
        "deep": "[" * 100_000, "own": json.dumps(HELLO | {"random": "own"}),
    }  # fmt: skip
    if how == "silent":
        time.sleep(600)
    if how == "leaves":
        sys.exit("no GPU here")
    if how == "floods":
        while True:
            os.write(1, b"x" * 65536)
    say(lines.get(how, json.dumps(HELLO)))


def answer(how, request, number):
    if how == "bfloat16, parents":
        assert request["parents"] == [*range(-1, len(request["tokens"]) - 1)]
    n, emitted = request["id"], verify(request) if "seed" not in request else [request["seed"] % 2]
    odd = {
        "half": '{"id": 0, "emi', "wrong id": json.dumps({"id": n + 1000, "emitted": emitted}),
        "id as text": json.dumps({"id": str(n), "emitted": emitted}), "no tokens": json.dumps({"id": n}),
        "NaN": json.dumps({"id": n, "emitted": [float("nan")]}), "infinite": json.dumps({"id": n, "emitted": [1e999]}),
        "huge": json.dumps({"id": n, "emitted": [10**400]}), "huge text": f'{{"id": {n}, "emitted": [{"9" * 5000}]}}',
        "text": json.dumps({"id": n, "emitted": "0 1"}), "null": json.dumps({"id": n, "emitted": None}),
        "error": json.dumps({"id": n, "error": "out of\nregisters"}), "not utf-8": b"\xff\xfe".decode("latin-1"),
        "two in one": "1, 2", "outside": json.dumps({"id": n, "emitted": [99]}),
    }  # fmt: skip
    if how in odd:
        say(odd[how])
        return
    say(json.dumps({"id": n, "emitted": emitted}))
    if how == "warns":
        os.write(2, b"a warning " * 20_000)
    if how == "twice":
        say(json.dumps({"id": n, "emitted": emitted}))
    if how == "ends at gamma 3" and len(request["tokens"]) == 3:
        sys.exit(4)
    if number < 40:
        return
    if how == "crashes":
        os.abort()
    if how == "leaves later":
        sys.exit(3)
    if how == "forks and leaves":
        if os.fork():
            os._exit(0)
        time.sleep(20)  # and holds the pipes
    if how == "closes":
        os.close(1)
        time.sleep(600)
    if how == "spins":
        while True:
            pass
    if how == "sleeps":
        time.sleep(600)
    if how == "fills its memory":
        bytearray(2**40)
    if how == "floods later":
        while True:
            say("0")


how = sys.argv[1] if len(sys.argv) > 1 else ""
hello(how)
for number, line in enumerate(sys.stdin):
    if how == "never reads":
        time.sleep(600)
    answer(how, json.loads(line), number)
