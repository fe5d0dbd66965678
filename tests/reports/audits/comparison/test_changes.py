"""Reports compared: nothing that got worse, or is not known any more, goes unsaid."""

import itertools
from dataclasses import replace

import pytest

from draftproof.models.errors import InputError
from draftproof.reports.audits.comparison.changes import changes, got_worse, versions_changed
from draftproof.reports.audits.comparison.states import Limit, State, States, load, states_of
from draftproof.tests.reports.golden import golden
from draftproof.tests.reports.report_parts import GOOD, GOOD_SUBJECT, WITNESS, about, compared, item, report_on
from draftproof.tests.reports.typed_details import LOOP
from draftproof.verifiers.evidence import ERROR, HOLDS, NO_EVIDENCE, NOT_CLAIMED, REFUTED, Strength

pytestmark = pytest.mark.exact


def drawn(bound: float | None = 0.1, **facts):
    return item(NO_EVIDENCE, "chi-square", bound=bound, detail=facts)


def served(limits, temperature=1.0):
    """A server's report: kind of request -> detection limit."""
    settings = {"temperature": temperature}
    return report_on(*(drawn(limit, sampling=kind, settings=settings) for kind, limit in limits.items()))


def short(problem="p", **fields):
    """A refutation of optimality."""
    return item(REFUTED, claim="optimal", problem=problem, detail={"tokens_per_call_lost": 0.1, **fields})


def leaking(chance):
    return report_on(
        item(REFUTED, claim="support", bound=None, witness=replace(WITNESS, expected="0", observed=chance))
    )


def confirmed(**detail):
    return report_on(item(detail=detail))


def called(*problems, calls=2000, limit=0.1):
    """Two laws, of which some were compared with real calls."""
    real = {"real_calls": {"calls": calls, "limit": limit}}
    return report_on(*(item(problem=p, detail=real if p in problems else {}) for p in "pq"))


def looped(low, high, temperature=0.7):
    figures = {"block_efficiency": 2.1, "block_efficiency_interval": (low, high) if low else None}
    return report_on(item(), end_to_end=LOOP | {"temperature": temperature, "figures": figures})


def own(seed, bound: float | None = 1e-13, verdict=HOLDS):
    """A report on problems that were drawn from a seed, one of them wide."""
    wide = 10_000 + seed
    names = {f"own-V2-gamma1-seed{seed}": 2, f"own-wide-V{wide}-gamma1-seed{seed}": wide}
    made = (item(verdict, problem=p, bound=bound, detail={"vocabulary": size}) for p, size in names.items())
    return report_on(*made, subject=GOOD_SUBJECT | {"dtypes": ["float64"]})


def also(**fields):
    return report_on(*GOOD.evidence, **fields)


def on_q(evidence, **fields):
    """The good report, with other evidence on one of its two problems."""
    return report_on(item(), replace(evidence, problem="q"), **fields)


BOTH = {"claims": ("lossless", "optimal")}
NOT_OPTIMAL = item(NOT_CLAIMED, claim="optimal")
ABOVE = {"above": "more than any valid verifier accepts", "tokens_per_call_lost": 0.0}
WRONG, PLAIN, SAMPLED = report_on(item(REFUTED), NOT_OPTIMAL), report_on(item()), report_on(drawn())
OTHER = GOOD_SUBJECT | {"name": "g", "source": "g.py"}
STATE, NOT_WIDE = {"findings": {"state": "counts"}}, {"findings": {"not-wide": "driven"}}
SERVED = {"alone": 0.2, "together": 0.2, "pooled: alone, together": 0.1}
NOT_A_NUMBER = float("nan")

