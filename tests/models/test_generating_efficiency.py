"""Block efficiency and speedup: tokens and calls are counted text by text, also in a batch."""

import pytest

from draftproof.models.generating.result import (
    Generated,
    Iteration,
    block_efficiency,
    block_places,
    seconds_per_token,
    tokens_and_calls,
    wall_clock_speedup,
)


def run(iterations, tokens, seconds=1.0):
    return Generated("block", "", "cpu", "float32", tokens, [Iteration(*each) for each in iterations], seconds=seconds)


ALONE = run([(3, (0,), (3,), (4,)), (3, (0,), (0,), (1,))], [[1, 2, 3, 4, 5]], 0.5)
BESIDE = run([(3, (0, 1), (3, 1), (4, 2)), (3, (1,), (2,), (1,))], [[1, 2, 3, 4], [5, 6, 7]], 2.0)


def test_a_call_over_a_batch_counts_once_for_each_text_in_it():
    assert tokens_and_calls([ALONE]) == (5, 2)
    assert tokens_and_calls([BESIDE]) == (7, 3)  # counted by the batch it would be 2 calls, and 3.5 tokens a call
    assert block_efficiency([BESIDE]) == pytest.approx(7 / 3)


def test_several_runs_are_summed_and_not_averaged():
    assert block_efficiency([ALONE, BESIDE]) == pytest.approx(12 / 5)
    assert block_efficiency(iter([ALONE, BESIDE])) == pytest.approx(12 / 5)
    assert seconds_per_token([ALONE, BESIDE]) == pytest.approx(2.5 / 12)


def test_tokens_that_the_last_block_had_beyond_the_end_do_not_count():
    assert block_efficiency([run([(8, (0,), (8,), (2,))], [[1, 2]])]) == 2


def test_speedup_is_by_the_token_where_texts_end_at_different_lengths():
    plain = run([(0, (0,), (0,), (1,))] * 10, [[0] * 10], 2.0)
    assert block_efficiency([plain]) == 1
    assert wall_clock_speedup([ALONE], [plain]) == pytest.approx(0.2 / 0.1)
    assert wall_clock_speedup([plain], [plain]) == 1


def test_the_places_of_a_block_at_which_draft_tokens_were_kept_and_rejected_count_up_to_the_end_of_the_output():
    assert block_places([ALONE]) == ({1, 2, 3}, {1})
    assert block_places([BESIDE]) == ({1, 2, 3}, {2})  # the last block was cut behind its first token
    assert block_places([ALONE, BESIDE]) == ({1, 2, 3}, {1, 2})
    assert block_places([run([(0, (0,), (0,), (1,))], [[1]])]) == (set(), set())
