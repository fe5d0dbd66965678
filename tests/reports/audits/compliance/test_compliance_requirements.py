"""Requirements: a verdict follows from evidence by one function, and evidence counts only for what it speaks of."""

import itertools

import pytest
from msgspec.structs import replace

from draftproof.proofs.statements import standing
from draftproof.reports.audits.compliance.evidence_rows import EvidenceRow
from draftproof.reports.audits.compliance.plan import Collected, Part, Requirement
from draftproof.reports.audits.compliance.requirements import (
    FAILED,
    MET,
    OPEN,
    SAMPLED,
    judged,
    overall,
    verdict_of,
)
from draftproof.tests.reports.audits.compliance.compliance_parts import got
from draftproof.tests.reports.report_parts import item
from draftproof.tests.reports.typed_details import LOOP, SERVER
from draftproof.verifiers.evidence import (
    ERROR,
    HOLDS,
    NO_EVIDENCE,
    NOT_CLAIMED,
    REFUTED,
    Strength,
    Witness,
)

pytestmark = pytest.mark.exact


EXACT = EvidenceRow("a", "float64", Strength("lattice"), HOLDS, "3 of 3", 1e-13)
DRAWN = EvidenceRow("b", "float64", Strength("sampled"), NO_EVIDENCE, "3 of 3", 0.02)
SEEN = EvidenceRow("c", "float64", Strength("observed"), HOLDS, "1 of 1")
SMALLEST = Witness(sequence="0", expected="1", observed="0", smallest=True)
WRONG_TOKEN = Witness(sequence="0", expected="1", observed="0")
WRONG = replace(EXACT, verdict=REFUTED)
BROKEN = EvidenceRow("d", "", Strength("none"), ERROR, "", why="it crashed")


def verdict(evidence, **fields):
    return judged(Requirement("R1", "it is lossless", "lossless", ("a",), **fields), [got(*evidence)]).verdict


# ---------------------------------------------------------------- the one function


@pytest.mark.parametrize(
    ("rows", "limit", "expected"),
    [
        ([], None, OPEN),
        ([EXACT], None, MET),
        ([EXACT], 0.001, MET),
        ([DRAWN], None, SAMPLED),
        ([DRAWN], 0.02, SAMPLED),
        ([DRAWN], 0.01, OPEN),
        ([replace(DRAWN, limit=None)], None, OPEN),
        ([replace(DRAWN, unit="of the tokens")], 0.5, OPEN),
        ([SEEN], None, SAMPLED),
        ([SEEN], 0.5, OPEN),
        ([EXACT, DRAWN], None, SAMPLED),
        ([BROKEN, WRONG], None, FAILED),
        ([EXACT, replace(WRONG, counts=False)], None, MET),
        ([EXACT, replace(WRONG, counts=False, unplaced=True)], None, OPEN),
        ([replace(EXACT, limit=0.9)], 0.001, OPEN),
        ([replace(EXACT, limit=float("nan"))], 0.001, OPEN),
        ([replace(EXACT, limit=None)], 0.001, OPEN),
        ([replace(EXACT, limit=None, unit="of probability")], 0.001, MET),
        ([replace(EXACT, limit=None, strength=Strength("proof"))], 0.001, MET),
    ],
)
def test_the_verdict_is_that_of_the_worst_row_that_counts(rows, limit, expected):
    assert verdict_of(rows, limit) == expected


def test_the_whole_is_as_good_as_its_worst_requirement():
    every = [], [MET], [MET, SAMPLED], [SAMPLED, OPEN], [OPEN, FAILED]
    assert [overall(verdicts) for verdicts in every] == [OPEN, MET, SAMPLED, OPEN, FAILED]


def test_only_exact_rows_that_count_and_hold_are_met():
    """Every pair of rows: met never comes of a row that does not decide, does not hold, or does not count alone."""
    every = [
        EvidenceRow("a", "float64", strength, said, "1 of 1", limit, counts=counts)
        for strength, said, limit, counts in itertools.product(
            Strength, (HOLDS, NO_EVIDENCE, ERROR, NOT_CLAIMED, REFUTED), (None, 0.1), (True, False)
        )
    ]
    good = {row for row in every if row.verdict == HOLDS and row.strength not in ("observed", "sampled", "none")}
    for pair in itertools.combinations_with_replacement(every, 2):
        counting = [row for row in pair if row.counts]
        assert (verdict_of(pair) == MET) == (bool(counting) and set(counting) <= good)
        assert verdict_of(pair, parts=["a", "another"]) != MET
        apart = (pair[0], replace(pair[1], part="b"))
        assert (verdict_of(apart) == MET) == (len(counting) == 2 and set(counting) <= good)


