"""Faults that users reported: the wrong form is refuted in its claim, the right form holds."""

from importlib import import_module
from pathlib import Path

import pytest

from draftproof.models.battery import drawn
from draftproof.proofs.driven.batches import influences
from draftproof.proofs.driven.subjects import DrivenObject
from draftproof.proofs.time_limits import TimeLimits
from draftproof.reports.audits.api import audit
from draftproof.reports.audits.engines.audit import audit_engine
from draftproof.tests.deceivers.reported import MIXED, REPORTED, THREE, Asked, reported_table
from draftproof.verifiers.adapters.registry import Engine
from draftproof.verifiers.zoo.catalogue import CONTROLS, MUTANTS, TREE_CONTROLS, TREE_MUTANTS

pytestmark = pytest.mark.interception
FOLDER = Path(__file__).parent
QUICK = "reported_rules:width_for_costs_in_steps"
"""Row that every run of the tests audits: its kind was cleared once."""


def subject(name):
    module, _, function = name.partition(":")
    if module.endswith("zoo"):
        return {**MUTANTS, **CONTROLS, **TREE_MUTANTS, **TREE_CONTROLS}[function].target
    return name if "." in module else f"{FOLDER / module}.py:{function}"


def influenced(name):
    """Return whether the requests of a batch influence each other."""
    module, _, function = name.partition(":")
    home = module if "." in module else f"{__package__}.{module}"
    batched = DrivenObject(getattr(import_module(home), function), name, None, "float64", TimeLimits(30.0))
    return bool(influences(batched, [drawn(3, gamma, "generic") for gamma in (1, 2, 3)], 0)["influenced"])


def judged(name, on):
    """The verdict on a subject and the claims that are refuted."""
    if on == MIXED:
        return ("refuted", {"batch"}) if influenced(name) else ("holds", set())
    if isinstance(on, Asked):
        engine = Engine(name, "planted", subject(name), follows=True, forged=False, logprobs="settings")
        report = audit_engine(engine, [on.problem], levels=("exact",), settings=on.settings, tokens=on.tokens)
    else:
        asked = {"conventions": ("batch",)} if on == THREE else {}
        report = audit(subject(name), [drawn(3, 2, "generic") if on == THREE else on], explain=False, **asked)
    return report.verdict, {e.claim for e in report.evidence if e.refuted}


@pytest.mark.parametrize(
    "row", [pytest.param(r, id=r.wrong, marks=[] if r.wrong == QUICK else pytest.mark.deceiver) for r in REPORTED]
)
def test_the_wrong_form_is_refuted_and_the_right_one_holds(row):
    verdict, claims = judged(row.wrong, row.on)
    assert verdict == "refuted" and row.claim in claims
    assert judged(row.right, row.on)[0] == "holds"


def test_the_page_has_a_row_for_each_report():
    assert len(REPORTED) == len({row.wrong for row in REPORTED}) >= 28
    assert reported_table().count("\n| ") == len(REPORTED)
