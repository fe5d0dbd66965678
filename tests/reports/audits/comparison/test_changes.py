"""Reports compared: nothing that got worse, or is not known any more, goes unsaid."""

import itertools
import json
from dataclasses import replace
from importlib.resources import files

import pytest

from draftproof.models.errors import InputError
from draftproof.reports.audits.comparison.changes import changes, got_worse, versions_changed
from draftproof.reports.audits.comparison.states import State, States, load, states_of
from draftproof.reports.audits.report import EndToEnd
from draftproof.tests.reports.audits.comparison.comparison_parts import (
    GOOD,
    GOOD_SUBJECT,
    WITNESS,
    about,
    compared,
    item,
    report,
)
from draftproof.tests.reports.typed_details import LOOP
from draftproof.verifiers.evidence import (
    ERROR,
    HOLDS,
    NO_EVIDENCE,
    NOT_CLAIMED,
    REFUTED,
    Strength,
)

pytestmark = pytest.mark.exact


SAMPLED = item(NO_EVIDENCE, "chi-square", bound=0.1)


def served(limits, temperature=1.0):
    """A server's report: kind of request -> detection limit."""
    details = [{"sampling": kind, "settings": {"temperature": temperature}} for kind in limits]
    limited = zip(limits.values(), details, strict=True)
    return report(*(item(NO_EVIDENCE, "chi-square", bound=limit, detail=detail) for limit, detail in limited))


SERVED = served({"alone": 0.2, "together": 0.2, "pooled: alone, together": 0.1})


def slower(lost):
    return report(
        item(REFUTED, claim="optimal", total_variation=None, detail={"tokens_per_call_lost": lost, "dtype": "float64"})
    )


def leaking(chance):
    return report(item(REFUTED, claim="support", bound=None, witness=replace(WITNESS, expected="0", observed=chance)))


def confirmed(**detail):
    return report(item(detail=detail))


def looped(temperature=0.7, interval=(2.0, 2.2)):
    figures = {"block_efficiency": 2.1, "block_efficiency_interval": interval}
    return report(item(), end_to_end=EndToEnd(LOOP | {"temperature": temperature}, figures))


OTHER = {"name": "g", "source": "g.py", "digest": "sha256:1", "dtypes": ["float64"], "convention": {}, "calls": 3}


