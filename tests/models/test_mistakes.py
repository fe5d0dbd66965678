"""Known mistakes about settings: which there are, and which orders of two settings are no mistake."""

import random
from itertools import combinations

import pytest

from draftproof.models.decoders.mistakes import ACTS, COMMUTING, IDLE, mistakes_of
from draftproof.models.decoding_settings import LOOKUP, ORDERS, NoTextLaw, TextRequest, modified

ORDER = ORDERS["draftproof-reference"]
VALUES = {
    "temperature": (0.5, 0.8, 1.6), "top_k": (2, 3), "top_p": (0.5, 0.75, 0.9), "min_p": (0.1, 0.3, 0.6),
    "typical_p": (0.4, 0.7), "epsilon_cutoff": (0.1, 0.2), "eta_cutoff": (0.2, 0.4),
    "repetition_penalty": (1.2, 2.0), "presence_penalty": (0.5, 1.5), "frequency_penalty": (0.5, 1.5),
    "logit_bias": ({"1": 1.5}, {"0": -2.0}), "banned": ([1],), "allowed": ([0, 1, 2],), "grammar": ({"0": [1, 2]},),
    "no_repeat_ngram": (2,), "min_tokens": (3,),
}  # fmt: skip
"""Values of the settings whose order may matter: a forced token leaves nothing to order."""


def differs(first, second, tries=400):
    """Whether some row of four tokens, values and text tell the two orders apart."""
    drawing = random.Random(f"{first} {second}")
    for _ in range(tries):
        weights = [drawing.random() ** drawing.choice((1, 3)) + 0.01 for _ in range(4)]
        row = [w / sum(weights) for w in weights]
        settings = {name: drawing.choice(VALUES[name]) for name in (first, second)} | {"eos": [0]}
        asked = TextRequest((), tuple(drawing.choices(range(4), k=2)), 3, settings)
        try:
            one, other = (modified(row, asked, order) for order in ((first, second), (second, first)))
        except NoTextLaw:
            continue
        if max(abs(a - b) for a, b in zip(one, other, strict=True)) > 1e-9:
            return True
    return False


@pytest.mark.parametrize("first, second", [*combinations(VALUES, 2)])
def test_an_order_is_a_mistake_if_some_row_tells_it(first, second):
    commute = {ACTS.get(first, first), ACTS.get(second, second)} in COMMUTING
    assert differs(first, second) is not commute


def test_mistakes_are_of_the_settings_that_are_asked():
    assert [*mistakes_of({"top_k": 2, "top_p": 0.9}, ORDER)] == [
        "top_k lost", "top_k lost in verified rows", "top_k lost in the bonus row", "drafted without top_k",
        "top_p lost", "top_p lost in verified rows", "top_p lost in the bonus row", "drafted without top_p",
        "top_p before top_k", "top_p before top_k in verified rows", "top_p before top_k in the bonus row",
    ]  # fmt: skip
    mlx = mistakes_of({"top_k": 2, "top_p": 0.9}, ORDERS["mlx-lm"])
    assert "top_k before top_p" in mlx and all(kind.order == ORDERS["mlx-lm"] for kind in mlx.values())
    assert not any("drafted" in name for name in mistakes_of({"top_k": 2}, ORDER, LOOKUP))
    assert next(iter(mistakes_of({"temperature": 0, "top_k": 2}, ORDER))) == "temperature lost"
    assert not any("top_k" in name for name in mistakes_of({"temperature": 0, "top_k": 2}, ORDER)), "greedy"
    assert {"rejected eos ends the output", "only the first of several ends"} <= {*mistakes_of({"eos": [0, 1]}, ORDER)}
    both = "stop behind eos in a block ends the output"
    ends = {"eos": [2], "stop": [[1]]}
    assert {both, f"{both}, behind likeliest drafts"} <= {*mistakes_of(ends, ORDER)}
    assert not any("likeliest" in name for name in mistakes_of(ends, ORDER, tokens=2)), "nothing is drafted"
    counted = "only the last token of a block in the history"
    assert all(counted in mistakes_of({name: 2}, ORDER) for name in ("frequency_penalty", "min_tokens"))


def test_mistakes_of_a_batch_take_one_setting_from_another_request():
    other = {"temperature": 0.5, "eos": [0], "prompt": [1]}
    found = mistakes_of({"temperature": 2, "prompt": [1]}, ORDER, others={"request 2": other})
    assert [name for name in found if "request 2" in name] == [
        "eos of request 2", "temperature of request 2", "temperature of request 2 in verified rows",
        "temperature of request 2 in the bonus row",
    ]  # fmt: skip
    assert "prompt of request 2" in mistakes_of({}, ORDER, others={"request 2": other})


def test_values_that_change_nothing_allow_for_no_mistake():
    idle = {name: IDLE.get(name, 0) for name, (value, *_) in VALUES.items() if not isinstance(value, dict | list)}
    assert mistakes_of(idle | {"logit_bias": {}, "banned": [], "eos": []}, ORDER) == {}
    assert mistakes_of({}, ORDER) == {}
