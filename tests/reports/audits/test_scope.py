"""What a verdict speaks of stands beside it, and what was not examined is said, computed from what the run did."""

import io
import json
from html import unescape

import pytest
from rich.console import Console

from draftproof.models.problem import problem_from, size_of
from draftproof.reports.audits.api import audit
from draftproof.reports.audits.report import Report
from draftproof.reports.audits.scope import ranges
from draftproof.reports.audits.scope_table import table
from draftproof.reports.pages.page import page
from draftproof.reports.pages.summary import allowance
from draftproof.reports.pages.terminal import show
from draftproof.reports.testing.checks import run_check
from draftproof.tests.reports.golden import golden_report
from draftproof.tests.reports.report_schema import validate
from draftproof.verifiers.details import LawDetail, RealCalls, SamplesDetail, WideDetail
from draftproof.verifiers.evidence import HOLDS, NO_EVIDENCE, REFUTED, Evidence, Method, Strength, Witness

pytestmark = pytest.mark.exact


def law(problem, verdict=HOLDS, vocabulary=2, gamma=1, **detail):
    method, bound = detail.pop("method", Method.INTERCEPTION), detail.pop("bound", 1e-13)
    kind = WideDetail if "ids_called" in detail else LawDetail
    detail = {"dtype": "float64", "vocabulary": vocabulary, "gamma": gamma, "smallest_probability": 1e-6} | detail
    if method.sampled:
        facts = SamplesDetail(samples=100, p_value=0.5, false_alarm_rate=1e-6, miss_rate=1e-3, **detail)
    else:
        facts = kind(**{"exactness": Strength.EXACT, "paths": 10} | detail)
    witness = Witness(sequence="0", expected="1", observed="0") if verdict == REFUTED else None
    return Evidence(claim="lossless", method=method, verdict=verdict, problem=problem, bound=bound, detail=facts,
                    total_variation=0.0, witness=witness)  # fmt: skip


def report_of(*evidence, **subject):
    given = {"name": "f", "source": "f.py", "digest": "unknown", "dtypes": ["float64"], "convention": {}}
    report = Report(given | subject)
    report.add(evidence)
    return report


def shown(report):
    console = Console(record=True, width=200, file=io.StringIO())
    show(report, console, scope=True)
    return console.export_text()


def test_whole_numbers_are_told_as_ranges_and_none_is_claimed_between_them():
    assert ranges([2, 3, 4, 5, 8, 127, 128, 129, 262144]) == "2 to 5, 8, 127 to 129, 262144"
    assert ranges([7, 8]) == "7, 8"


def test_the_size_of_a_problem_is_that_of_all_its_rows():
    table = {"": ["1/3", "2/3"], "0": ["1/1000", "999/1000"], "1": ["1", "0"]}
    forms = [
        table,
        ["1/1000", "999/1000"],
        {"start": ["1/2", "1/2"], "after": {"0": ["1/1000", "999/1000"], "1": ["1", "0"]}},
    ]
    for target in forms:
        problem = problem_from({"vocabulary": 2, "gamma": 1, "target": target, "draft": ["1/2", "1/2"]})
        assert size_of(problem) == {"vocabulary": 2, "gamma": 1, "smallest_probability": 1e-3}


def sized(*sizes):
    """Laws on problems of these V and gamma."""
    return [law(f"{v} {gamma}", vocabulary=v, gamma=gamma) for v, gamma in sizes]


WIDE = {"ids_called": 9, "fewest_ids_of_a_row": 1, "mass_not_called": 0.25, "allowed_to_look_ups": 0.0,
        "look_ups_explained": 0.0, "ids_emitted": 50, "ids_drafted": 6}  # fmt: skip


def deciding(v, *decided, **detail):
    """A law on a wide problem that decides these positions of blocks of three tokens."""
    return law(f"{v} {decided} {detail}", vocabulary=v, gamma=3, decided=[[one] for one in decided], **WIDE, **detail)


A, HALF = law("a"), law("b", dtype="bfloat16", bound=0.023)
OF_128 = [deciding(128, 0, 2), deciding(128, 1)]
OF_FLOAT32 = [deciding(128, 2, dtype="float32"), deciding(128, 1, dtype="float32")]
OTHERS = [deciding(500, 1), deciding(3, 1)]
SAMPLED = law("b", NO_EVIDENCE, method=Method.CHI_SQUARE, bound=0.03)
UNKNOWN = law("d", NO_EVIDENCE, vocabulary=129), law("d", NO_EVIDENCE, 129, method=Method.CHI_SQUARE, bound=0.08)
APART = "combinations of V, gamma and numbers that are in no row"