# ---------------------------------------------------------------- what evidence speaks of


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        ([item()], MET),
        ([item(), item(REFUTED, problem="q")], FAILED),
        ([item(), item(NO_EVIDENCE, problem="q")], OPEN),
        ([item(NO_EVIDENCE), item(NO_EVIDENCE, "chi-square", bound=0.1)], SAMPLED),
        ([item(NO_EVIDENCE), item(NO_EVIDENCE, "chi-square", bound=None)], OPEN),
        ([item(NO_EVIDENCE), item(NO_EVIDENCE, "chi-square", bound=0.1, problem="q")], OPEN),
        ([item(NO_EVIDENCE, "betting", bound=1.0)], OPEN),
        ([item(NO_EVIDENCE, "betting", bound=0.1, detail={"too_wide": True})], OPEN),
        ([item(method="reading")], SAMPLED),
        ([item(), item(REFUTED, problem="q", witness=SMALLEST)], FAILED),
        ([item(detail={"exactness": "exact"}), item(REFUTED, detail={"dtype": "float32"}, witness=SMALLEST)], FAILED),
        ([item(method="enumeration")], SAMPLED),
        ([item(), item(bound=float("nan"), problem="q")], SAMPLED),
        ([item(NO_EVIDENCE, "chi-square", bound=float("nan"))], OPEN),
        ([item(method="enumeration", detail={"chance": "enumerated"})], MET),
    ],
)
def test_a_report_gives_the_verdict_of_its_own_evidence(evidence, expected):
    assert verdict(evidence) == expected


def of_server(verdict=NO_EVIDENCE, findings=None, **settings):
    """A part with samples of a server at temperature 1."""
    detail = {"dtype": "float32", "settings": {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0} | settings}
    samples = item(verdict, "chi-square", bound=0.05, detail=detail)
    subject = {"name": "http://x", "source": "server: s", "digest": "unknown", "dtypes": ["float32"]}
    return got(samples, subject=subject, server=SERVER, findings=findings or {})


def of_engine(name="transformers", sampling="speculative", **settings):
    """A part with samples of an engine's texts."""
    detail = {"dtype": "float32", "sampling": sampling, "settings": settings}
    subject = {"name": name, "source": "s", "digest": "sha256:1", "dtypes": ["float32"]}
    return got(item(NO_EVIDENCE, "chi-square", bound=0.1, detail=detail), subject=subject)


def of_program(**convention):
    """A part on a program that is driven."""
    convention = {"random": "driven"} | convention
    subject = {"name": "f", "source": "s", "digest": "sha256:1", "dtypes": ["float64"], "convention": convention}
    return got(item(), subject=subject)


def of_loop(**setting):
    """A part on a run of a decoding loop."""
    return got(item(), end_to_end=LOOP | setting)


OTHER_SCOPES = [
    ({"dtype": "bfloat16"}, "its dtype is float64; the plan asks for bfloat16"),
    ({"temperature": 0.7}, "it does not record its temperature; the plan asks for 0.7"),
    ({"digest": "sha256:2"}, "its digest is sha256:1; the plan asks for sha256:2"),
    ({"subject": "g"}, "its subject is f; the plan asks for g"),
    ({"device": "cuda"}, "its device is cpu; the plan asks for cuda"),
    ({"versions": {"transformers": "5.24.0"}}, "its transformers is 5.23.0; the plan asks for 5.24.0"),
    ({"versions": {"vllm": "1"}}, "it does not record its vllm; the plan asks for 1"),
]
OWN_SCOPE = {"dtype": "float64", "digest": "sha256:1", "subject": "f", "device": "cpu",
             "versions": {"transformers": "5.23.0"}}  # fmt: skip