@pytest.mark.parametrize(
    ("old", "new", "kind", "words"),
    [
        (GOOD, report(item(), item(REFUTED, problem="q")), "worse", ("lattice", "refuted")),
        (GOOD, report(item(), replace(SAMPLED, problem="q")), "worse", ("lattice", "sampled")),
        (GOOD, report(item(), item(NO_EVIDENCE, problem="q")), "worse", ("lattice", "open")),
        (GOOD, report(item()), "worse", ("lattice", "examined no more")),
        (GOOD, report(item(), item(problem="q", bound=1e-12)), "worse", ("limit 1e-13", "limit 1e-12")),
        (GOOD, report(item(), item(problem="q", bound=None)), "worse", ("limit 1e-13", "no interception: limit")),
        (report(SAMPLED), report(replace(SAMPLED, bound=0.2)), "worse", ("limit 0.1", "limit 0.2")),
        (report(SAMPLED), report(replace(SAMPLED, bound=0.05)), "better", ("limit 0.1", "limit 0.05")),
        (report(SAMPLED), report(item()), "known", ("sampled", "lattice")),
        (report(item(NO_EVIDENCE)), report(SAMPLED), "better", ("open", "sampled")),
        (
            GOOD,
            report(item(), item(REFUTED, problem="q", witness=replace(WITNESS, smallest=True))),
            "worse",
            ("lattice", "refuted"),
        ),
        (report(item(REFUTED)), report(item()), "better", ("refuted", "lattice")),
        (report(item(REFUTED)), report(SAMPLED), "unknown", ("refuted", "sampled")),
        (report(item(REFUTED)), report(item(problem="z")), "unknown", ("refuted", "examined no more")),
        (
            report(item(REFUTED, total_variation=0.1)),
            report(item(REFUTED, total_variation=0.2)),
            "worse",
            ("TV 0.1", "TV 0.2"),
        ),
        (GOOD, report(*GOOD.evidence, failure={"kind": "crash", "message": "boom"}), "worse", ("nothing", "boom")),
        (GOOD, report(*GOOD.evidence, findings={"state": "counts"}), "worse", ("nothing", "counts")),
        (report(*GOOD.evidence, findings={"state": "counts"}), GOOD, "better", ("counts", "nothing")),
        (report(*GOOD.evidence, claims=("lossless", "support")), GOOD, "worse", ("support", "examined no more")),
        (report(item(), SAMPLED), report(item()), "worse", ("chi-square: stated", "not any more")),
        (GOOD, report(*GOOD.evidence, subject=OTHER), "worse", ("f (f.py)", "g (g.py)")),
        (SERVED, served({"alone": 0.2}), "worse", ("pooled: alone, together", "examined no more")),
        (
            SERVED,
            served({"alone": 0.9, "together": 0.2, "pooled: alone, together": 0.1}),
            "worse",
            ("alone: limit 0.2", "limit 0.9"),
        ),
        (SERVED, served({"alone": 0.2, "together": 0.2, "pooled: alone, together": 0.1}, 0.0), "worse", ("1.0", "0.0")),
        (
            report(replace(SAMPLED, bound=0.5), SAMPLED),
            report(replace(SAMPLED, bound=0.9), SAMPLED),
            "worse",
            ("limit 0.5", "limit 0.9"),
        ),
        (report(SAMPLED), report(replace(SAMPLED, bound=float("inf"))), "worse", ("limit 0.1", "no chi-square: limit")),
        (
            GOOD,
            report(item(), item(problem="q", bound=float("nan"))),
            "worse",
            ("limit 1e-13", "no interception: limit"),
        ),
        (slower(0.1), slower(0.3), "worse", ("lost tokens a call 0.1", "lost tokens a call 0.3")),
        (leaking("2^-53"), leaking("2^-20"), "worse", ("1.11e-16", "9.54e-07")),
        (confirmed(mass_not_called=0.0), confirmed(mass_not_called=0.9), "worse", ("limit 0", "limit 0.9")),
        (
            confirmed(missed=1e-12, confirmations=99),
            confirmed(missed=0.5, confirmations=2),
            "worse",
            ("limit 1e-12", "limit 0.5"),
        ),
        (confirmed(real_calls={"calls": 2000, "limit": 0.05}), confirmed(), "worse", ("1", "none")),
        (about(), about(not_compared=["a"]), "worse", ("nothing", "a")),
        (about(problems={"p": "1"}), about(problems={"p": "2"}), "worse", ("1", "2")),
        (looped(), looped(temperature=0.0), "worse", ("0.7", "0.0")),
        (looped(), looped(interval=(1.0, 1.2)), "worse", ("2 to 2.2", "1 to 1.2")),
        (looped(), looped(interval=(2.1, 2.3)), None, ()),
        (looped(), looped(interval=None), "worse", ("2 to 2.2", "none")),
        (looped(), looped(interval=(3.0, 3.2)), "better", ("2 to 2.2", "3 to 3.2")),
    ],
)
def test_every_change_is_said_by_its_kind(old, new, kind, words):
    made = compared(old, new)
    if kind is None:
        assert made == []
        return
    assert any(c.kind == kind and words[0] in c.before and words[1] in c.after for c in made), made
    assert got_worse(made) == (kind in ("worse", "unknown"))


def short(**fields):
    return item(REFUTED, claim="optimal", detail={"dtype": "float64", "tokens_per_call_lost": 0.1, **fields})


def sampled(bound=0.1, **facts):
    return report(item(NO_EVIDENCE, "chi-square", bound=bound, detail=facts))


