"""The law of a text under settings: each definition on rows small enough to follow by hand, ties refused."""

import itertools
from math import isclose

import pytest

from draftproof.models.decoding_settings import (
    ORDERS,
    SETTINGS,
    EnginesDiffer,
    NoTextLaw,
    joined,
    one_text_law,
    text_law,
)
from draftproof.models.errors import InputError
from draftproof.models.law import ContextFree, Markov
from draftproof.models.setting_values import checked_settings

pytestmark = pytest.mark.exact
ROW = ContextFree((0.5, 0.3, 0.2))
ORDER = ORDERS["draftproof-reference"]


def first(model=ROW, order=ORDER, **settings):
    law = one_text_law(model, 1, settings, order)
    return [law.get((t,), 0.0) for t in range(3)]


@pytest.mark.parametrize(
    ("settings", "row"),
    [
        ({}, [0.5, 0.3, 0.2]),
        ({"temperature": 0.5}, [0.25 / 0.38, 0.09 / 0.38, 0.04 / 0.38]),
        ({"temperature": 0}, [1, 0, 0]),
        ({"top_k": 2}, [0.625, 0.375, 0]),
        ({"top_p": 0.6}, [0.625, 0.375, 0]),
        ({"min_p": 0.5}, [0.625, 0.375, 0]),
        ({"epsilon_cutoff": 0.25}, [0.625, 0.375, 0]),
        ({"eta_cutoff": 0.45}, [0.625, 0.375, 0]),  # sqrt(.45) exp(-1.03) = .24
        ({"typical_p": 0.4}, [0, 1, 0]),  # entropy 1.03, -log(.3) = 1.20 lies nearest, and .3 does not reach .4
        ({"logit_bias": {"2": 1.0}}, None),
        ({"banned": [0]}, [0, 0.6, 0.4]),
        ({"allowed": [0, 2]}, [5 / 7, 0, 2 / 7]),
        ({"eos": [0], "min_tokens": 1}, [0, 0.6, 0.4]),
        ({"forced_eos": [2]}, [0, 0, 1]),
        ({"prompt": [0], "repetition_penalty": 2.0}, [0.25 / 0.75, 0.3 / 0.75, 0.2 / 0.75]),
        ({"prompt": [1, 0, 1], "no_repeat_ngram": 2}, [0, 0.6, 0.4]),
        ({"prompt": [1], "grammar": {"1": [2]}}, [0, 0, 1]),
    ],
    ids=str,
)
def test_a_setting_changes_a_row_as_it_is_defined(settings, row):
    if settings.get("typical_p"):
        row = [0.5 / 0.8, 0.3 / 0.8, 0]  # |.69 - 1.03| = .34 is second, so .3 + .5 reach .4
    if "logit_bias" in settings:
        from math import e

        row = [0.5 / (0.8 + 0.2 * e), 0.3 / (0.8 + 0.2 * e), 0.2 * e / (0.8 + 0.2 * e)]
    assert all(isclose(a, b, abs_tol=1e-12) for a, b in zip(first(**settings), row))


def test_penalties_of_the_text_count_what_was_written_and_not_the_prompt():
    from math import exp

    for name in ("presence_penalty", "frequency_penalty"):
        law = one_text_law(ROW, 3, {name: 1.0, "prompt": [0, 0]}, ORDER)
        times = 1 if name == "presence_penalty" else 2
        row = [0.5 * exp(-times), 0.3, 0.2]
        once = [0.5 * exp(-1), 0.3, 0.2]
        assert isclose(law[0, 0, 0], 0.5 * once[0] / sum(once) * row[0] / sum(row))


def test_the_order_of_two_settings_matters_where_it_must():
    top_p_first = ("top_p", "temperature")
    assert first(order=top_p_first, top_p=0.6, temperature=0.5) != first(top_p=0.6, temperature=0.5)


def test_texts_end_by_eos_stop_sequences_and_the_cap():
    law = one_text_law(ROW, 3, {"eos": [2], "stop": [[0, 1]]}, ORDER)
    assert {len(text) for text in law} == {1, 2, 3}
    assert all(2 not in text[:-1] and (0, 1) not in itertools.pairwise(text[:-1]) for text in law)
    assert isclose(sum(law.values()), 1)


def test_texts_of_several_requests_are_independent():
    rows = Markov((0.5, 0.3, 0.2), ((0.1, 0.2, 0.7), (0.3, 0.4, 0.3), (0.6, 0.3, 0.1)))
    law = text_law(rows, 1, {"n": 2, "together": [{"prompt": [0], "temperature": 0}]}, ORDER)
    assert isclose(law[joined([(0,), (1,), (2,)])], 0.15)
    assert isclose(sum(law.values()), 1)


@pytest.mark.parametrize("settings", [{"top_p": 0.8}, {"min_p": 0.6}, {"epsilon_cutoff": 0.3}, {"top_p": 0.5}], ids=str)
def test_cut_offs_within_rounding_of_a_probability_have_no_law(settings):
    with pytest.raises(NoTextLaw, match="within rounding"):
        first(**settings)


@pytest.mark.parametrize("settings", [{"temperature": 0}, {"top_k": 1}, {"top_p": 0.3}, {"typical_p": 0.3}], ids=str)
def test_ties_have_no_law_unless_doubts_are_noted(settings):
    tied, doubts = ContextFree((0.4, 0.4, 0.2)), []
    with pytest.raises(EnginesDiffer, match="between tokens that are as likely, where engines may differ"):
        first(tied, **settings)
    law = one_text_law(tied, 1, settings, ORDER, doubts)
    assert doubts == [True] and isclose(sum(law.values()), 1) and law[0,] > 0
    one_text_law(ROW, 1, {"top_p": 0.8}, ORDER, doubts)
    assert doubts == [True, False], "a sum within rounding is no tie"


def test_settings_that_leave_nothing_have_no_law():
    with pytest.raises(NoTextLaw, match="exclude every token"):
        first(banned=[0, 1, 2])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": "hot"}, "temperature 'hot': expected a number"),
        ({"temperature": -1}, "from 0 to 10"),
        ({"top_k": 1.5}, "top_k 1.5: expected a whole number"),
        ({"eos": [-1]}, "eos"),
        ({"mirostat": 2}, "it has no setting mirostat; expected one of temperature"),
    ],
)
def test_other_values_and_settings_are_refused_in_one_line(settings, message):
    with pytest.raises(InputError, match=message):
        checked_settings(settings, ["temperature", "top_k", "eos"])


def test_every_order_names_settings_that_change_rows():
    for order in ORDERS.values():
        assert set(order) <= {name for name, setting in SETTINGS.items() if setting.law}
    with pytest.raises(InputError, match="top_k has no place"):
        text_law(ROW, 1, {"top_k": 2}, ("temperature",))
