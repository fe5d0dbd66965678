"""Faults that are for some tokens what their opposite is for others: all tokens together show little of them."""

import numpy as np
import pytest

from draftproof.tests.choices import long_unless
from draftproof.verifiers.trees.draft_tree import IID, WITHOUT_REPLACEMENT
from draftproof.verifiers.zoo.building_blocks import draw, excess
from draftproof.verifiers.zoo.tree_building_blocks import descent

from .recordings import judge_of, record
from .tree_recordings import record_trees

SMALL = 40
"""Tokens of the chains' vocabulary."""

CLASSES = {
    "odd ids": lambda x, size: x % 2 == 1, "ids in the lower half": lambda x, size: 2 * x < size,
    "ids 3 modulo 8": lambda x, size: x % 8 == 3, "part 6 of 8 of the ids": lambda x, size: x * 8 // size == 5,
}  # fmt: skip


def coin(p, q, factor):
    """Return a coin whose acceptance is multiplied. One that is sure stays."""
    return min(1.0, p / q * factor) if p < q else 1.0


def left_of(target, draft):
    left = np.maximum(target - draft, 0)
    return left / left.sum()


def chain(factor, row=lambda p: p):
    """Make a verifier. factor(token, its target row, place): of its coins. row: what replacements are drawn from."""

    def verify(target, draft, tokens, rng):
        for i, x in enumerate(tokens):
            if rng.random() >= coin(target[i, x], draft[i, x], factor(x, target[i], i)):
                return [*tokens[:i], int(rng.choice(SMALL, p=row(left_of(target[i], draft[i]))))]
        return [*tokens, int(rng.choice(SMALL, p=row(target[-1])))]

    return verify


def more_of(inside, factor):
    """Return a change of rows: a class of ids is so many times as likely."""

    def changed(row):
        row = row * np.where(inside(np.arange(row.shape[-1]), row.shape[-1]), factor, 1.0)
        return row / row.sum(-1, keepdims=True)

    return changed


OPPOSITE = {
    "odd ids": lambda x, row, i: 1.6 if x % 2 else 1 / 1.6,
    "ids 4 to 7 modulo 8": lambda x, row, i: 1.6 if x % 8 > 3 else 1 / 1.6,
    "ids in the lower half": lambda x, row, i: 1.6 if x < SMALL // 2 else 1 / 1.6,
    "ids 3 modulo 8": lambda x, row, i: 0.5 if x % 8 == 3 else 1.0,
    "part 6 of 8 of the ids": lambda x, row, i: 0.5 if x * 8 // SMALL == 5 else 1.0,
    "likely tokens": lambda x, row, i: 1.6 if row[x] >= 0.1 else 1 / 1.6,
    "first tokens": lambda x, row, i: 1.6 if i == 0 else 1 / 1.6,
    "tokens at odd places": lambda x, row, i: 1 / 1.6 if i % 2 else 1.6,
}
"""Factors of coins, too high for a class of tokens and too low for others, or off for an eighth of the ids."""


@pytest.mark.parametrize("name", long_unless(OPPOSITE, [*OPPOSITE][:5]))
def test_coins_that_are_off_by_a_class_of_tokens_are_refuted_and_named(name, tmp_path):
    record(tmp_path, chain(OPPOSITE[name]), steps=600, vocabulary=SMALL)
    judge = judge_of(tmp_path)
    assert judge.steps.fortune.refuted_at is not None and name in judge.likely()[0].name


@pytest.mark.parametrize("how", [IID, WITHOUT_REPLACEMENT])
def test_coins_of_trees_that_are_off_by_parity_of_ids_are_refuted(how, tmp_path):
    def step(rng, p, q, x):
        left = p
        for k, token in enumerate(map(int, x)):
            if rng.random() < coin(left[token], q[k][token], 1.6 if token % 2 else 1 / 1.6):
                return k, -1
            left = excess(left, q[k])
            left = left / left.sum()
        return None, draw(rng, left, p)

    record_trees(tmp_path, descent(step), 200, "spec-infer", how)
    judge = judge_of(tmp_path)
    assert judge.steps.fortune.refuted_at is not None and "odd ids" in judge.likely()[0].name


@pytest.mark.parametrize("name", CLASSES)
def test_replacements_and_bonus_tokens_that_are_off_by_a_class_of_ids_are_refuted(name, tmp_path):
    changed = more_of(CLASSES[name], 0.0 if "8" in name else 0.25)
    record(tmp_path, chain(lambda *_: 1.0, changed), steps=500, vocabulary=SMALL)
    assert judge_of(tmp_path).steps.fortune.refuted_at is not None


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("claim", ["texts", "drafts"])
def test_tokens_that_are_off_by_a_class_of_ids_are_refuted(name, claim, tmp_path):
    changed = more_of(CLASSES[name], 0.0 if "8" in name else 2.5)

    def fault(step):
        if claim == "texts":
            step.verify_target = changed(step.target)
        else:
            step.drafts = [int(step.rng.choice(SMALL, p=row)) for row in changed(step.draft)]

    record(tmp_path, steps=300, rule="unknown", vocabulary=SMALL, fault=fault)
    refuting = getattr(judge_of(tmp_path), claim).refuting
    assert refuting is not None and name in refuting.family
