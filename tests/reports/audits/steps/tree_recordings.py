"""Recordings of draft trees: rows and trees of a small engine, and a verifier of the zoo."""

import time
from importlib import import_module

import numpy as np

from draftproof.recording import Recorder
from draftproof.verifiers.trees.draft_tree import IID, TOP, WITHOUT_REPLACEMENT
from draftproof.verifiers.zoo.catalogue import TREE_CONTROLS, TREE_MUTANTS

from .recordings import softmax

V = 200
SHAPE = (-1, -1, -1, 0, 0, 1, 3, 3)
"""Parents: three children of the context, of which two go on."""


def tree_verifier(name):
    """The function of an entry of the zoo's trees."""
    module, _, function = (TREE_MUTANTS | TREE_CONTROLS)[name].target.partition(":")
    return getattr(import_module(module), function)


def drawn_tree(rng, how, parents=SHAPE, dtype=np.float64, one_text=True):
    """Return the target's rows, the rows that tokens were drawn from, and the tokens of one tree.

    one_text: whether drafted tokens that are one text have one row behind them.
    """
    logits = rng.normal(size=(len(parents) + 1, V)) * 2.5
    target, draft = (softmax(x).astype(dtype) for x in (logits, logits + rng.normal(size=logits.shape) * 0.7))
    tokens, rows, texts = [], [], [()]
    for k, parent in enumerate(parents):
        elders = [tokens[j] for j in range(k) if parents[j] == parent]
        row = draft[parent + 1].copy()
        if how == TOP:
            tokens.append(int(np.argsort(-row)[len(elders)]))
            rows.append(np.eye(V, dtype=dtype)[tokens[-1]])
            continue
        if how == WITHOUT_REPLACEMENT:
            row[elders] = 0
            row /= row.sum()
        tokens.append(int(rng.choice(V, p=row.astype(float) / row.astype(float).sum())))
        rows.append(row)
        if one_text:  # what follows one text has one row
            texts.append((*texts[parent + 1], tokens[-1]))
            same = texts.index(texts[-1])
            target[k + 1], draft[k + 1] = target[same], draft[same]
    return target, np.array(rows), tokens


def record_trees(folder, verify="D01", steps=200, rule="spec-infer", how=WITHOUT_REPLACEMENT, seed=0, parents=SHAPE,
                 dtype="float64", said=None, fault=None, one_text=True, **options):  # fmt: skip
    """Record so many steps of trees. said: how the recording says that siblings are drawn. fault(target, draft, tokens,
    rng): returns those that are verified in their place."""
    rng, verify = np.random.default_rng(seed), tree_verifier(verify) if isinstance(verify, str) else verify
    said = how if said is None else said
    recorder = Recorder(folder, V, rule=rule, dtype=dtype, siblings=said, **{"shard_steps": 128} | options)
    for number in range(steps):
        target, draft, tokens = drawn_tree(rng, how, parents, dtype, one_text)
        seen = fault(target.copy(), draft.copy(), tokens, rng) if fault else (target.copy(), draft.copy(), tokens)
        emitted = verify(seen[0], seen[1], np.array(seen[2]), np.array(parents), rng)
        while recorder._queue.full():
            time.sleep(0.001)
        recorder.chosen()
        recorder.step(target, tokens, [int(t) for t in emitted], None if how == TOP else draft, parents=parents,
                      request=number // 20, place=number, slot=number % 3)  # fmt: skip
    recorder.close()
    assert recorder.failed == 0, recorder.error
    return recorder


WAYS = (IID, WITHOUT_REPLACEMENT, TOP)
