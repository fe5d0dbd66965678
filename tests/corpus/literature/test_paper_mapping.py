"""The map of the paper names what exists, says what was run, and is up to date."""

from pathlib import Path

import pytest

import draftproof
from draftproof.corpus.literature.mapping import exists, page, statements
from draftproof.proofs.proving import all_proofs
from draftproof.proofs.statements import METHODS, PROVABLE_CLAIMS, standing

pytestmark = pytest.mark.symbolic
ROOT = Path(draftproof.__file__).parent
needs_sources = pytest.mark.skipif(
    not (ROOT / "proofs" / "paper_mapping.md").is_file(),
    reason="paper_mapping.md is in the repository, not in the wheel",
)


@needs_sources
@pytest.mark.parametrize("statement", statements(), ids=lambda s: f"{s.paper}, {s.number}")
def test_every_place_that_the_map_names_exists(statement):
    assert [place for place in statement.places if not exists(place)] == []
    assert statement.places


@needs_sources
@pytest.mark.parametrize(
    "place",
    [
        "proofs/laws/reference_laws.py:gone",
        "proofs/gone.py:law",
        "proofs/mechanized/Block.v:theorem_7",
        "proofs/mechanized/Gone.v:lemma_3",
    ],
)
def test_a_place_that_is_gone_is_noticed(place):
    assert not exists(place)


@needs_sources
def test_the_page_is_what_the_statements_and_the_recorded_run_give():
    assert (ROOT / "proofs" / "paper_mapping.md").read_text() == page(standing())


def test_the_recorded_run_is_of_the_proofs_there_are():
    """Nothing on record that cannot be run, nothing that runs but is not on record."""
    recorded = {(row["claim"], row["method"], row["what"], row["size"]) for row in standing()}
    assert recorded == {(p.claim, p.method, p.what, p.size) for p in all_proofs()}


def test_nothing_on_record_is_refuted_and_every_claim_holds_by_some_method():
    assert {row["verdict"] for row in standing()} <= {"holds", "no-evidence"}
    assert {row["claim"] for row in standing() if row["verdict"] == "holds"} == set(PROVABLE_CLAIMS)
    assert {row["method"] for row in standing()} == set(METHODS)
    assert {s.claim for s in statements() if s.claim} <= set(PROVABLE_CLAIMS)
