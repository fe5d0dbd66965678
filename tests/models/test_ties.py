"""The texts that a decoder may write where engines may differ: every way of cutting a tie, and no other text."""

from fractions import Fraction
from itertools import permutations

import pytest

from draftproof.models.decoding_settings import ORDERS, TextRequest, modified, one_text_law
from draftproof.models.law import Markov
from draftproof.models.ties import texts_that_may_be

ORDER = ORDERS["draftproof-reference"]


def model(*parts):
    row = tuple(Fraction(part, sum(parts)) for part in parts)
    return Markov(row, tuple(row for _ in row))


def tokens_of(model, settings):
    texts = texts_that_may_be(model, 1, settings, ORDER)
    return texts and {token for (token,) in texts}


@pytest.mark.parametrize(
    ("parts", "settings", "tokens"),
    [
        ((5, 3, 3, 1), {"top_k": 2}, {0, 1, 2}), ((5, 5, 3), {"top_k": 1}, {0, 1}),
        ((3, 3, 3, 1), {"top_k": 1}, {0, 1, 2}),
        ((43, 14, 43), {"top_p": 0.3}, {0, 2}), ((6, 2, 2), {"top_p": 0.6}, {0, 1, 2}),
        ((6, 2, 2), {"top_p": 0.61}, {0, 1, 2}),
        ((43, 14, 43), {"temperature": 0}, {0, 2}), ((6, 3, 1), {"min_p": 0.5}, {0, 1}),
        ((6, 3, 1), {"epsilon_cutoff": 0.3}, {0, 1}),
        ((5, 3, 3, 1), {"top_k": 2, "epsilon_cutoff": 0.35}, {0, 1, 2}), ((5, 3, 2), {"top_k": 2}, {0, 1}),
        ((5, 5, 3), {"temperature": 8, "top_k": 1}, {0, 1}), ((9999, 1, 0), {"top_p": 0.9999}, {0, 1}),
    ],
)  # fmt: skip
def test_tokens_that_may_stay_are_those_of_every_way_of_cutting(parts, settings, tokens):
    assert tokens_of(model(*parts), settings) == tokens


@pytest.mark.parametrize("settings", [{"top_k": 2}, {"top_p": 0.55}, {"top_k": 2, "top_p": 0.55}, {"temperature": 0}])
@pytest.mark.parametrize("parts", [(4, 3, 3), (3, 3, 4), (3, 4, 3), (5, 5, 2), (1, 1, 1)])
def test_each_order_of_tokens_as_likely_writes_a_text_that_may_be(parts, settings):
    """An engine that ranks tokens as likely by any order of their ids, and keeps no more than it has to."""
    may = tokens_of(model(*parts), settings)
    for ranks in permutations(range(3)):
        row = [part / sum(parts) * (1 - 1e-7 * rank) for part, rank in zip(parts, ranks, strict=True)]
        kept = modified(row, TextRequest((), (), 1, settings, []), ORDER)
        assert {token for token, p in enumerate(kept) if p} <= may


def test_where_nothing_is_within_rounding_the_texts_are_those_of_the_law():
    clear = model(5, 3, 2)
    for settings in ({"top_p": 0.7}, {"eos": [1], "top_k": 2}, {"repetition_penalty": 1.3}):
        law = one_text_law(clear, 3, settings, ORDER)
        assert texts_that_may_be(clear, 3, settings, ORDER) == {text for text, p in law.items() if p}


def test_too_many_ways_and_settings_that_exclude_every_token_leave_it_open():
    assert texts_that_may_be(model(*[1] * 7), 1, {"top_k": 2}, ORDER) is None
    assert texts_that_may_be(model(5, 5, 3), 2, {"top_k": 1, "grammar": {"0": []}}, ORDER) is None
