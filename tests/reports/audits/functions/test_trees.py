"""Third-party verifiers of draft trees, audited: the zoo's mutants and controls, driven ones, what is refused."""

import json
import shlex
import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from draftproof.models.battery import drawn, toy
from draftproof.models.drafting import draft_tree
from draftproof.models.errors import InputError
from draftproof.models.law import ContextFree
from draftproof.models.problem import as_json, size_of, tree_problem_from
from draftproof.models.tree_battery import drawing, own_tree_problems, ragged, small_probabilities, tree_audit_battery
from draftproof.proofs.audit_claims import judge, lossless
from draftproof.proofs.driven.programs import DrivenProgram
from draftproof.proofs.driven.subjects import DrivenObject
from draftproof.proofs.enumeration import law_of
from draftproof.proofs.field import in_field
from draftproof.proofs.interception.harness import of_trees
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.sandbox import Sandbox
from draftproof.proofs.shrink import shrink
from draftproof.proofs.time_limits import TimeLimits
from draftproof.reports.audits.api import audit
from draftproof.reports.audits.functions.audit import run_audit
from draftproof.reports.audits.functions.zoo import audit_entry
from draftproof.reports.audits.report import Report
from draftproof.reports.audits.settings import AuditSettings
from draftproof.reports.audits.subject import program_from
from draftproof.reports.pages.page import page
from draftproof.reports.pages.terminal import show
from draftproof.tests.reports.report_schema import validate
from draftproof.tests.subjects.trees import Driven
from draftproof.verifiers.adapters.calling_convention import NotASubject
from draftproof.verifiers.trees.draft_tree import IID, TOP, WITHOUT_REPLACEMENT
from draftproof.verifiers.zoo.catalogue import TREE_CONTROLS, TREE_MUTANTS

pytestmark = pytest.mark.interception

SUBJECTS = "draftproof.tests.subjects.trees"
GENERIC, PEAKED, DEEPER = drawn(3, 1, "generic"), drawn(3, 1, "peaked"), drawn(3, 2, "zeros")
IN_ALL_WAYS = [
    drawing(GENERIC, 2, how=IID), drawing(PEAKED, 2, how=WITHOUT_REPLACEMENT), drawing(GENERIC, 3, how=TOP),
    drawing(DEEPER, 2, 1, how=IID), drawing(DEEPER, 2, 2, how=WITHOUT_REPLACEMENT), drawing(DEEPER, 2, 2, how=TOP),
    drawing(drawn(2, 3, "mixed"), 2, 1, 1, how=IID), ragged(drawn(2, 2, "generic"), -1, -1, 1, how=IID),
]  # fmt: skip
ENTRIES = [*TREE_MUTANTS.values(), *TREE_CONTROLS.values()]


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox("") as sandbox:
        yield sandbox


@pytest.mark.parametrize("entry", [e for e in ENTRIES if "torch" not in e.target], ids=lambda e: e.name)
def test_mutants_are_refuted_and_controls_hold_for_the_ways_of_drawing_they_are_meant_for(sandbox, entry):
    meant_for = sandbox.load(entry.target, [toy(1)])["convention"]["trees"]
    judged = []
    for problem in (p for p in IN_ALL_WAYS if p.tree.how in meant_for):
        law = measured(problem, "float64", sandbox.law(problem))
        judged.append(lossless(law))
        assert law.known
        if judged[-1].refuted:
            break
    assert any(e.refuted for e in judged) == bool(entry.refutes)
    assert all(e.total_variation < 1e-15 for e in judged if not e.refuted)
    assert any("parents" in e.witness.as_json() or e.witness.laws for e in judged if e.refuted) or not entry.refutes


@pytest.mark.parametrize("entry", [pytest.param(e, marks=pytest.mark.long) for e in ENTRIES], ids=lambda e: e.name)
def test_the_audit_that_users_run_refutes_the_mutants_and_clears_the_controls(entry):
    report, row = audit_entry(entry)
    assert row["as_expected"], (report.verdict, report.failure)
    validate(report.as_json())


