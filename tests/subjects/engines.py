"""Engines that read a forged checkpoint's law by themselves: right ones, and one for each way to be wrong."""

import json
import os
import sys
import time
from collections.abc import Iterator
from math import sqrt

import numpy as np
from safetensors.numpy import load_file


def rows(folder) -> np.ndarray:
    """The law after each token, [V + 1, ids], the last row that after <s>."""
    start = json.loads((folder / "config.json").read_text())["bos_token_id"]
    head = load_file(folder / "model.safetensors")["lm_head.weight"].astype(float)
    law = np.exp(head[:, : start + 1].T * sqrt(head.shape[1]))
    return law / law.sum(1, keepdims=True)


def speculative(target, draft, start, tokens, gamma, seeds, replace="residual", lag=False) -> Iterator[list[int]]:
    """Token verification, one block after the other; without a draft the target alone."""
    p, q = rows(target), None if draft is None else rows(draft)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        text = [start]
        while len(text) <= tokens:
            last = text[-2 if lag and len(text) > 2 else -1]
            text += _one(rng, p, last) if q is None else _block(rng, p, q, last, gamma, replace)
        yield text[1 : tokens + 1]


def _one(rng, law, last) -> list[int]:
    return [int(rng.choice(law.shape[1], p=law[last]))]


def _block(rng, p, q, last, gamma, replace) -> list[int]:
    block: list[int] = []
    for _ in range(gamma):
        (x,) = _one(rng, q, last)
        if rng.random() * q[last, x] >= p[last, x]:
            left = np.maximum(p[last] - q[last], 0) if replace == "residual" else p[last]
            return [*block, int(rng.choice(len(left), p=left / left.sum()))]
        block.append(x)
        last = x
    return block + _one(rng, p, last)


def replaced_by_the_target(*request) -> Iterator[list[int]]:
    return speculative(*request, replace="target")


def lags_from_the_second_block_on(*request) -> Iterator[list[int]]:
    return speculative(*request, lag=True)


def impossible_now_and_then(target, draft, start, tokens, gamma, seeds):
    for k, text in enumerate(speculative(target, draft, start, tokens, gamma, seeds)):
        yield [*text[:-1], start] if k == 200 else text


def ends_early(target, draft, start, tokens, gamma, seeds):
    for k, text in enumerate(speculative(target, draft, start, tokens, gamma, seeds)):
        yield text[: 1 + k % 2]


def raises_half_way(target, draft, start, tokens, gamma, seeds):
    for k, text in enumerate(speculative(target, draft, start, tokens, gamma, seeds)):
        if k == len(seeds) // 2:
            raise RuntimeError("the cache is corrupt\nand more")
        yield text


def dies_half_way(target, draft, start, tokens, gamma, seeds):
    for k, text in enumerate(speculative(target, draft, start, tokens, gamma, seeds)):
        if k == len(seeds) // 2:
            print("out of luck", file=sys.stderr, flush=True)
            os._exit(7)
        yield text


def stops_by_itself(target, draft, start, tokens, gamma, seeds):
    return speculative(target, draft, start, tokens, gamma, seeds[:17])


def hangs(target, draft, start, tokens, gamma, seeds):
    yield [0] * tokens
    time.sleep(1000)


def fills_the_memory(target, draft, start, tokens, gamma, seeds):
    yield [0] * tokens
    bytearray(2**40)
