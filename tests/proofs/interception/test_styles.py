"""Ordinary styles of right verifiers have their law, and a wrong sibling of each is refuted."""

import pytest

from draftproof.models.battery import drawn
from draftproof.proofs.audit_claims import lossless
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.sandbox import Sandbox
from draftproof.tests.subjects import styles

PROBLEM = drawn(3, 2, "generic")


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox("") as shared:
        yield shared


def judged(sandbox, name):
    sandbox.array = "torch" if "softmax" in name else None
    sandbox.load(f"{styles.__file__}:{name}", [PROBLEM])
    law = measured(PROBLEM, "float64", sandbox.law(PROBLEM))
    return law, lossless(law)


STYLES = {
    "on_lists": "holds", "on_lists_by_a_loop": "holds",
    "on_lists_by_a_race": "holds", "on_lists_by_a_race_of_powers": "refuted",
}  # fmt: skip
TORCH = {"gumbel_softmax": "holds", "hard_gumbel_softmax": "holds", "sharpened_gumbel_softmax": "refuted"}


@pytest.mark.parametrize("name", STYLES)
def test_a_right_verifier_in_an_ordinary_style_has_its_law_and_a_wrong_one_is_refuted(sandbox, name):
    law, evidence = judged(sandbox, name)
    assert evidence.verdict == STYLES[name], law.reason


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if name.startswith("sharp") else ()) for name in TORCH]
)
def test_a_gumbel_softmax_is_a_race(sandbox, name):
    pytest.importorskip("torch")
    law, evidence = judged(sandbox, name)
    assert evidence.verdict == TORCH[name], law.reason
