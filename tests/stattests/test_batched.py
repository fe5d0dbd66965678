"""Functions that verify many blocks a call: their counts are what they emitted, and deviations in them are refuted."""

import random
import sys

import numpy as np
import pytest

from draftproof.models.battery import drawn, drawn_markov
from draftproof.models.rationals import as_float
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import joint_law, output_law
from draftproof.stattests.campaign.batched import BatchedSource, Blocks, count_emitted
from draftproof.stattests.campaign.tally import Outcomes, Tally
from draftproof.stattests.goodness import goodness_of_fit
from draftproof.tests.stattests import batched_subjects as subjects
from draftproof.verifiers.adapters.calling_convention import BadResult
from draftproof.verifiers.registry import reference

PROBLEM = drawn(3, 2, "generic")


def sampled(function, problem=PROBLEM, n=200_000, batch=1000):
    return BatchedSource(function, problem, batch, name="planted").sample(np.random.SeedSequence(1), n)


def p_value(tally, name, problem=PROBLEM):
    law = {o: as_float(p) for o, p in output_law(in_field(problem), reference(name)).items()}
    counts = dict(tally.items())
    return goodness_of_fit(counts, dict.fromkeys(counts, 0.0) | law).p_value


@pytest.mark.parametrize("name", ["token", "block"])
@pytest.mark.parametrize("problem", [PROBLEM, drawn(4, 3, "mixed"), drawn_markov(3, 2)])
def test_right_functions_follow_the_exact_law_of_their_rule(name, problem):
    tally = sampled(getattr(subjects, name), problem)
    assert tally.n == 200_000
    assert p_value(tally, name, problem) > 1e-6


def test_one_first_token_in_twenty_replaced_is_refuted():
    assert p_value(sampled(subjects.one_in_twenty_is_zero), "block") < 1e-6


def test_drafts_follow_the_draft_and_rows_are_those_of_their_prefix():
    blocks = Blocks(PROBLEM)
    target, draft, tokens = blocks.draw(np.random.default_rng(3), 100_000)
    assert (target.shape, draft.shape, tokens.shape) == ((100_000, 3, 3), (100_000, 2, 3), (100_000, 2))
    drafted = {tuple(map(int, pair)): int(n) for pair, n in zip(*np.unique(tokens, axis=0, return_counts=True))}
    law = {o: as_float(p) for o, p in joint_law(in_field(PROBLEM).draft, 2).items()}
    assert goodness_of_fit(drafted, law).p_value > 1e-6
    swapped = {(b, a): n for (a, b), n in drafted.items()}
    assert goodness_of_fit(swapped, law).p_value < 1e-6, "the planted deviation: positions swapped"
    for k in range(50):
        prefix = tuple(map(int, tokens[k]))
        for i in range(3):
            assert target[k, i].tolist() == [float(p) for p in PROBLEM.target.row(prefix[:i])]
            if i < 2:
                assert draft[k, i].tolist() == [float(p) for p in PROBLEM.draft.row(prefix[:i])]


def counted(result, batch, n=None):
    tally = Tally(Outcomes(3, 3))
    count_emitted(tally, result, batch, batch if n is None else n)
    return tally


def test_padded_rows_and_lists_of_tokens_count_alike():
    rows = [[0, -1, -1], [2, 1, -1], [2, 1, 0], [1, -1, -1]]
    lists = [[0], (2, 1), np.array([2, 1, 0]), [[1]]]
    padded = np.array([[*row, -1, -1] for row in rows]).T.copy().T  # wider than needed, and not contiguous
    expected = {(0,): 1, (2, 1): 1, (2, 1, 0): 1, (1,): 1}
    for result in (np.array(rows), np.array(rows, dtype=np.float32), padded, lists):
        assert dict(counted(result, 4).items()) == expected
    assert counted(np.array(rows), 4, n=2).n == 2


def test_what_is_no_tokens_is_counted_as_that():
    tally = counted(np.array([[3, -1, -1, -1], [-1, -1, -1, -1], [0, -1, 1, -1], [0, 0, 0, 0], [-7, 0, -1, -1]]), 5)
    assert not tally.counts.any()
    assert {kind: seen.times for kind, seen in tally.strange.items()} == {
        "token outside the vocabulary": 3,
        "too many tokens": 1,
        "no tokens": 1,
    }


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ([[0]], "returned 1 rows for 4 blocks, expected one row of tokens a block"),
        (None, "returned a NoneType for 4 blocks"),
        ("0012", "returned a str for 4 blocks"),
        (np.array([[0.5, -1]] * 4), "numbers that are not whole"),
        ([[0], [0], "1", [0]], "returned text"),
    ],
)
def test_results_of_another_form_are_told_and_counted_nowhere(result, message):
    tally = Tally(Outcomes(3, 3))
    with pytest.raises(BadResult, match=message):
        count_emitted(tally, result, 4, 4)
    assert tally.n == 0


def test_an_exception_is_the_outcome_of_its_batch():
    tally = sampled(subjects.fails, n=2500)
    assert tally.failures == tally.n == 2500
    assert tally.strange["ValueError"] == (2500, "out of [red]luck[/]")


def test_batches_are_always_whole_and_only_what_was_asked_for_is_counted():
    sizes = []

    def watched(target_probs, draft_probs, draft_tokens, rng):
        sizes.append(len(draft_tokens))
        return subjects.block(target_probs, draft_probs, draft_tokens, rng)

    assert sampled(watched, n=2500).n == 2500
    assert sizes == [1000, 1000, 1000]


@pytest.mark.parametrize("kind", ["draft tokens", "rng", "random", "numpy", "torch", "generator"])
def test_the_random_numbers_handed_to_a_function_are_its_own_in_every_chunk(kind):
    """Of the drafts and of each generator: the numbers of two chunks differ, those of one drawn again do not."""
    if kind in ("torch", "generator"):
        pytest.importorskip("torch", reason="needs torch: pip install draftproof[torch]")
    seen = []

    def with_rng(target_probs, draft_probs, draft_tokens, rng):
        seen.append(rng.random(3).tolist())
        return [[0]] * len(draft_tokens)

    def with_generator(target_probs, draft_probs, draft_tokens, generator):
        seen.append(sys.modules["torch"].rand(3, generator=generator).tolist())
        return [[0]] * len(draft_tokens)

    def with_none(target_probs, draft_probs, draft_tokens):
        draw = {
            "random": random.random,
            "numpy": np.random.random,
            "torch": lambda: sys.modules["torch"].rand(()).item(),
        }
        seen.append(draft_tokens.tolist() if kind == "draft tokens" else [draw[kind]() for _ in range(3)])
        return [[0]] * len(draft_tokens)

    source = BatchedSource(
        {"rng": with_rng, "generator": with_generator}.get(kind, with_none), PROBLEM, 10, name="planted"
    )
    for k in (0, 1, 0):
        source.sample(np.random.SeedSequence(3, spawn_key=(k,)), 20)
    assert len(seen) == 6
    assert seen[:2] == seen[4:] != seen[2:4]
    assert seen[0] != seen[1]