CHANGES = [
    (GOOD, GOOD, ""),
    (GOOD, on_q(item(REFUTED)), "worse"),
    (GOOD, on_q(drawn()), "worse"),
    (GOOD, report_on(item()), "worse"),
    (GOOD, on_q(item(bound=1e-12)), "worse"),
    (GOOD, on_q(item(bound=NOT_A_NUMBER)), "worse"),
    (GOOD, also(failure={"kind": "crash", "message": "boom"}), "worse"),
    (also(**STATE), GOOD, "better"),
    (also(claims=("lossless", "support")), GOOD, "worse"),
    (GOOD, also(subject=OTHER), "worse"),
    (SAMPLED, report_on(drawn(0.2)), "worse"),
    (SAMPLED, report_on(drawn(0.05)), "better"),
    (SAMPLED, report_on(item()), "known"),
    (report_on(item(), drawn()), PLAIN, "worse"),
    (report_on(item(NO_EVIDENCE)), SAMPLED, "better"),
    (report_on(item(REFUTED)), SAMPLED, "unknown"),
    (report_on(item(REFUTED)), report_on(item(problem="z")), "unknown known"),
    (report_on(item(REFUTED, total_variation=0.1)), report_on(item(REFUTED, total_variation=0.2)), "worse"),
    (served(SERVED), served({"alone": 0.2}), "worse"),
    (served(SERVED), served(SERVED, temperature=0.0), "worse"),
    (leaking("2^-53"), leaking("2^-20"), "worse"),
    (confirmed(mass_not_called=0.0), confirmed(mass_not_called=0.9), "worse"),
    (confirmed(missed=1e-12, confirmations=99), confirmed(missed=0.5, confirmations=2), "worse"),
    (about(), about(not_compared=["a"]), "worse"),
    (about(problems={"p": "1"}), about(problems={"p": "2"}), "worse"),
    (looped(2.0, 2.2), looped(2.0, 2.2, temperature=0.0), "worse"),
    (looped(2.0, 2.2), looped(1.0, 1.2), "worse"),
    (looped(2.0, 2.2), looped(2.1, 2.3), ""),
    (looped(2.0, 2.2), looped(3.0, 3.2), "better"),
    # a claim that was not claimed, of a problem that was refuted, and does not decide
    (WRONG, report_on(item(), short()), "better known"),
    (WRONG, report_on(item(), short(), **BOTH), "better worse"),
    (report_on(item(REFUTED), NOT_OPTIMAL, **BOTH), report_on(item(), item(claim="optimal"), **BOTH), "better known"),
    (report_on(item(), item(claim="optimal")), report_on(item(), item(claim="optimal"), short("q")), "known"),
    (report_on(item(), item(claim="optimal")), report_on(item(), short()), "worse"),
    # what is accepted above the optimum is bias; below it is a price
    (report_on(short(**ABOVE)), report_on(short()), "better"),
    (report_on(short()), report_on(short(**ABOVE)), "worse"),
    (report_on(short()), report_on(short(tokens_per_call_lost=0.3)), "worse"),
    # what an audit looks at only where nothing is refuted
    (WRONG, report_on(item(), **NOT_WIDE), "better known"),
    (WRONG, report_on(item(), findings={"inputs-written": "writes"}), "better worse"),
    (WRONG, report_on(item(NO_EVIDENCE), **NOT_WIDE), "unknown worse"),
    (report_on(item(REFUTED), replace(item(REFUTED), problem="q")), on_q(item(REFUTED), **NOT_WIDE), "better worse"),
    # equal as printed
    (PLAIN, report_on(item(bound=1.001e-13)), ""),
    (PLAIN, report_on(item(bound=1.01e-13)), "worse"),
    (looped(2.00001, 2.00002), looped(2.00000, 2.0), ""),
    (report_on(short()), report_on(short(tokens_per_call_lost=0.10001)), ""),
    # as many samples at the same rates
    (SAMPLED, report_on(drawn(0.14)), ""),
    (SAMPLED, report_on(drawn(0.14, false_alarm_rate=1e-9)), "worse"),
    (SAMPLED, report_on(drawn(None)), "worse"),
    (confirmed(missed=0.00121, confirmations=99), confirmed(missed=0.0013, confirmations=99), ""),
    (confirmed(missed=0.00121, confirmations=99), confirmed(missed=0.0013, confirmations=90), "worse"),
    (called("p"), called("q"), ""),
    (called("p"), called(), "worse"),
    (called("p", limit=0.18), called("p", calls=1000, limit=0.19), "worse"),
    # a report that was quick has not looked for relations
    (about(quick=True), report_on(item(), findings={"scaling": "s"}), "better known"),
    (about(quick=True), report_on(item(), **STATE), "better worse"),
    (about(), report_on(item(), findings={"scaling": "s"}), "worse"),
    # problems of another seed
    (own(0), own(5, 2e-13), ""),
    (own(0), own(0, 2e-13), "worse"),
    (own(0), own(5, None), "worse"),
]
"""Two reports, and the kinds of their changes."""


@pytest.mark.parametrize(("old", "new", "kinds"), CHANGES)
def test_every_change_is_said_by_its_kind(old, new, kinds):
    made = compared(old, new)
    assert {change.kind for change in made} >= set(kinds.split()) and bool(made) == bool(kinds), made
    assert got_worse(made) == ("worse" in kinds or "unknown" in kinds), made


def test_a_change_names_what_it_is_of_and_both_sides():
    less = on_q(item(NO_EVIDENCE, detail={"reason": "too many ways"}))
    assert [tuple(change) for change in compared(GOOD, less)] == [
        ("worse", "lossless, float64", "q", "lattice", "open")
    ]
    states = [states_of(one.as_json(), "r") for one in (GOOD, less, also(digest="sha256:2", seed=3))]
    said = {name: (before, after) for name, before, after in versions_changed(*states[:2])}
    assert said["verdict"] == (GOOD.reading, less.reading) and "1 none" in said["speaks of"][1]
    assert versions_changed(states[0], states[2]) == [("digest", "sha256:1", "sha256:2"), ("seed", "0", "3")]