OF_SERVERS = [
    ({}, {"temperature": 1.0}, None),
    ({}, {"dtype": "float32"}, "it does not record its dtype; the plan asks for float32"),
    ({}, {"versions": {"transformers": "5.23.0"}}, "it does not record its transformers; the plan asks for 5.23.0"),
    ({}, {"digest": "unknown"}, "it does not record its digest; the plan asks for unknown"),
    ({}, {"device": "cpu"}, "it does not record its device; the plan asks for cpu"),
    ({"top_k": 1}, {"temperature": 1.0}, "its top_k is 1, and the plan asks for none"),
    ({"top_p": 0.5}, {}, "its top_p is 0.5, and the plan asks for none"),
    ({"min_p": 0.5}, {}, "its min_p is 0.5, and the plan asks for none"),
    ({"top_k": 1}, {"top_k": 1}, None),
    ({"top_k": 1}, {"top_k": 2}, "its top_k is 1; the plan asks for 2"),
    ({"temperature": None}, {"temperature": 1.0}, "it does not record its temperature; the plan asks for 1"),
]
OTHER_MODEL = {"another-model": "the answers name other-7b"}
NO_DTYPE = "it does not record its dtype; the plan asks for float32"


@pytest.mark.parametrize(
    ("part", "scope", "expected", "why"),
    [
        *((got(item()), scope, OPEN, why) for scope, why in OTHER_SCOPES),
        *((got(item(REFUTED, witness=SMALLEST)), scope, OPEN, why) for scope, why in OTHER_SCOPES),
        (got(item()), OWN_SCOPE, MET, None),
        (of_loop(temperature=0.7, device="cuda"), {"temperature": 0.7, "device": "cuda"}, MET, None),
        (of_loop(temperature=0.7), {"temperature": 1.0}, OPEN, "its temperature is 0.7; the plan asks for 1"),
        # settings that restrict the law have to be asked for
        (of_loop(temperature=1.0, top_k=50, top_p=1.0), {"temperature": 1.0}, OPEN,
         "its top_k is 50, and the plan asks for none"),
        (of_loop(temperature=1.0, top_k=50, top_p=1.0), {"top_k": 50}, MET, None),
        *((of_server(**settings), scope, OPEN if why else SAMPLED, why) for settings, scope, why in OF_SERVERS),
        # samples of another model do not count, unless they refute
        (of_server(findings=OTHER_MODEL), {}, OPEN, "the answers name other-7b"),
        (of_server(REFUTED, findings=OTHER_MODEL), {}, FAILED, None),
        # an engine counts with a draft, and in a dtype that is known
        (of_engine(), {"dtype": "float32"}, SAMPLED, None),
        (of_engine(torch_dtype="bfloat16"), {"dtype": "float32"}, OPEN, NO_DTYPE),
        (of_engine("theirs.py:sample"), {"dtype": "float32"}, OPEN, NO_DTYPE),
        (of_engine("theirs.py:sample"), {}, SAMPLED, None),
        (of_engine(sampling="plain"), {}, OPEN, "it was examined without a draft: that is no speculation"),
        # a program may use any device
        (of_program(), {"device": "cpu"}, MET, None),
        (of_program(program="kernel 1"), {"device": "cpu"}, OPEN,
         "it does not record its device; the plan asks for cpu"),
    ],
)  # fmt: skip
def test_evidence_counts_only_for_what_it_speaks_of_and_says_why_it_does_not(part, scope, expected, why):
    made = judged(Requirement("R1", "it is lossless", "lossless", ("a",), scope), [part])
    assert (made.verdict, made.evidence[0].counts, made.evidence[0].why) == (expected, why is None, why)
    assert why is None or f"a does not count: {why}" in made.closing


REQUIRED = Requirement("R1", "it is lossless", "lossless", ("a",))
CHECK = {
    "subject": "f", "version": "sha256:1", "check": "p", "current": True, "witness": None,
    "detects": {"within": [{"nights": 1, "total_variation": 0.05}, {"nights": 7, "total_variation": 0.02}]},
}  # fmt: skip


def night(state, *failures, drawn=7):
    """A part that is a history with one check, of so many nights."""
    check = CHECK | {"state": state, "nights": [{"night": f"2026-11-{day:02}"} for day in range(1, drawn + 1)]}
    history = {"checks": [check], "state": state, "failures": [*failures], "scope": "1 problem"}
    return Collected.of(Part("n", "nightly", {"file": "n.json"}), history=history)


