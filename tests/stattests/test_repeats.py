"""Repeated texts: independent ones are refuted as seldom as promised, copies at once, and equal ones by right never."""

import numpy as np
import pytest

from draftproof.models.errors import InputError
from draftproof.stattests.repeats import REPEATED, Repeats

pytestmark = pytest.mark.exact

ALPHA = 0.05
ROW = np.array([0.7, 0.2, 0.1])


def refuted(texts, pairs, off=0.0, row=ROW):
    repeats = Repeats(pairs, ALPHA, off)
    for text in texts:
        fortune = repeats.observe("prompt", [*map(int, text)], row[np.array(text)])
    return fortune.refuted_at is not None


@pytest.mark.parametrize("off", [0.0, 0.05])
@pytest.mark.parametrize("length", [2, 4, 12])
def test_independent_texts_are_refuted_with_the_probability_promised_at_most(off, length):
    """Off: texts of a row that is off by as much, where a repetition is likelier."""
    rng, runs = np.random.default_rng(length), 2000
    served = ROW + np.array([off, -off, 0.0])
    wrong = sum(refuted(rng.choice(3, p=served, size=(5, length)), 10, off) for _ in range(runs))
    assert wrong <= ALPHA * runs


def test_copies_are_refuted_and_it_is_said_where():
    text = [1, 0, 2, 0, 1, 2, 2, 0]
    repeats = Repeats(1, ALPHA)
    assert repeats.observe("one", text, ROW[text]).p_value == 1
    assert repeats.observe("another", text, ROW[text]).p_value == 1, "another prompt"
    other = [*text[:6], 1, 1]
    found = repeats.observe("one", other, ROW[other])
    assert found.p_value == pytest.approx(np.prod(ROW[text[:6]])) and repeats.agreed == 6
    assert (found.refuted_at, found.family, found.steps) == (2 * len(text) + 2, REPEATED, 3 * len(text))
    later = repeats.observe("one", [0], ROW[[0]])
    assert later.p_value == found.p_value and repeats.agreed == 6


def test_texts_that_are_certain_may_agree_and_so_may_likely_ones_of_many_pairs():
    certain = np.array([1.0, 0.0, 0.0])
    assert not refuted([[0] * 64] * 20, 190, row=certain)
    assert refuted([[1, 1], [1, 1]], 1) and not refuted([[1, 1], [1, 1]], 2)
    assert not refuted([[0] * 64] * 2, 1, off=0.3)
    assert Repeats(0, ALPHA).observe("one", [], np.array([])).p_value == 1


@pytest.mark.parametrize(("alpha", "off"), [(0.0, 0.0), (1e-3, -0.1), (1e-3, float("nan"))])
def test_wrong_use(alpha, off):
    with pytest.raises(InputError):
        Repeats(1, alpha, off)
