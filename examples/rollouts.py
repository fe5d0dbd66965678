"""What a lossy rule of speculative decoding does to a policy gradient, and what draftproof's gate says of its rollouts.

The policy is a trigram model of characters, trained by counting on a module of Python; the draft is its bigram model.
Both are small enough for the exact gradient of the expected reward.
"""

import argparse
import inspect
import json
import shutil
import time

import numpy as np

import draftproof
from draftproof.recording import Recorder

LETTERS, LENGTH, GAMMA, BATCHES, BATCH = " abcdefghijklmnopqrstuvwxyz", 16, 3, 100, 2000
V = len(LETTERS)
REWARD = np.array([letter == "e" for letter in LETTERS], dtype=float)  # a text earns its number of e's


def trained():
    """Return the policy's rows [V, V, V] and the draft's [V, V, V], which knows only the last character."""
    text = np.array([max(LETTERS.find(c), 0) for c in inspect.getsource(argparse).lower()])
    counts = np.full((V, V, V), 0.02)
    np.add.at(counts, (text[:-2], text[1:-1], text[2:]), 1)
    pairs = np.broadcast_to(counts.sum(0), counts.shape)
    return counts / counts.sum(-1, keepdims=True), pairs / pairs.sum(-1, keepdims=True)


def exact_gradient(policy):
    """Return the gradient of the expected reward by the policy's logits, [V, V, V]."""
    values = [np.zeros((V, V))]  # of the states (a, b), with so many characters to go
    for _ in range(LENGTH):
        values.append((policy * (REWARD + values[-1][None])).sum(-1))
    state, gradient = np.zeros((V, V)), np.zeros_like(policy)
    state[0, 0] = 1
    for left in range(LENGTH, 0, -1):
        gain = REWARD + values[left - 1][None] - values[left][..., None]
        gradient += state[..., None] * policy * gain
        state = (state[..., None] * policy).sum(0)
    return gradient


def draws(rows, rng):
    """Draw a token from each row."""
    edges = rows.cumsum(-1)
    return (rng.random((*rows.shape[:-1], 1)) * edges[..., -1:] >= edges).sum(-1)


def kept(rule, p, q, x, rng):
    """Return whether each drafted token is accepted. p, q: [B, V]. x: [B]."""
    at = np.arange(len(x)), x
    if rule == "typical":  # Cai et al. 2024 (Medusa)
        entropy = -(p * np.log(p)).sum(-1)
        return p[at] > np.minimum(0.09, 0.3 * np.exp(-entropy))
    return rng.random(len(x)) * q[at] < (2 if rule == "lenient" else 1) * p[at]


def step(rule, policy, draft, text, rng):
    """Return drafted tokens [B, GAMMA], rows of both models, and the emitted tokens, -1 behind the last."""
    seen = [text[:, 0], text[:, 1]]
    for _ in range(GAMMA):
        seen.append(draws(draft[seen[-2], seen[-1]], rng))
    p, q = (np.stack([m[seen[k], seen[k + 1]] for k in range(GAMMA + 1)], 1) for m in (policy, draft))
    out, alive = np.full((len(text), GAMMA + 1), -1), np.ones(len(text), dtype=bool)
    for k in range(GAMMA):
        x = seen[k + 2]
        accepted = alive & kept(rule, p[:, k], q[:, k], x, rng)
        rest = p[:, k] if rule == "typical" else np.maximum(p[:, k] - q[:, k], 0)
        out[:, k] = np.where(accepted, x, np.where(alive, draws(rest, rng), -1))
        alive = accepted
    out[:, GAMMA] = np.where(alive, draws(p[:, GAMMA], rng), -1)
    return np.stack(seen[2:], 1), p, q, out


def rollouts(rule, policy, draft, count, rng, recorder=None):
    """Return texts [count, LENGTH + 2]; the first two characters are the prompt."""
    texts, length = np.zeros((count, LENGTH + GAMMA + 3), dtype=int), np.full(count, 2)
    while (open_ := np.flatnonzero(length < LENGTH + 2)).size:
        last = np.stack([texts[open_, length[open_] - 2], texts[open_, length[open_] - 1]], 1)
        drafts, p, q, out = step(rule, policy, draft, last, rng)
        for row, k in enumerate(open_ if recorder else ()):
            time.sleep(0.002)  # stands for the passes of an engine; a recorder that falls behind drops steps
            if recorder.chosen():
                recorder.step(p[row], drafts[row], out[row], q[row, :-1], request=int(k), place=int(length[k]))
        for k in range(GAMMA + 1):
            there = out[:, k] >= 0
            texts[open_[there], length[open_[there]]] = out[there, k]
            length[open_] += there
    return texts


def estimates(policy, texts, along):
    """Return the mean reward, and the policy gradient's estimate in a direction."""
    before, after = (texts[:, :LENGTH], texts[:, 1 : LENGTH + 1]), texts[:, 2 : LENGTH + 2]
    rewards = REWARD[after].sum(1)
    score = (along[(*before, after)] - (policy * along).sum(-1)[before]).sum(1)
    return rewards.mean(), ((rewards - rewards.mean()) * score).mean() * BATCH / (BATCH - 1)


def recorded(rule, policy, draft, rng):
    """Record rollouts of an engine that claims token verification; return and write the trainer's logprobs."""
    shutil.rmtree(f"rollouts-{rule}", ignore_errors=True)
    with Recorder(f"rollouts-{rule}", V, rule="token", dtype="float64", engine="my engine") as recorder:
        texts = rollouts(rule, policy, draft, 500, rng, recorder)
    logprobs = np.full(texts.shape, np.nan)
    logprobs[:, 2:] = np.log(policy[texts[:, :-2], texts[:, 1:-1], texts[:, 2:]])
    with open(f"trainer-{rule}.jsonl", "w", encoding="utf-8") as file:
        for request, (tokens, scores) in enumerate(zip(texts.tolist(), logprobs.tolist())):
            print(json.dumps({"request": request, "tokens": tokens, "logprobs": scores}), file=file)
    return {request: (texts[request], logprobs[request]) for request in range(len(texts))}


def main():
    policy, draft = trained()
    gradient = exact_gradient(policy)
    size = (gradient**2).sum() ** 0.5
    print("rule      reward               gradient / true      gate")
    for rule in ("token", "lenient", "typical"):
        rng = np.random.default_rng(1)
        texts = (rollouts(rule, policy, draft, BATCH, rng) for _ in range(BATCHES))
        seen = np.array([estimates(policy, batch, gradient / size) for batch in texts]) / [1, size]
        mean, error = seen.mean(0), 1.96 * seen.std(0, ddof=1) / BATCHES**0.5
        shown = (f"{m:.3f} [{m - e:.3f}, {m + e:.3f}]" for m, e in zip(mean, error))
        answer = draftproof.gate(f"rollouts-{rule}", recorded(rule, policy, draft, rng))
        print(f"{rule:<9}", *shown, "passed" if answer.passed else answer.reasons[0])


if __name__ == "__main__":
    main()