@pytest.fixture(scope="module")
def eagle():
    """The audit of the mutant of EAGLE#20, with its explanation."""
    return audit(TREE_MUTANTS["T01"].target, IN_ALL_WAYS[:3])


def test_a_mutant_is_named_by_its_diagnosis_and_its_smallest_witness_is_a_tree(eagle):
    assert [same["mutant"] for same in eagle.diagnosis] == ["T01"]
    problem = eagle.smallest.witness.problem
    assert problem["vocabulary"] == 3 and problem["drafting"]["children"] == [1]  # over two tokens the bug is none


def test_the_report_says_how_trees_were_drawn_and_is_read_back(eagle):
    data = eagle.as_json()
    validate(data)
    assert data["scope"]["drafting"] == [IID, WITHOUT_REPLACEMENT, TOP] and data["scope"]["nodes"] == 3
    assert data["scope"]["largest_trees"] == {IID: 2, WITHOUT_REPLACEMENT: 2, TOP: 3}
    assert "trees of up to 3 nodes drawn iid, without-replacement, top (iid 2," in data["scope"]["says"]
    assert any("trees of more than 3 nodes" in sentence for sentence in data["not_examined"])
    wide = "trees over more than 3 tokens, a whole vocabulary say"
    assert wide in data["not_examined"] and data["scope"]["vocabularies"][-1] == 3
    terminal = Console(file=StringIO(), width=300)
    show(eagle, terminal)
    html = page(eagle)
    assert wide in html and "without-replacement" in html and wide in terminal.file.getvalue()
    assert "trees whose nodes are given in another order than level by level" in data["not_examined"]
    assert "regions" not in data and Report.from_json(data).as_json()["scope"] == data["scope"]


def test_the_replay_command_shows_the_refutation_again(eagle):
    words = shlex.split(eagle.smallest.replay)
    assert words[:3] == ["draftproof", "audit", TREE_MUTANTS["T01"].target] and words[-2] == "--problem"
    assert audit(words[2], [words[-1]], explain=False).verdict == "refuted"


@pytest.mark.long
def test_a_control_in_torch_is_cleared_and_is_told_how_far_it_stays_below_the_bound():
    report = audit(TREE_CONTROLS["D07"].target, [drawing(toy(1), 2)], explain=False)
    assert report.verdict == "holds", report.failure
    optimal = next(e for e in report.evidence if e.claim == "optimal")
    assert optimal.refuted and optimal.detail.optimum == "8/9" and optimal.detail.expected_accepted == "7/9"
    assert optimal.detail.transport_bound == pytest.approx(8 / 9)


def test_more_than_the_bound_proves_bias_and_what_was_not_drafted_is_no_output(sandbox):
    def claims(name, problem):
        sandbox.load(f"{SUBJECTS}:{name}", [problem])
        return {e.claim: e for e in judge(measured(problem, "float64", sandbox.law(problem)))}

    all_of_it = claims("accepts_the_first_path", drawing(toy(1), 2))
    assert all_of_it["lossless"].refuted and "certificate" in all_of_it["optimal"].detail.above
    stray = claims("emits_a_text_that_was_not_drafted", drawing(toy(1), 1, how=TOP))
    assert "not an accepted draft" in stray["optimal"].detail.why and stray["optimal"].verdict == "not-claimed"


def test_a_rule_for_one_way_of_drawing_is_refuted_for_others_with_a_hint_and_cleared_where_that_is_asked_for():
    name, problems = f"{SUBJECTS}:k_sequential_that_says_nothing", IN_ALL_WAYS[:2]
    report = audit(name, problems, explain=False)
    assert report.verdict == "refuted" and "--drafting iid" in report.findings["drafting"]
    hint = report.findings["drafting"]
    assert hint.startswith("on the problems examined") and "one problem after another were not compared" in hint
    assert audit(name, problems[:1], explain=False).verdict == "holds"
    assert {p.tree.how for p in tree_audit_battery((TOP,))} == {TOP}


@pytest.mark.long
@pytest.mark.usefixtures("replayed")
def test_what_is_remembered_by_the_tokens_of_a_tree_is_no_law():
    report = audit(f"{SUBJECTS}:remembers_by_tokens", [drawing(toy(1), 2)], explain=False)
    assert report.verdict != "holds" and "state" in report.findings


