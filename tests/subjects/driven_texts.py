"""A small decoder that takes its random numbers, as a program: right, wrong and badly behaved.

It speaks as corpus/engines/decoders/vllm_child.py does. "method" of the first line says which of WAYS it is.
"""

import json
import random
import sys

TARGET = {None: [0.55, 0.15, 0.3], 0: [0.15, 0.65, 0.2], 1: [0.27, 0.11, 0.62], 2: [0.45, 0.34, 0.21]}
DRAFT = {None: [0.25, 0.4, 0.35], 0: [0.4, 0.25, 0.35], 1: [0.5, 0.3, 0.2], 2: [0.15, 0.25, 0.6]}

WAYS = ("right", "greedy draft", "plain", "bonus without temperature", "residual without max", "accepts too often",
        "one token off after a rejection", "carries its uniform on", "memory", "same numbers twice")  # fmt: skip


def tempered(row, temperature):
    weights = [p ** (1 / temperature) for p in row]
    return [w / sum(weights) for w in weights]


def race(weights, noise):
    return max(range(len(weights)), key=lambda t: weights[t] / noise[t])


class Text:
    def __init__(self, asked):
        self.numbers, self.random, self.taken = asked.get("numbers", []), random.Random(str(asked["seed"])), 0
        self.steps = [{"tokens": [], "logprobs": [], "draws": [], "drafts": None}]

    def draw(self, kind, count, at="sampler"):
        given = self.numbers[self.taken] if self.taken < len(self.numbers) else None
        self.taken += 1
        if given is None:
            given = [self.random.random() if kind == "uniform" else self.random.expovariate(1) for _ in range(count)]
        if kind == "exponential":
            given = [single(x) for x in given]
        self.steps[-1]["draws"].append({"kind": kind, "at": at, "numbers": given})
        return given


def single(x):
    import struct

    return struct.unpack("f", struct.pack("f", x))[0]


def decode(asked, way, settings, fill):
    text, out, cap, t = Text(asked), [], settings["max_tokens"], settings.get("temperature", 1.0)
    drafted, off, carried = None, False, 0.0
    while len(out) < cap:
        last = out[-1] if out else None
        if off and way.startswith("one token off"):
            last = out[-2] if len(out) > 1 else None
        p = tempered(TARGET[last], t)
        if way == "carries its uniform on" and carried > 0.9:
            p = p[::-1]
        if way == "memory" and len(out) == 1:
            p = tempered(TARGET[last], fill if fill else 1.0)
        if drafted is None:
            new = [race(p, text.draw("exponential", 3))]
        else:
            q = [float(x == drafted) for x in range(3)] if way == "greedy draft" else tempered(DRAFT[out[-1]], t)
            bonus_row = TARGET[drafted] if way.startswith("bonus") else tempered(TARGET[drafted], t)
            bonus = race(bonus_row, text.draw("exponential", 3))
            (u,) = text.draw("uniform", 1)
            left = [a - b if way != "residual without max" else abs(a - b) for a, b in zip(p, q)]
            again = race([max(x, 0.0) for x in left], text.draw("exponential", 3))
            carried = u
            accepted = u <= p[drafted] / (q[drafted] * (0.98 if way == "accepts too often" else 1.0))
            new, off = ([drafted, bonus], False) if accepted else ([again], True)
        new = new[: cap - len(out)]
        out += new
        text.steps[-1]["tokens"] = new
        text.steps[-1]["logprobs"] = []
        if way != "plain":
            row = tempered(DRAFT[out[-1]], t)
            noise = [1.0] * 3 if way == "greedy draft" else text.draw("exponential", 3, "spec_decode")
            drafted = race(row, noise)
            text.steps[-1]["drafts"] = [drafted]
        text.steps.append({"tokens": [], "logprobs": [], "draws": [], "drafts": None})
    return {"steps": text.steps[:-1], "finished": "length"}


def main():
    way = json.loads(sys.stdin.readline())["method"]
    if way == "does not load":
        print(json.dumps({"error": "OSError: no such model"}), flush=True)
        return
    print(json.dumps({"ready": {"toy": "1"}}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        if way == "dies":
            print("out of coffee", file=sys.stderr)
            sys.exit(7)
        if way == "garbage":
            print("no json", flush=True)
            continue
        if way == "refuses":
            print(json.dumps({"refused": "ValueError: min_p is not supported"}), flush=True)
            continue
        texts = [decode(text, way, asked["settings"], asked["fill"]) for text in asked["texts"]]
        facts = {"undriven": False, "twice": int(way == "same numbers twice"), "places": {"toy.py:row": "(3,) float32"},
                 "held": {"toy.py:row": ["0"]}}  # fmt: skip
        print(json.dumps({"texts": texts, **facts}), flush=True)


if __name__ == "__main__":
    main()