@pytest.mark.parametrize(("state", "expected"), [("quiet", SAMPLED), ("watch", SAMPLED), ("alarm", FAILED)])
def test_a_history_in_alarm_refutes_and_a_quiet_one_is_samples(state, expected):
    asked = replace(REQUIRED, parts=("n",))
    made = judged(asked, [night(state)])
    assert (made.verdict, made.evidence[0].limit) == (expected, 0.02)
    failed = judged(asked, [night(state, {"subject": "f", "message": "no import"})])
    assert failed.verdict == (FAILED if expected == FAILED else OPEN)


@pytest.mark.parametrize(
    ("drawn", "limit", "asked", "expected"),
    [(0, None, None, OPEN), (1, 0.05, None, SAMPLED), (1, 0.05, 0.03, OPEN), (6, 0.05, 0.03, OPEN),
     (7, 0.02, 0.03, SAMPLED), (30, 0.02, 0.01, OPEN)],
)  # fmt: skip
def test_the_limit_of_a_history_is_that_of_the_nights_drawn_and_of_none_to_come(drawn, limit, asked, expected):
    made = judged(replace(REQUIRED, parts=("n",), detection_limit=asked), [night("quiet", drawn=drawn)])
    assert (made.verdict, made.evidence[0].limit) == (expected, limit)
    assert limit is None or f"; within {'1 night' if limit == 0.05 else '7 nights'}; " in made.evidence[0].shown


def test_every_part_of_a_requirement_must_speak_of_what_is_asked():
    """An audit that holds beside a history in alarm that records no dtype, and a refuted report without a device."""
    alarm, other = night("alarm"), got(item(REFUTED, witness=SMALLEST))
    other.id = "srv"
    del other.report["subject"]["convention"]
    alone = replace(REQUIRED, scope={"dtype": "float64", "device": "cpu"})
    assert judged(alone, [got(item()), alarm, other]).verdict == MET
    for part in (alarm, other):
        made = judged(replace(alone, parts=("a", part.id)), [got(item()), part])
        assert (made.verdict, made.evidence[1].unplaced) == (OPEN, True)
        assert f"evidence of {part.id} on lossless with dtype float64, device cpu" in made.closing
    assert judged(replace(alone, parts=("a", "n"), scope={"device": "cpu"}), [got(item()), alarm]).verdict == FAILED
    assert judged(replace(alone, parts=("a", "gone")), [got(item())]).verdict == OPEN


def test_a_refutation_whose_numbers_are_not_recorded_leaves_the_requirement_open():
    unknown = item(REFUTED, problem="q", detail={"dtype": None, "exactness": "exact"})
    given = got(item(), unknown)
    given.report["subject"]["dtypes"] = ["float64", "float32"]
    required = Requirement("R1", "it is lossless", "lossless", ("a",), {"dtype": "float64"})
    assert judged(required, [given]).verdict == OPEN
    assert judged(replace(required, scope={}), [given]).verdict == FAILED
    unknown = unknown.with_detail(dtype="float32")
    assert judged(required, [got(item(), unknown)]).verdict == MET


def test_what_losslessness_rests_on_is_not_passed_over():
    """Right alone and in batches of one length, and in others not; a loop whose rows are of another text."""
    exact = item(detail={"exactness": "exact"})
    for claim, expected in (("batch", FAILED), ("rows", OPEN), ("noise", OPEN), ("optimal", MET)):
        wrong = item(REFUTED, claim=claim, problem="q")
        part = got(exact, wrong, claims=("lossless", claim))
        asked = Requirement("R1", "it is lossless", "lossless", ("a",), {"dtype": "float64"})
        assert judged(asked, [part]).verdict == (expected if claim != "optimal" else MET), claim
        assert judged(replace(asked, claim=claim), [part]).verdict == FAILED
        assert judged(replace(asked, scope={"dtype": "float32"}), [part]).verdict == OPEN
        undecided = got(exact, wrong, claims=("lossless",))
        assert judged(asked, [undecided]).verdict == MET, "as the audit was asked"