@pytest.mark.usefixtures("replayed")
def test_a_buffer_that_is_wrong_between_different_trees_of_four_nodes_is_no_law():
    problems = [drawing(toy(1), 1), drawing(drawn(2, 2, "generic"), 2, 1)]
    for name, verdict in (
        ("last_row_of_the_call_before_from_four_nodes_on", "inconclusive"),
        ("recursive_rejection_alone", "holds"),
    ):
        report = audit(f"{SUBJECTS}:{name}", problems, explain=False, levels=["exact"])
        assert report.verdict == verdict and ("state" in report.findings) == (verdict == "inconclusive")


def test_an_exception_on_some_trees_is_a_refutation_with_the_tree_as_its_witness():
    report = audit(f"{SUBJECTS}:raises_for_equal_siblings", [IN_ALL_WAYS[0]], explain=False)
    evidence = next(e for e in report.evidence if e.claim == "lossless" and e.refuted)
    assert evidence.witness.sequence == "ValueError: twins" and evidence.witness.parents == "-1,-1"
    assert "parents -1,-1" in page(report)


def test_trees_for_a_function_of_blocks_and_ways_of_drawing_that_nothing_is_meant_for_are_refused():
    block = "draftproof.verifiers.zoo.controls:sampler_match"
    with pytest.raises(InputError, match="takes no 'parents'"):
        audit(block, [drawing(toy(1), 2)])
    with pytest.raises(InputError, match="no trees are drawn for it"):
        audit(block, [toy(1)], drafting=(IID,))
    with pytest.raises(InputError, match="no trees are drawn for it"):
        audit("block", drafting=(IID,))
    for wrong in (5, IID, [IID, "any"]):
        with pytest.raises(InputError, match=r"drafting is .*; expected a list or tuple of some of iid"):
            audit("block", drafting=wrong)
    with pytest.raises(InputError, match="its trees are drawn top; asked for: iid"):
        audit(f"{SUBJECTS}:k_sequential_that_says_nothing", [drawing(GENERIC, 2, how=TOP)], drafting=(IID,))
    with pytest.raises(InputError, match="none was asked for"):
        audit(TREE_CONTROLS["D05"].target, drafting=(TOP,))
    with pytest.raises(InputError, match="draftproof law spec-infer"):
        audit("spec-infer")
    with pytest.raises(InputError, match="expected a problem of a single path"):
        audit("block", [drawing(toy(1), 2)])


DRIVEN = [drawing(toy(1), 2), drawing(GENERIC, 2, how=WITHOUT_REPLACEMENT)]


@pytest.mark.parametrize(
    ("name", "verdict"), [pytest.param("right", "holds", marks=pytest.mark.long), ("wrong", "refuted")]
)
def test_driven_objects_verify_trees(name, verdict):
    report = audit(f"{SUBJECTS}:{name}", DRIVEN, explain=False)
    assert report.verdict == verdict, report.failure
    assert report.subject["convention"]["trees"] == [IID, WITHOUT_REPLACEMENT, TOP]


@pytest.mark.usefixtures("replayed")
def test_rows_of_the_call_before_in_a_driven_object_are_no_law_whatever_the_size_of_the_tree():
    problems = [drawing(toy(1), 1), ragged(drawn(2, 2, "generic"), -1, -1, 0, 1, how=TOP)]  # one tree: right alone
    for name, verdict in (("stale_from_four_nodes_on", "inconclusive"), ("right", "holds")):
        report = audit(f"{SUBJECTS}:{name}", problems, explain=False, levels=["exact"])
        assert report.verdict == verdict and ("state" in report.findings) == (verdict == "inconclusive")


@pytest.mark.parametrize(
    ("argument", "verdict"), [("", "holds"), pytest.param("wrong", "refuted", marks=pytest.mark.long)]
)
def test_programs_are_sent_parents(argument, verdict):
    file = Path(__file__).parents[3] / "subjects" / "trees.py"
    command = shlex.join(filter(None, [sys.executable, str(file), argument]))
    report = run_audit(program_from(command), AuditSettings(problems=DRIVEN[:1], explain=False))
    assert report.verdict == verdict, report.failure
    assert report.subject["convention"]["trees"] == [IID, WITHOUT_REPLACEMENT, TOP]