@pytest.mark.parametrize(
    ("evidence", "subject", "said", "unsaid"),
    [
        ([A, law("b", vocabulary=128, gamma=8, exactness=Strength.LATTICE)], {}, [
            "\n2 problems, V = 2, 128, gamma = 1, 8, probabilities from 1e-06; in float64; one request a call; "
            "distributions: 1 exact, 1 exact on the lattice\n",
            "\nholds: not refuted on 2 problems (V to 128), exactly\n"], []),
        ([A, law("b", exactness=Strength.RESOLUTION, bound=2e-7)], {},
         ["\nholds: not refuted on 2 problems (V to 2), to a resolution of TV 2e-07\n"], [APART]),
        ([A, HALF], {}, ["(V to 2), exactly, up to rounding (TV 0.023 in bfloat16)\n"], []),
        ([law("a", dtype="exact", method=Method.ENUMERATION)], {},
         ["\nholds: not refuted on 1 problem (V to 2), exactly, over rationals\n"], []),
        # code that is wrong from V = 10 and gamma = 5 on alone, or over 4 to 6 tokens in blocks of four, was cleared
        (sized((2, 1), (2, 2), (128, 1), (128, 2)), {}, [], [APART]),
        (sized((128, 2), (3, 33), (4, 2), (3, 2)), {},
         [f"\n{APART} of the scope's table\n", "\n3; 2, 33; float64\n", "\n4, 128; 2; float64\n"], []),
        # decided in no problem, or in one precision alone
        (OF_128 + OTHERS, {}, [
            "\nmistakes at other positions of a block, or at more positions together, than the table has\n",
            "\n500; 3; float64; position 1; 1.2 %; 10 %\n", "\n128; 3; float64; each position by itself; "], []),
        (OF_128 + OF_FLOAT32 + OTHERS, {}, ["\n128; 3; float64, float32; positions 1, 2; "], []),
        ([law("a", REFUTED), law("b")], {}, ["\nrefuted on 1 of 2\n"], []),
        ([A, law("b", NO_EVIDENCE, reason="it waits"), SAMPLED, law("c", NO_EVIDENCE)], {}, [
            "\ninconclusive: nothing decided on 2 of 3\n", "\n1 distribution neither computed nor sampled\n",
            "\ndeviations below TV 0.03 where only samples were taken\n",
            "distributions: 1 exact, 1 sampled (V = 2; detection limit TV 0.03), 1 none (V = 2)\n"], []),
        ([A, *UNKNOWN, law("e", NO_EVIDENCE, vocabulary=1003), SAMPLED], {},
         ["2 sampled (V = 2, 129; detection limit TV 0.08), 1 none (V = 1003)\n"], []),
        ([A], {"not_compared": ["mine.py:lock"]}, [
            "\nvocabularies other than 2\n", "\nprobabilities below 1e-06 that are not 0\n", "mine.py:lock",
            "\nseveral requests in one call\n", "\nrows in float32, bfloat16, float16\n"], ["quick"]),
        ([law("a", vocabulary=3, requests_a_call=1),
          law("b", dtype="float32", requests_a_call=8, real_calls=RealCalls(2000, 0.06), **WIDE)], {}, [
            "\nvocabularies other than 2, 3\n", "\nrows in bfloat16, float16\n",
            "not tried one by one: together up to 0.25 of the probability",
            "below TV 0.06: 2,000 real calls cannot see it"], ["several requests in one call"]),
        ([A], {"quick": True}, ["; quick: no wide problem\n", "wide vocabularies and long blocks: the audit was"], []),
    ],
)  # fmt: skip
def test_a_verdict_says_what_it_speaks_of_and_of_what_it_says_nothing(evidence, subject, said, unsaid):
    report = report_of(*evidence, **subject)
    rows = ["; ".join(row) for row in table(report.scope.table)]
    text = "\n".join(["", report.reading, report.scope.says, *report.not_examined, *rows, ""])
    assert ([one for one in said if one not in text], [one for one in unsaid if one in text]) == ([], []), text
    validate(json.loads(json.dumps(report.as_json())))


def test_a_table_says_all_of_the_ids_alone_where_each_was_there():
    of_ids = {**WIDE, "ids_emitted": 500, "ids_drafted": 499}
    most, every = (law("a", vocabulary=v, gamma=3, decided=[[0]], **of_ids) for v in (501, 500))
    rows = table(report_of(most, every).scope.table)[1:]
    assert [row[-2:] for row in rows] == [("99 %", "all"), ("99 %", "99 %")]


def test_without_evidence_it_speaks_of_nothing_and_rounding_is_what_a_clean_verdict_leaves_open():
    nothing = report_of()
    nothing.fail("load", "no such file")
    assert (nothing.scope, nothing.reading, nothing.not_examined) == (None, "error", ["anything: there is no evidence"])
    assert allowance(report_of(A, HALF)) == "in bfloat16 a bias below TV 0.023 cannot be distinguished from rounding"


def test_a_loop_speaks_of_its_own_pair():
    report = report_of(law("pair", dtype="bfloat16", vocabulary=None))
    report.end_to_end = {"vocabulary": 32000, "gamma": 4, "batch": 2}
    assert report.scope.says.startswith("one pair of models, V = 32000, gamma = 4; in bfloat16; 2 requests a call")
    assert not any("draftproof e2e" in sentence for sentence in report.not_examined)


@pytest.mark.parametrize("name", ["right", "wrong", "undecided"])
def test_scope_stands_in_every_form_of_a_report(name):
    report = golden_report(name)
    assert report.as_json()["scope"]["says"] == report.scope.says and report.not_examined
    html, text = (" ".join(unescape(form).split()) for form in (page(report), shown(report)))
    assert report.scope.says in html and report.scope.says in text and report.reading in html
    report.notice({"padding": "returns -1 after the tokens"})
    if report.verdict != "holds":
        with pytest.raises(AssertionError, match="hint: returns -1 after the tokens"):
            run_check(report, "lossless")


@pytest.mark.parametrize("zeros", [False, True])
def test_it_is_said_where_no_token_has_probability_0(zeros):
    target = ["0", "1"] if zeros else ["1/3", "2/3"]
    problem = {"vocabulary": 2, "gamma": 1, "target": target, "draft": ["1/2", "1/2"]}
    report = audit("token", [problem], explain=False)
    assert [e.law.zeros for e in report.evidence if e.claim == "support"] == [zeros]
    said = "tokens that the target gives probability 0: no problem has one"
    assert (said in report.not_examined) == (not zeros)
