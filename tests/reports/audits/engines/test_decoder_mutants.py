"""Mutants of decoders: each is refuted exactly, in the claims that its catalogue names, and named; right ones hold."""

from functools import cache

import pytest

from draftproof.corpus.site.cell_states import states
from draftproof.models.decoders.catalogue import WRONG_DECODERS
from draftproof.proofs.laws.text_laws import UNWRITTEN
from draftproof.reports.audits.engines.audit import audit_engine
from draftproof.reports.audits.engines.cells import decoder_problem, grid_cells
from draftproof.reports.audits.settings_grid import GRID
from draftproof.tests.subjects.right_decoders import RIGHT_DECODERS
from draftproof.verifiers.adapters.registry import ENGINES, Engine

pytestmark = pytest.mark.engine


@cache
def audited(name):
    entry = {**WRONG_DECODERS, **RIGHT_DECODERS}[name]
    home = "tests.subjects.right_decoders" if entry.name in RIGHT_DECODERS else "models.decoders.catalogue"
    sample = f"draftproof.{home}:{entry.name}"
    engine = Engine(entry.name, "planted", sample, follows=True, forged=False, logprobs="settings")
    settings = entry.settings | ({"lookup": True} if entry.sampling == "lookup" else {})
    return audit_engine(engine, levels=("exact",), settings=settings, tokens=entry.tokens)


QUICK = ("X01", "X22", "X33", "X36", "X48", "R05", "R14")


def some_long(entries):
    """All of them; but a few are left to ``make long``."""
    return [e if e.name in QUICK else pytest.param(e, marks=pytest.mark.long) for e in entries.values()]


@pytest.mark.parametrize("entry", some_long(WRONG_DECODERS), ids=str)
def test_a_mutant_is_refuted_where_its_catalogue_says_and_named(entry):
    report = audited(entry.name)
    assert tuple(dict.fromkeys(e.claim for e in report.evidence if e.refuted)) == entry.refutes
    assert report.verdict == "refuted"
    assert all(e.witness and e.replay for e in report.evidence if e.refuted)
    if entry.followed:
        assert "with memory that was never written: with seed" in report.findings[UNWRITTEN]
    else:
        assert entry.name in [same["mutant"] for same in report.diagnosis]


DRAFTING_UNSEEN = ("R01", "R06")
"""Decoders that draft nothing, or from the text: nothing shows that they draft, and the audit says no more."""


@pytest.mark.parametrize("entry", some_long(RIGHT_DECODERS), ids=str)
def test_a_right_decoder_in_an_odd_style_holds(entry):
    report = audited(entry.name)
    assert report.verdict == ("inconclusive" if entry.name in DRAFTING_UNSEEN else "holds") and not report.diagnosis
    assert {str(e.verdict) for e in report.evidence} == {"holds"}
    assert max(e.total_variation or 0 for e in report.evidence) < 1e-12


def test_the_grid_of_the_reference_has_every_row_and_an_engine_only_those_it_has():
    every = {cell.name for cell in grid_cells(ENGINES["draftproof-reference"])}
    assert len(every) > 35 and {asked.name for asked in GRID} - every >= {"early exit", "tokenizers apart"}
    loop = {cell.name: cell for cell in grid_cells(ENGINES["draftproof-loop"])}
    assert {"none", "top-k", "EOS in a block"} <= set(loop) and "min-p" not in loop
    beside = loop["same prompt beside"]  # it draws whole blocks of each request: more would be too many ways
    assert (beside.tokens, beside.problem.vocabulary) == (1, 2)
    assert len(grid_cells(ENGINES["transformers"])) >= 50


def test_a_cell_shows_what_was_refuted_what_holds_and_why_nothing_is_decided():
    words = [state.word for entry in ("X01", "R11") for _, _, state in states(audited(entry).evidence)]
    assert words == ["refuted", "holds"]
    report = audit_engine(
        Engine("none", "planted", "draftproof.models.decoders.catalogue:X01", follows=True, forged=False),
        [decoder_problem()], levels=("exact",), settings={"banned": [0, 1, 2]}, tokens=1,
    )  # fmt: skip
    ((_, _, state),) = states(report.evidence)
    assert state.word == "not known" and "exclude every token" in state.why
