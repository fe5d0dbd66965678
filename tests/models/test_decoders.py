"""Decoders as programs over chance: the right ones have the law of the settings, each mutant's is another."""

import pytest

from draftproof.models.decoders.catalogue import WRONG_DECODERS
from draftproof.models.decoders.reference import Decoder
from draftproof.models.decoding_settings import ORDERS, text_law
from draftproof.proofs.laws.known_decoders import law_of_decoder
from draftproof.proofs.laws.text_masses import distance
from draftproof.reports.audits.engines.cells import decoder_problem
from draftproof.tests.subjects.right_decoders import RIGHT_DECODERS

pytestmark = pytest.mark.exact
PROBLEM = decoder_problem()
SETTINGS = [
    {}, {"temperature": 0}, {"top_k": 2, "temperature": 0.5}, {"eos": [1], "min_tokens": 2}, {"stop": [[0, 1]]},
    {"frequency_penalty": 1.0, "prompt": [0, 1, 2, 0]},
]  # fmt: skip


def away(kind, settings, tokens, sampling="speculative"):
    """How far the law of a decoder is from the settings'."""
    law = law_of_decoder(kind, PROBLEM, settings, tokens, sampling)
    return distance(law, text_law(PROBLEM.target, tokens, settings, ORDERS["draftproof-reference"]))


@pytest.mark.parametrize("entry", RIGHT_DECODERS.values(), ids=lambda e: e.name)
def test_a_right_decoder_in_an_odd_style_has_the_law_of_the_settings(entry):
    assert max(away(entry.kind, settings, 2) for settings in SETTINGS) < 1e-12


@pytest.mark.parametrize("entry", WRONG_DECODERS.values(), ids=lambda e: e.name)
def test_a_mutant_is_off_where_its_catalogue_says_and_the_right_one_is_not(entry):
    asked = entry.settings, entry.tokens, entry.sampling
    assert away(Decoder, *asked) < 1e-12
    if not entry.followed and "lossless" in entry.refutes:
        assert away(entry.kind, *asked) > (1e-4 if entry.name == "X48" else 0.01)  # off by a rounding to bfloat16


def test_the_catalogues_are_as_long_as_they_are_said_to_be():
    assert len(WRONG_DECODERS) >= 25 and len(RIGHT_DECODERS) >= 10
    assert all(entry.link.startswith("https://") for entry in WRONG_DECODERS.values() if entry.ancestor)