@pytest.mark.parametrize("said", [[["iid"]], None, 7, [{}], IID, (), ["any"]], ids=str)
def test_ways_of_drawing_of_another_form_are_refused_in_one_line(said):
    subject = DrivenObject(Driven(), "it", None, "float64", TimeLimits(5.0))
    subject.drafting = said
    with pytest.raises(NotASubject, match=r"it has drafting .*; expected a list or tuple of some of iid"):
        of_trees(subject)


@pytest.mark.parametrize("said", ["yes", 1, None])
def test_parents_are_declared_by_a_boolean(said):
    function = Driven()
    function.parents = said
    with pytest.raises(NotASubject, match="it has parents: expected bool"):
        DrivenObject(function, "it", None, "float64", TimeLimits(5.0))
    with pytest.raises(NotASubject, match="its first line: parents: expected bool"):
        introduced(parents=said)


def test_a_program_says_how_its_trees_are_drawn():
    program = introduced(parents=True, drafting=[IID])
    assert of_trees(program) == {"trees": [IID]}
    program.pipes.end()


def introduced(**said):
    """A program with this in its first line."""
    line = json.dumps({"protocol": "draftproof-1", "random": "own", **said})
    return DrivenProgram(shlex.join(["sh", "-c", f"echo '{line}'; cat"]), TimeLimits(5.0), 1.0)


def test_every_number_of_children_is_drawn_where_rows_depend_on_the_text_and_sizes_are_those_of_trees_that_are_drawn():
    battery = tree_audit_battery()
    for how in (IID, WITHOUT_REPLACEMENT, TOP):
        dependent = {p.tree.children for p in battery if p.tree.how == how and not isinstance(p.draft, ContextFree)}
        assert dependent >= {(4,), (5,), (1, 2), (1, 3), (2, 2), (3, 1), (1, 1, 1), (1, 1, 2)}, how
        assert (
            max(p.tree.nodes for p in battery if p.tree.how == how) > {IID: 21, WITHOUT_REPLACEMENT: 13, TOP: 61}[how]
        )
        assert {p.gamma for p in battery if p.tree.how == how} == {1, 2, 3, 4, 5}
        uneven = {p.tree.parents for p in battery if p.tree.how == how and p.tree.parents and not p.tree.depth_first}
        assert uneven == {(-1, -1, 0), (-1, -1, 1), (-1, -1, 0, 0, 1), (-1, -1, 1, 2)}, how
        depth_first = {p.tree.parents for p in battery if p.tree.how == how and p.tree.depth_first}
        assert depth_first == {(-1, 0, -1), (-1, 0, -1, 2), (-1, 0, 1, -1, 3)}, how
    runs_out = drawing(drawn(3, 2, "zeros"), 3, 2, how=WITHOUT_REPLACEMENT)
    problem = in_field(runs_out)
    trees = law_of(lambda chance: draft_tree(problem.target, problem.draft, problem.tree, chance).tokens)
    assert size_of(runs_out)["nodes"] == max(map(len, trees)) < runs_out.tree.nodes


def test_ragged_trees_are_said_to_be_examined_and_what_goes_wrong_in_them_alone_shrinks_to_one(sandbox):
    name = TREE_MUTANTS["T12"].target
    sandbox.load(name, [toy(1)])
    even = drawing(drawn(2, 2, "generic"), 2, 1)
    assert lossless(measured(even, "float64", sandbox.law(even))).holds

    def refuted(problem):
        return lossless(measured(problem, "float64", sandbox.law(problem))).refuted

    uneven = ragged(drawn(2, 2, "generic"), -1, -1, 1, 1)
    assert shrink(uneven, refuted).tree.parents == (-1, -1, 1)
    report = audit(name, [uneven], explain=False)
    assert report.verdict == "refuted"
    data = report.as_json()
    validate(data)
    assert data["scope"]["children"] == {"2": ["2x0+2"]}
    assert not any("different numbers of children" in sentence for sentence in data["not_examined"])
    assert any("those whose shape depends on what was drawn" in sentence for sentence in data["not_examined"])