def test_a_part_that_failed_leaves_open_what_it_should_have_shown():
    for failed in (got(item()), Collected.of(Part("a", "server", {"url": "http://x"}))):
        failed.state, failed.why = "failed", "it crashed"
        made = judged(REQUIRED, [failed])
        assert made.verdict == OPEN and any("it crashed" in sentence for sentence in made.closing)
    assert judged(REQUIRED, []).verdict == OPEN


PROVED, EXAMINED = "met, by proof", "met on what was examined, not proved for all"


@pytest.mark.parametrize(
    ("size", "said", "scope", "reading"),
    [
        ("every V, gamma, models with zeros, real field", HOLDS, {}, PROVED),
        ("V 2, gamma 2", HOLDS, {}, EXAMINED),
        ("every V, gamma, models with zeros, real field; an assumption", HOLDS, {}, EXAMINED),
        ("every V", HOLDS, {"dtype": "bfloat16"}, "open: not shown"),
        ("every V", NO_EVIDENCE, {}, "open: not shown"),
        ("every V", ERROR, {}, "open: not shown"),
        ("every V", REFUTED, {}, "refuted by the part rules"),
    ],
)
def test_only_a_proof_of_every_size_is_read_as_one(size, said, scope, reading):
    row = {"claim": "lemma-8", "method": "coq", "what": "w", "size": size, "seconds": 1, "detail": None}
    given = Collected.of(Part("rules", "proofs"), proofs=[row | {"verdict": said}], recorded=True)
    made = judged(Requirement("T1", "Lemma 8", "lemma-8", ("rules",), scope), [given])
    assert made.reading == reading and "on record in this version, not run here" in made.evidence[0].shown


def test_of_what_is_on_record_only_whole_claims_are_read_as_proved():
    rows = standing()
    given = Collected.of(Part("rules", "proofs"), proofs=rows, recorded=True)
    claims = {row["claim"] for row in rows}
    proved = {c for c in claims if judged(Requirement("T", c, c, ("rules",)), [given]).reading == PROVED}
    assert {"lemma-2", "theorem-1", "theorem-2", "lemma-8", "theorem-3"} <= proved
    assert not proved & {
        "lemma-1",
        "several-drafts",
        "same-definitions",
        "theorem-2-iterations",
        "rounding",
        "wall-time",
    }


@pytest.mark.parametrize(
    ("claim", "evidence", "reading", "closing"),
    [
        ("lossless", [item(method="enumeration", bound=1e-13)], "sampled only: nothing was refuted", None),
        ("optimal", [item(claim="optimal", bound=0.5)], EXAMINED, None),
        # what would close it names no rows of other numbers beside rows that count
        ("lossless", [item(NO_EVIDENCE, "chi-square", bound=0.1), item(detail={"dtype": "float32"})],
         "sampled only: nothing was refuted; a total variation below 0.1 remains unseen",
         "a: an exact distribution in place of sampled, with a detection limit"),
        # without a token that is impossible nothing is shown of support
        ("support", [item(claim="support", detail={"zeros": False})], "open: not shown",
         "a does not count: no problem of it has a token that the target gives probability 0"),
        ("support", [item(claim="support", problem=f"{z}", detail={"zeros": z > 0}) for z in (0, 1)], EXAMINED, None),
        ("support", [item(REFUTED, claim="support", detail={"zeros": False}, witness=WRONG_TOKEN)],
         "refuted by the part a", None),
    ],
)  # fmt: skip
def test_the_reading_and_what_would_close_it_say_no_more_than_the_evidence(claim, evidence, reading, closing):
    made = judged(replace(REQUIRED, claim=claim, scope={"dtype": "float64"}), [got(*evidence)])
    assert made.reading == reading and (closing is None or closing in made.closing)
    assert claim == "lossless" or "holds: " not in made.evidence[0].shown, "that is the reading of another claim"


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        (item(NO_EVIDENCE, "chi-square", bound=0.1),
         "leaves 0.1 (total variation); the plan asks for 0.01: more samples are needed"),
        (item(bound=0.5), "leaves 0.5 (total variation); the plan asks for 0.01"),
    ],
)  # fmt: skip
def test_what_leaves_more_unseen_than_is_asked_says_how_much(evidence, said):
    assert f"a {said}" in judged(replace(REQUIRED, detection_limit=0.01), [got(evidence)]).closing
