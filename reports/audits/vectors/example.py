"""Answers draftproof's test vectors, without draftproof: python example.py vectors.json results.json

Token verification (Leviathan et al. 2023) in plain floats, one request at a time. Put your own verifier in its place.
"""

import json
import sys


def ratio(p: float, q: float) -> float:
    return min(1.0, p / q) if q > 0 else float(p > 0)


def look_up(weights: list, uniform: float) -> int:
    """Return the first token whose running sum exceeds the uniform's share; never one without weight."""
    goal, done, last = uniform * sum(weights), 0.0, 0
    for token, weight in enumerate(weights):
        if weight > 0:
            done, last = done + weight, token
            if done > goal:
                break
    return last


def verify(target: list, draft: list, tokens: list, accept: list, last: float, noise: list) -> dict:
    thresholds = [ratio(p[x], q[x]) for p, q, x in zip(target, draft, tokens)]
    accepted = 0
    while accepted < len(tokens) and accept[accepted] < thresholds[accepted]:
        accepted += 1
    weights = target[accepted]
    if accepted < len(tokens):
        weights = [max(p - q, 0.0) for p, q in zip(target[accepted], draft[accepted])]
    winner = max((token for token, w in enumerate(weights) if w > 0), key=lambda token: weights[token] / noise[token])
    emitted = tokens[:accepted]
    return {"thresholds": thresholds, "accepted": accepted, "weights": weights,
            "emitted": [*emitted, look_up(weights, last)], "raced": [*emitted, winner]}  # fmt: skip


def main(vectors_file: str, results_file: str) -> None:
    with open(vectors_file, encoding="utf-8") as file:
        suite = json.load(file)
    results = {}
    for vector in suite["vectors"]:
        if vector["rule"] == "token":
            n, random = vector["drafted"], vector["random"]  # behind n a batch is filled up
            rows = vector["target"]["numbers"][: n + 1], vector["draft"]["numbers"][:n], vector["tokens"][:n]
            numbers = (random[name]["numbers"] for name in ("accept", "last", "noise"))
            results[vector["id"]] = verify(*rows, *numbers)
    about = {"format": "draftproof-results-1", "vectors": suite["digest"], "program": "example.py", "dtype": "float64"}
    gives = ["thresholds", "accepted", "weights", "emitted", "raced"]
    with open(results_file, "w", encoding="utf-8") as file:
        json.dump({**about, "rules": ["token"], "gives": gives, "results": results}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