def test_what_is_no_worse_either_way_did_not_change():
    """Every pair of states of an item, absent ones too."""
    known = (REFUTED, ERROR, *Strength)
    every = [None, *(State(one, {"m": Limit(limit)}) for one in known for limit in (None, 0.1, 0.2))]

    def one(state):
        return States("report", {} if state is None else {("c", "p"): state})

    for a, b in itertools.product(every, every):
        there, back = changes(one(a), one(b)), changes(one(b), one(a))
        assert (not got_worse(there) and not got_worse(back)) == (there == back == [])
        if a is not None and (b is None or b.rank < a.rank):
            assert got_worse(there)


CHECK = {"subject": "f", "version": "v", "check": "p", "current": True, "state": "quiet", "detects": None}
QUIET = {"checks": [CHECK], "state": "quiet", "failures": []}
ROW = {"claim": "lemma-1", "method": "coq", "what": "w", "size": "s", "verdict": "holds"}
LAW = {"verifier": "block", "lossless": True, "total_variation": "0", "expected_tokens": "20/9", "gamma": 2}
LOSSY = LAW | {"lossless": False, "total_variation": "1/10"}
VECTORS = {"judged": [{"id": "v1", "status": "passed"}], "vectors": "d", "program": "p", "dtype": "float32"}
DOCUMENT = golden("compliance")


def asking(**asked):
    """The document, in whose first requirement other things are asked."""
    first, *others = DOCUMENT["requirements"]
    return DOCUMENT | {"requirements": [first | {"verdict": "open", "parts": ["right", "wrong"]} | asked, *others]}


def with_proofs(recorded):
    """The document, whose proofs were run or are on record."""
    rules = next(part for part in DOCUMENT["parts"] if "proofs" in part) | {"recorded": recorded}
    return DOCUMENT | {"parts": [rules if "proofs" in part else part for part in DOCUMENT["parts"]]}


OTHERS = [
    (QUIET, QUIET | {"checks": [CHECK | {"state": "alarm"}], "state": "alarm"}, "worse"),
    (QUIET, QUIET | {"failures": [{"subject": "g", "message": "m"}]}, "worse"),
    ([ROW], [ROW | {"verdict": "no-evidence"}], "worse"),
    ([ROW], [ROW | {"what": "other"}], "known worse"),
    (LAW, LAW | {"lossless": False}, "worse"),
    (LAW, LAW | {"expected_tokens": "19/9"}, "worse"),
    (LOSSY, LOSSY | {"total_variation": "0.11"}, "worse"),
    (VECTORS, VECTORS | {"dtype": "bfloat16"}, "worse"),
    (VECTORS, VECTORS | {"judged": [{"id": "v1", "status": "left out"}]}, "worse"),
    (asking(), asking(verdict="met"), "known"),
    (asking(), asking(verdict="met", scope={"dtype": "float64"}), "known worse"),
    (asking(), asking(parts=["right"]), "worse"),
    (asking(detection_limit=0.1), asking(detection_limit=0.2), "worse"),
    (asking(detection_limit=0.1), asking(detection_limit=0.05), "better"),
    (with_proofs(False), with_proofs(True), "worse"),
]


@pytest.mark.parametrize(("old", "new", "kinds"), OTHERS)
def test_histories_proofs_vectors_laws_and_documents_are_compared(old, new, kinds):
    before, after = states_of(old, "a"), states_of(new, "b")
    assert {change.kind for change in changes(before, after)} == set(kinds.split())
    assert changes(before, states_of(old, "b")) == []


def test_another_plan_and_other_fields_of_a_part_are_said():
    right, *others = DOCUMENT["parts"]
    quick = [right | {"options": right["options"] | {"quick": True}}, *others]
    new = DOCUMENT | {"plan": DOCUMENT["plan"] | {"sha256": "2"}, "parts": quick}
    assert set(versions_changed(states_of(DOCUMENT, "d"), states_of(new, "d"))) == {
        ("right: plan, quick", "none", "true"),
        ("plan", DOCUMENT["plan"]["sha256"], "2"),
    }


@pytest.mark.parametrize(
    "data",
    [
        {}, [], 3, None, [{"claim": 1}], {"checks": 3, "state": 1, "failures": []},
        {"schema_version": "9", "subject": 1, "evidence": []},
    ],
)  # fmt: skip
def test_what_is_no_report_is_refused_in_one_line(data):
    with pytest.raises(InputError, match=r"r\.json: not a (whole )?report of draftproof"):
        states_of(data, "r.json")


def test_reports_of_two_kinds_and_a_file_that_is_not_there_are_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        load(str(tmp_path / "absent.json"))
    with pytest.raises(InputError, match="cannot be compared"):
        changes(states_of(GOOD.as_json(), "a"), States("law"))