def test_an_audit_draws_trees_of_its_own_from_its_seed_and_controls_hold_on_them(sandbox):
    assert own_tree_problems(1) == own_tree_problems(1)
    assert {p.name for p in own_tree_problems(1)}.isdisjoint(p.name for p in own_tree_problems(2))
    assert {p.tree.how for p in own_tree_problems(3, (TOP,))} == {TOP}
    for seed in range(20):
        for problem in own_tree_problems(seed):
            assert problem.drafts <= 81 and tree_problem_from(as_json(problem)).drafting == problem.drafting
    problems = own_tree_problems(1)[:3]
    for entry, refuted in ((TREE_CONTROLS["D06"], False), (TREE_MUTANTS["T06"], True)):
        sandbox.load(entry.target, [toy(1)])
        assert any(lossless(measured(p, "float64", sandbox.law(p))).refuted for p in problems) == refuted


def test_children_that_are_looked_for_next_to_each_other_are_refuted_where_nodes_stand_depth_first(sandbox):
    pair = drawn(2, 2, "generic")
    levels, depth_first = drawing(pair, 2, 1), ragged(pair, -1, 0, -1, 2)
    assert depth_first in tree_audit_battery((IID,))
    for name, wrong in (("children_by_bisection", True), ("recursive_rejection_alone", False)):
        sandbox.load(f"{SUBJECTS}:{name}", [toy(1)])
        judged = [lossless(measured(p, "float64", sandbox.law(p))) for p in (levels, depth_first)]
        assert [e.refuted for e in judged] == [False, wrong]


MISTAKES_OF_A_SHAPE = {
    "bonus_of_the_parent_at_depth_3": (1, 1, 1), "fourth_sibling_accepted_outright": (4,),
    "fourth_sibling_below_the_first_depth_accepted_outright": (1, 4), "below_the_eldest_sibling_at_depth_2": (1, 2, 1),
    "fifth_sibling_accepted_outright": (5,), "fourth_token_of_a_path_accepted_outright": (1, 1, 1, 2),
    "fifth_token_of_a_path_accepted_outright": (1, 1, 1, 1, 1), "a_buffer_of_nine_rows": (2, 2, 4),
    "node_indices_of_five_bits": (2, 2, 2, 2, 2), "rows_by_token": (2, 2, 2),
    "flat_rows_by_an_index_of_seven_bits": (3, 3, 3),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES_OF_A_SHAPE)
def test_a_mistake_that_acts_only_in_one_shape_of_tree_is_refuted(sandbox, name):
    sandbox.load(f"{SUBJECTS}:{name}", [toy(1)])
    small = [p for p in tree_audit_battery() if p.tree.children == MISTAKES_OF_A_SHAPE[name]]
    small.sort(key=lambda p: (p.tree.how != TOP, p.drafts))
    assert any(lossless(measured(p, "float64", sandbox.law(p))).refuted for p in small)


def test_small_drafts_of_which_the_target_has_less_are_examined(sandbox):
    problems = small_probabilities(IID)
    assert {p.name for p in problems} <= {p.name for p in tree_audit_battery((IID,))}
    for name, wrong in (("small_drafts_accepted_outright", True), ("recursive_rejection_alone", False)):
        sandbox.load(f"{SUBJECTS}:{name}", [toy(1)])
        judged = [lossless(measured(p, "float64", sandbox.law(p))) for p in problems]
        assert [e.refuted for e in judged] == [wrong, wrong]


def test_siblings_without_replacement_that_are_tried_in_another_order_in_ragged_trees_are_refuted(sandbox):
    problems = [
        p for p in tree_audit_battery((WITHOUT_REPLACEMENT,)) if p.tree.parents == (-1, -1, 1) and p.vocabulary == 3
    ]
    for name, wrong in (("younger_first_where_ragged", True), ("recursive_rejection_alone", False)):
        sandbox.load(f"{SUBJECTS}:{name}", [toy(1)])
        assert any(lossless(measured(p, "float64", sandbox.law(p))).refuted for p in problems) == wrong