def called(*problems):
    """Two laws, of which some were compared with real calls."""
    with_calls = {"real_calls": {"calls": 2000, "limit": 0.1}}
    return report(*(item(problem=p, detail=with_calls if p in problems else {}) for p in "pq"))


def own(seed, bound=1e-13, verdict=HOLDS):
    names = f"own-V2-gamma1-seed{seed}", f"own-wide-V{10_000 + seed}-gamma1-seed{seed}"
    sizes = {"vocabulary": 2}, {"vocabulary": 10_000 + seed}
    made = (item(verdict, problem=p, bound=bound, detail=size) for p, size in zip(names, sizes))
    return report(*made, subject=GOOD_SUBJECT | {"dtypes": ["float64"]})


BOTH = {"claims": ("lossless", "optimal")}


UNCLAIMED = item(NOT_CLAIMED, claim="optimal")


ABOVE = "more than any valid verifier accepts"


WRONG, PLAIN = report(item(REFUTED), UNCLAIMED), report(item())


@pytest.mark.parametrize(
    ("old", "new", "counts", "planted"),
    [
        # a claim that was not claimed, of a problem that was refuted, and does not decide
        (WRONG, report(item(), short()), {"better", "known"}, report(item(), short(), **BOTH)),
        (report(item(REFUTED), UNCLAIMED, **BOTH), report(item(), item(claim="optimal"), **BOTH),
         {"better", "known"}, report(item(), short(), **BOTH)),
        (PLAIN, report(item(), short()), {"known"}, report(item(), item(REFUTED, problem="q"))),
        (report(item(), item(claim="optimal")), report(item(), item(claim="optimal"), replace(short(), problem="q")),
         {"known"}, report(item(), short())),
        # what is accepted above the optimum is bias; below it is a price
        (report(short(above=ABOVE, tokens_per_call_lost=0.0)), report(short()), {"better"}, report(item(ERROR))),
        (report(short()), report(short()), set(), report(short(above=ABOVE, tokens_per_call_lost=0.0))),
        # what an audit looks at only where nothing is refuted
        (WRONG, report(item(), findings={"not-wide": "driven"}), {"better", "known"},
         report(item(), findings={"inputs-written": "writes"})),
        (WRONG, PLAIN, {"better"}, report(item(), failure={"kind": "crash", "message": "boom"})),
        (PLAIN, PLAIN, set(), report(item(), findings={"not-wide": "driven"})),
        (report(item(REFUTED), item(REFUTED, problem="q")), report(item(), item(problem="q")), {"better"},
         report(item(), item(REFUTED, problem="q"), findings={"not-wide": "driven"})),
        (WRONG, PLAIN, {"better"}, report(item(NO_EVIDENCE), findings={"not-wide": "driven"})),
        # equal as printed
        (PLAIN, report(item(bound=1.001e-13)), set(), report(item(bound=1.01e-13))),
        (looped(interval=(2.00001, 2.00002)), looped(interval=(2.00000, 2.0)), set(), looped(interval=(1.9, 1.9))),
        (slower(0.1), slower(0.10001), set(), slower(0.101)),
        # as many samples at the same rates
        (sampled(), sampled(0.14), set(), sampled(0.16)),
        (sampled(), sampled(0.14), set(), sampled(0.14, samples=900)),
        (sampled(), sampled(0.14), set(), sampled(0.14, false_alarm_rate=1e-9)),
        (sampled(), sampled(0.09), set(), sampled(None)),
        (confirmed(missed=0.00121, confirmations=99), confirmed(missed=0.0013, confirmations=99), set(),
         confirmed(missed=0.0013, confirmations=90)),
        (confirmed(real_calls={"calls": 2000, "limit": 0.18}), confirmed(real_calls={"calls": 2000, "limit": 0.19}),
         set(), confirmed(real_calls={"calls": 1000, "limit": 0.19})),
        (called("p"), called("q"), set(), called()),
        # a report that was quick has not looked for relations
        (about(quick=True), report(item(), findings={"scaling": "s"}), {"better", "known"},
         report(item(), findings={"state": "s"})),
        (about(), report(item()), set(), report(item(), findings={"scaling": "s"})),
        # problems of another seed
        (own(0), own(5, 2e-13), set(), own(5, verdict=REFUTED)),
        (own(0), own(5, 2e-13), set(), own(0, 2e-13)),
        (own(0), own(5), set(), own(5, None)),
        (own(0), own(5), set(), PLAIN),
    ],
)  # fmt: skip
def test_what_is_no_worse_is_not_counted_and_what_is_is(old, new, counts, planted):
    assert {change.kind for change in compared(old, new)} == counts
    assert got_worse(compared(old, planted))


