"""Random numbers as texts: each reads back as the number that it is."""

import json

import numpy as np
import pytest

from draftproof.models.battery import drawn
from draftproof.proofs.driven import decimals
from draftproof.proofs.driven.declared import declared
from draftproof.proofs.driven.layout import Layout

NUMBERS = [{"name": 'a "null" \0', "kind": "uniform", "shape": ["gamma"], "bits": 24},
           {"name": "b0", "kind": "exponential", "shape": ["gamma", "V"]},
           {"name": "c", "kind": "gumbel", "shape": [2, 1]}, {"name": "d", "kind": "uniform", "shape": [], "bits": 53}]  # fmt: skip


def edges() -> list[float]:
    """Numbers on either side of where digits made by arrays suffice, in both signs."""
    middles = [decimals.LEAST, decimals.LARGEST, decimals.FINEST, 1.0, 0.5, 1 / 3, 10.0, 99.0, 2.0**-24, 1e-9]
    near = [float(np.nextafter(x, to)) for x in middles for to in (0, np.inf)]
    narrow = [float(np.nextafter(np.float32(x), np.float32(to))) for x in middles for to in (0, np.inf)]
    return [0.0, 1e300, 5e-324, *(sign * x for x in (*middles, *near, *narrow) for sign in (1, -1))]


def texts(values):
    return [float(text) for text in decimals.filled(["", ""], np.array(values)[:, None])]


def test_each_number_reads_back_as_itself():
    generator = np.random.default_rng(0)
    lattice = generator.integers(0, 2**24, 20_000) / 2**24
    noise = generator.gumbel(size=20_000).astype(np.float32).astype(float)
    fine = generator.random(1_000)
    values = [*edges(), *lattice.tolist(), *noise.tolist(), *fine.tolist()]
    assert texts(values) == values


@pytest.mark.parametrize(("name", "wrong"), [("LEAST", 2.0**-30), ("LARGEST", 2e6), ("FINEST", 2.0**-1000)])
def test_a_bound_that_is_too_wide_is_noticed(monkeypatch, name, wrong):
    monkeypatch.setattr(decimals, name, wrong)
    try:
        assert texts(edges()) != edges()
    except IndexError:
        assert name == "LARGEST"


def test_the_text_of_a_point_is_what_a_python_subject_is_given():
    layout = Layout(declared(NUMBERS, "float32") or (), drawn(3, 2, "generic"), "float32")
    points = layout.drawn(np.random.default_rng(0), 50)
    assert [json.loads(text) for text in layout.texts(points)] == [layout.numbers(point) for point in points]
    assert json.loads(Layout((), drawn(3, 2, "generic"), "float32").texts([(), ()])[1]) == {}
