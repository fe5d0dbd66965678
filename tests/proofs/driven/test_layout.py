"""Random numbers as a program gets them: each reads back as the number that a Python subject is given."""

import json

import numpy as np

from draftproof.models.battery import drawn
from draftproof.proofs.driven.declared import declared
from draftproof.proofs.driven.layout import Layout
from draftproof.proofs.driven.programs import ENCODER

NUMBERS = [{"name": 'a "null" \0', "kind": "uniform", "shape": ["gamma"], "bits": 24},
           {"name": "b0", "kind": "exponential", "shape": ["gamma", "V"]},
           {"name": "c", "kind": "gumbel", "shape": [2, 1]},
           {"name": "d", "kind": "uniform", "shape": [], "bits": 53}]  # fmt: skip


def test_each_number_reads_back_as_itself():
    generator = np.random.default_rng(0)
    lattice, noise = generator.integers(0, 2**24, 20_000) / 2**24, generator.gumbel(size=20_000).astype(np.float32)
    middles = [2.0**-12, 100.0, 2.0**-43, 1.0, 0.5, 1 / 3, 10.0, 2.0**-24, 1e-9]
    near = [float(np.nextafter(x, to)) for x in middles for to in (0, np.inf)]
    values = [0.0, 1e300, 5e-324, *middles, *near, *lattice.tolist(), *noise.astype(float).tolist()]
    assert json.loads(ENCODER.encode(values)) == values


def test_the_text_of_a_point_is_what_a_python_subject_is_given():
    layout = Layout(declared(NUMBERS, "float32") or (), drawn(3, 2, "generic"), "float32")
    points = layout.drawn(np.random.default_rng(0), 50)
    assert json.loads(ENCODER.encode(layout.many(points))) == [layout.numbers(point) for point in points]
    assert Layout((), drawn(3, 2, "generic"), "float32").many([(), ()]) == [{}, {}]