def test_another_scope_is_said_and_a_problem_that_is_not_decided_any_more_is_worse():
    less = report(item(), item(NO_EVIDENCE, problem="q", detail={"reason": "too many ways"}))
    states = [states_of(one.as_json(), "r") for one in (GOOD, less)]
    said = {name: (before, after) for name, before, after in versions_changed(*states)}
    assert said["verdict"] == (GOOD.reading, less.reading) and GOOD.reading != less.reading
    assert "1 none" in said["speaks of"][1]
    assert [(c.kind, c.problem, c.before, c.after) for c in compared(GOOD, less)] == [("worse", "q", "lattice", "open")]
    more = report(*GOOD.evidence, item(problem="z"))
    assert not got_worse(compared(GOOD, more)) and versions_changed(
        *(states_of(r.as_json(), "r") for r in (GOOD, more))
    )


def test_a_report_is_as_good_as_itself_and_its_versions_are_said():
    assert compared(GOOD, GOOD) == []
    new = report(*GOOD.evidence, digest="sha256:2", seed=3)
    states = [states_of(one.as_json(), "r") for one in (GOOD, new)]
    assert compared(GOOD, new) == []
    assert versions_changed(*states) == [("digest", "sha256:1", "sha256:2"), ("seed", "0", "3")]


def test_what_is_no_worse_either_way_did_not_change():
    """Every pair of states of an item, absent ones too."""
    known = (REFUTED, ERROR, *Strength)
    every = [None, *(State(one, {"m": limit}) for one in known for limit in (None, 0.1, 0.2))]

    def one(state):
        return States("report", {} if state is None else {("c", "p"): state})

    for a, b in itertools.product(every, every):
        there, back = changes(one(a), one(b)), changes(one(b), one(a))
        assert (not got_worse(there) and not got_worse(back)) == (there == back == [])
        if a is not None and (b is None or b.rank < a.rank):
            assert got_worse(there)


@pytest.mark.parametrize("name", ["audit", "e2e", "campaign"])
def test_older_versions_are_compared_as_they_are_read(name):
    data = json.loads((files("draftproof.tests.reports.audits") / "reports_1_0" / f"{name}.json").read_text())
    assert changes(states_of(data, "old"), states_of(data, "old")) == []
    assert states_of(data, "old").items == states_of(data | {}, "again").items != {}


def test_histories_proofs_vectors_and_laws_are_compared():
    check = {"subject": "f", "version": "v", "check": "p", "current": True, "state": "quiet", "detects": None}
    row = {"claim": "lemma-1", "method": "coq", "what": "w", "size": "s", "verdict": "holds"}
    law = {"verifier": "block", "lossless": True, "total_variation": "0", "expected_tokens": "20/9", "gamma": 2}
    lossy = law | {"lossless": False, "total_variation": "1/10"}
    vectors = {"judged": [{"id": "v1", "status": "passed"}], "vectors": "d", "program": "p", "dtype": "float32"}
    for old, new in (
        (
            {"checks": [check], "state": "quiet", "failures": []},
            {"checks": [check | {"state": "alarm"}], "state": "alarm", "failures": []},
        ),
        (
            {"checks": [check], "state": "quiet", "failures": []},
            {"checks": [check], "state": "quiet", "failures": [{"subject": "g", "message": "m"}]},
        ),
        ([row], [row | {"verdict": "no-evidence"}]),
        ([row], [row | {"what": "other"}]),
        (law, law | {"lossless": False}),
        (lossy, lossy | {"total_variation": "0.11"}),
        (law, law | {"expected_tokens": "19/9"}),
        (law, law | {"gamma": 1}),
        (vectors, vectors | {"dtype": "bfloat16"}),
        (vectors, vectors | {"vectors": "others"}),
        (vectors, vectors | {"judged": [{"id": "v1", "status": "left out"}]}),
    ):
        assert got_worse(changes(states_of(old, "a"), states_of(new, "b")))
        assert not changes(states_of(old, "a"), states_of(old, "b"))


REQUIRED = {
    "id": "R1", "statement": "s", "claim": "lossless", "parts": ["a", "b"], "scope": {"dtype": "float64"},
    "detection_limit": 0.1, "verdict": "open", "evidence": [],
}  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "kinds"),
    [
        ({}, set()),
        ({"verdict": "met"}, {"known"}),
        ({"verdict": "met", "claim": "support"}, {"worse", "known"}),
        ({"verdict": "met", "scope": {}}, {"worse", "known"}),
        ({"parts": ["a"]}, {"worse"}),
        ({"detection_limit": 0.2}, {"worse"}),
        ({"detection_limit": None}, {"worse"}),
        ({"detection_limit": 0.05}, {"better"}),
    ],
)
def test_a_requirement_that_asks_less_is_worse(asked, kinds):
    documents = [
        {"format": "f", "requirements": [r], "parts": [], "draftproof": {"code": "c"}}
        for r in (REQUIRED, REQUIRED | asked)
    ]
    assert {change.kind for change in changes(*(states_of(d, "d") for d in documents))} == kinds


def test_another_plan_and_other_fields_of_a_part_are_said():
    part = {"id": "a", "kind": "audit", "state": "failed", "why": "w", "files": {}}
    made = [
        {"format": "f", "requirements": [], "draftproof": {"code": "c"}, "plan": {"sha256": plan},
         "parts": [part | {"options": {"subject": "f", "quick": quick}}]}
        for plan, quick in (("1", False), ("2", True))
    ]  # fmt: skip
    assert versions_changed(*(states_of(d, "d") for d in made)) == [
        ("a: plan, quick", "false", "true"),
        ("plan", "1", "2"),
    ]


@pytest.mark.parametrize(
    "data",
    [
        {},
        [],
        3,
        None,
        {"schema_version": "9", "subject": 1, "evidence": []},
        [{"claim": 1}],
        {"checks": 3, "state": 1, "failures": []},
    ],
)
def test_what_is_no_report_is_refused_in_one_line(data, tmp_path):
    with pytest.raises(InputError, match=r"r\.json: not a (whole )?report of draftproof"):
        states_of(data, "r.json")
    with pytest.raises(InputError, match="cannot be read"):
        load(str(tmp_path / "absent.json"))
    with pytest.raises(InputError, match="cannot be compared"):
        changes(states_of(GOOD.as_json(), "a"), States("law"))


def test_proofs_that_were_run_and_are_now_on_record_alone_are_worse():
    row = {"claim": "lemma-1", "method": "coq", "what": "w", "size": "s", "verdict": "holds"}
    documents = [
        {"format": "f", "requirements": [], "draftproof": {"code": "c"},
         "parts": [{"id": "r", "state": "done", "proofs": [row], "recorded": recorded, "files": {}}]}
        for recorded in (False, True)
    ]  # fmt: skip
    ran, on_record = (states_of(document, "d") for document in documents)
    assert got_worse(changes(ran, on_record)) and not got_worse(changes(on_record, ran))
