"""Third-party verifiers of draft trees, audited: the zoo's mutants and controls, driven ones, what is refused."""

import shlex
import sys

import pytest

from draftproof import audit
from draftproof.corpus.site.zoo import audit_entry
from draftproof.models.battery import drawn, toy
from draftproof.models.drafting import draft_tree
from draftproof.models.errors import InputError
from draftproof.models.law import ContextFree
from draftproof.models.problem import size_of
from draftproof.models.tree_battery import drawing, own_tree_problems, ragged, small_probabilities, tree_audit_battery
from draftproof.proofs.audit_claims import judge, lossless
from draftproof.proofs.driven.subjects import DrivenObject
from draftproof.proofs.enumeration import law_of
from draftproof.proofs.field import in_field
from draftproof.proofs.interception.harness import of_trees
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.sandbox import Sandbox
from draftproof.proofs.shrink import shrink
from draftproof.proofs.time_limits import TimeLimits
from draftproof.reports.audits.functions.audit import run_audit
from draftproof.reports.audits.settings import AuditSettings
from draftproof.reports.audits.subject import program_from
from draftproof.reports.pages.page import page
from draftproof.tests.reports.audited import audited
from draftproof.tests.reports.report_schema import validate
from draftproof.tests.subjects import trees
from draftproof.verifiers.adapters.calling_convention import NotASubject
from draftproof.verifiers.trees.draft_tree import IID, TOP, WITHOUT_REPLACEMENT
from draftproof.verifiers.zoo.catalogue import TREE_CONTROLS, TREE_MUTANTS

pytestmark = pytest.mark.interception

SUBJECTS = trees.__name__
WAYS = [IID, WITHOUT_REPLACEMENT, TOP]
GENERIC, PEAKED, DEEPER, PAIR = (
    drawn(3, 1, "generic"),
    drawn(3, 1, "peaked"),
    drawn(3, 2, "zeros"),
    drawn(2, 2, "generic"),
)
IN_ALL_WAYS = [
    drawing(GENERIC, 2, how=IID), drawing(PEAKED, 2, how=WITHOUT_REPLACEMENT), drawing(GENERIC, 3, how=TOP),
    drawing(DEEPER, 2, 1, how=IID), drawing(DEEPER, 2, 2, how=WITHOUT_REPLACEMENT), drawing(DEEPER, 2, 2, how=TOP),
    drawing(drawn(2, 3, "mixed"), 2, 1, 1, how=IID), ragged(PAIR, -1, -1, 1, how=IID),
]  # fmt: skip
ENTRIES = [*TREE_MUTANTS.values(), *TREE_CONTROLS.values()]


@pytest.fixture(scope="module")
def laws():
    """Gives the laws of a subject on problems, judged as lossless or not, in one child process."""
    with Sandbox("") as sandbox:

        def judged(name, problems):
            sandbox.load(name if ":" in name else f"{SUBJECTS}:{name}", [toy(1)])
            return [measured(problem, "float64", sandbox.law(problem)) for problem in problems]

        judged.sandbox = sandbox
        yield judged


@pytest.mark.parametrize("entry", [e for e in ENTRIES if "torch" not in e.target], ids=lambda e: e.name)
def test_mutants_are_refuted_and_controls_hold_for_the_ways_of_drawing_they_are_meant_for(laws, entry):
    meant_for = laws.sandbox.load(entry.target, [toy(1)])["convention"]["trees"]
    judged = []
    for problem in (p for p in IN_ALL_WAYS if p.tree.how in meant_for):
        law = measured(problem, "float64", laws.sandbox.law(problem))
        judged.append(lossless(law))
        assert law.known
        if judged[-1].refuted:
            break
    assert any(e.refuted for e in judged) == bool(entry.refutes)
    assert all(e.total_variation < 1e-15 for e in judged if not e.refuted)
    assert any("parents" in e.witness.as_json() or e.witness.laws for e in judged if e.refuted) or not entry.refutes


@pytest.mark.long
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_the_audit_that_users_run_refutes_the_mutants_and_clears_the_controls(entry):
    report, row = audit_entry(entry)
    assert row["as_expected"], (report.verdict, report.failure)


def test_a_mutant_is_named_its_smallest_witness_is_a_tree_and_the_report_says_how_trees_were_drawn():
    eagle = audited(TREE_MUTANTS["T01"].target, IN_ALL_WAYS[:3])
    assert [same["mutant"] for same in eagle.diagnosis] == ["T01"]
    problem = eagle.shown_refutation().witness.problem
    assert problem["vocabulary"] == 3 and problem["drafting"]["children"] == [1]  # over two tokens the bug is none
    data = eagle.as_json()
    validate(data)
    scope, left = data["scope"], data["not_examined"]
    assert (scope["drafting"], scope["nodes"], scope["vocabularies"][-1]) == (WAYS, 3, 3)
    assert "trees of up to 3 nodes drawn iid, without-replacement, top, probabilities" in scope["says"]
    assert any("trees of more than 3 nodes" in sentence for sentence in left) and "regions" not in data
    assert "trees over more than 3 tokens, such as a whole vocabulary" in left
    assert "trees whose nodes are given in another order than level by level" in left
    words = shlex.split(eagle.shown_refutation().replay)
    assert words[:3] == ["draftproof", "audit", TREE_MUTANTS["T01"].target] and words[-2] == "--problem"
    assert audit(words[2], [words[-1]], dtypes=["float64"], explain=False).verdict == "refuted"


def test_more_than_the_bound_proves_bias_and_what_was_not_drafted_is_no_output(laws):
    def claims(name, problem):
        return {e.claim: e for e in judge(*laws(name, [problem]))}

    all_of_it = claims("accepts_the_first_path", drawing(toy(1), 2))
    assert all_of_it["lossless"].refuted and "certificate" in all_of_it["optimal"].detail.above
    stray = claims("emits_a_text_that_was_not_drafted", drawing(toy(1), 1, how=TOP))
    assert "not an accepted draft" in stray["optimal"].detail.why and stray["optimal"].verdict == "not-claimed"


def test_a_rule_for_one_way_of_drawing_is_refuted_for_others_with_a_hint_and_cleared_where_that_is_asked_for():
    name, problems = f"{SUBJECTS}:k_sequential_that_says_nothing", IN_ALL_WAYS[:2]
    report = audited(name, problems, explain=False)
    hint = report.findings["drafting"]
    assert report.verdict == "refuted" and hint.startswith("on the problems examined") and "--drafting iid" in hint
    assert "one problem after another were not compared" in hint
    assert audited(name, problems[:1], explain=False).verdict == "holds"
    assert {p.tree.how for p in tree_audit_battery((TOP,))} == {TOP}


PAST_FOUR_NODES = [drawing(toy(1), 1), drawing(PAIR, 2, 1)]
ONE_TREE = [drawing(toy(1), 1), ragged(PAIR, -1, -1, 0, 1, how=TOP)]


@pytest.mark.usefixtures("replayed")
@pytest.mark.parametrize(
    ("name", "problems", "state"),
    [
        ("stale_from_four_nodes_on", ONE_TREE, True),
        *(
            pytest.param(*row, marks=pytest.mark.long)
            for row in (
                ("last_row_of_the_call_before_from_four_nodes_on", PAST_FOUR_NODES, True),
                ("right", ONE_TREE, False),
                ("recursive_rejection_alone", PAST_FOUR_NODES, False),
                ("remembers_by_tokens", PAST_FOUR_NODES[:1], True),
            )
        ),
    ],
)
def test_what_is_remembered_of_another_tree_is_no_law(name, problems, state):
    report = audited(f"{SUBJECTS}:{name}", problems, explain=False, levels=["exact"])
    assert (report.verdict != "holds", "state" in report.findings) == (state, state)


def test_an_exception_on_some_trees_is_a_refutation_with_the_tree_as_its_witness():
    report = audited(f"{SUBJECTS}:raises_for_equal_siblings", [IN_ALL_WAYS[0]], explain=False)
    evidence = next(e for e in report.evidence if e.claim == "lossless" and e.refuted)
    assert evidence.witness.sequence == "ValueError: twins" and evidence.witness.parents == "-1,-1"
    assert "parents -1,-1" in page(report)


BLOCK, K_SEQUENTIAL = "draftproof.verifiers.zoo.controls:sampler_match", f"{SUBJECTS}:k_sequential_that_says_nothing"


@pytest.mark.parametrize(
    ("name", "problems", "drafting", "said"),
    [
        (BLOCK, [drawing(toy(1), 2)], (), "takes no 'parents'"),
        (BLOCK, [toy(1)], (IID,), "no trees are drawn for it"),
        ("block", [], (IID,), "no trees are drawn for it"),
        ("block", [], 5, "drafting is .*; expected a list or tuple of some of iid"),
        ("block", [], [IID, "any"], "drafting is .*; expected a list or tuple of some of iid"),
        (K_SEQUENTIAL, [drawing(GENERIC, 2, how=TOP)], (IID,), "its trees are drawn top; asked for: iid"),
        (TREE_CONTROLS["D05"].target, [], (TOP,), "none was asked for"),
        ("spec-infer", [], (), "draftproof law spec-infer"),
        ("block", [drawing(toy(1), 2)], (), "expected a problem of a single path"),
    ],
)
def test_trees_for_a_function_of_blocks_and_ways_of_drawing_that_nothing_is_meant_for_are_refused(
    name, problems, drafting, said
):
    with pytest.raises(InputError, match=said):
        audit(name, problems, drafting=drafting)


DRIVEN = [drawing(toy(1), 2), drawing(GENERIC, 2, how=WITHOUT_REPLACEMENT)]


@pytest.mark.parametrize("argument", ["wrong", pytest.param("right", marks=pytest.mark.long)])
def test_driven_objects_and_programs_verify_trees(argument):
    program = program_from(shlex.join([sys.executable, trees.__file__, *["wrong"] * (argument == "wrong")]))
    for report in (
        audited(f"{SUBJECTS}:{argument}", DRIVEN, explain=False),
        run_audit(program, AuditSettings(problems=DRIVEN[:1], explain=False)),
    ):
        assert report.verdict == ("refuted" if argument == "wrong" else "holds"), report.failure
        assert report.subject["convention"]["trees"] == WAYS


def test_ways_of_drawing_and_parents_of_another_form_are_refused_in_one_line():
    for said in ([["iid"]], None, 7, IID, (), ["any"]):
        subject = DrivenObject(trees.Driven(), "it", None, "float64", TimeLimits(5.0))
        subject.drafting = said
        with pytest.raises(NotASubject, match=r"it has drafting .*; expected a list or tuple of some of iid"):
            of_trees(subject)
    function = trees.Driven()
    function.parents = "yes"
    with pytest.raises(NotASubject, match="it has parents: expected bool"):
        DrivenObject(function, "it", None, "float64", TimeLimits(5.0))


def test_every_number_of_children_is_drawn_where_rows_depend_on_the_text_and_sizes_are_those_of_trees_that_are_drawn():
    battery, most = tree_audit_battery(), {IID: 21, WITHOUT_REPLACEMENT: 13, TOP: 61}
    for how in WAYS:
        own = [p for p in battery if p.tree.how == how]
        dependent = {p.tree.children for p in own if not isinstance(p.draft, ContextFree)}
        assert dependent >= {(4,), (5,), (1, 2), (1, 3), (2, 2), (3, 1), (1, 1, 1), (1, 1, 2)}, how
        assert max(p.tree.nodes for p in own) > most[how]
        assert {p.gamma for p in own} == {1, 2, 3, 4, 5}
        uneven = {p.tree.parents for p in own if p.tree.parents and not p.tree.depth_first}
        assert uneven == {(-1, -1, 0), (-1, -1, 1), (-1, -1, 0, 0, 1), (-1, -1, 1, 2)}, how
        depth_first = {p.tree.parents for p in own if p.tree.depth_first}
        assert depth_first == {(-1, 0, -1), (-1, 0, -1, 2), (-1, 0, 0, -1), (-1, 0, 1, -1, 3)}, how
    runs_out = drawing(DEEPER, 3, 2, how=WITHOUT_REPLACEMENT)
    problem = in_field(runs_out)
    every = law_of(lambda chance: draft_tree(problem.target, problem.draft, problem.tree, chance).tokens)
    assert size_of(runs_out)["nodes"] == max(map(len, every)) < runs_out.tree.nodes


def test_ragged_trees_are_said_to_be_examined_and_what_goes_wrong_in_them_alone_shrinks_to_one(laws):
    name = TREE_MUTANTS["T12"].target
    assert not lossless(*laws(name, [drawing(PAIR, 2, 1)])).refuted
    uneven = ragged(PAIR, -1, -1, 1, 1)
    assert shrink(uneven, lambda p: lossless(*laws(name, [p])).refuted).tree.parents == (-1, -1, 1)
    report = audited(name, [uneven], explain=False)
    assert report.verdict == "refuted"
    assert report.scope.children == {"2": ["2x0+2"]}
    assert not any("different numbers of children" in sentence for sentence in report.not_examined)
    assert any("those whose shape depends on what was drawn" in sentence for sentence in report.not_examined)


MISTAKES_OF_A_SHAPE = {
    "bonus_of_the_parent_at_depth_3": (1, 1, 1), "fourth_sibling_accepted_outright": (4,),
    "fourth_sibling_below_the_first_depth_accepted_outright": (1, 4), "below_the_eldest_sibling_at_depth_2": (1, 2, 1),
    "fifth_sibling_accepted_outright": (5,), "fourth_token_of_a_path_accepted_outright": (1, 1, 1, 2),
    "fifth_token_of_a_path_accepted_outright": (1, 1, 1, 1, 1), "a_buffer_of_nine_rows": (2, 2, 4),
    "node_indices_of_five_bits": (2, 2, 2, 2, 2), "rows_by_token": (2, 2, 2),
    "flat_rows_by_an_index_of_seven_bits": (3, 3, 3), "drafted_token_removed_at_depth_3": (1, 1, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES_OF_A_SHAPE)
def test_a_mistake_that_acts_only_in_one_shape_of_tree_is_refuted(laws, name):
    small = [p for p in tree_audit_battery() if p.tree.children == MISTAKES_OF_A_SHAPE[name]]
    small.sort(key=lambda p: (p.tree.how != TOP, p.drafts))
    assert any(lossless(*laws(name, [p])).refuted for p in small)


UNEVEN = [p for p in tree_audit_battery((WITHOUT_REPLACEMENT,)) if p.tree.parents == (-1, -1, 1) and p.vocabulary == 3]


@pytest.mark.parametrize(
    ("wrong", "problems"),
    [
        ("children_by_bisection", [ragged(PAIR, -1, 0, -1, 2)]),
        ("siblings_behind_one_path", [ragged(PAIR, -1, 0, 0, -1)]),
        ("small_drafts_accepted_outright", small_probabilities(IID)),
        ("younger_first_where_ragged", UNEVEN),
        (TREE_MUTANTS["T06"].target, own_tree_problems(1)[:3]),
    ],
)
def test_rows_and_orders_of_the_battery_refute_a_mistake_that_acts_there_and_a_right_rule_holds(laws, wrong, problems):
    if ":" not in wrong:
        assert {p.name for p in problems} <= {p.name for p in tree_audit_battery()}
    right = TREE_CONTROLS["D06"].target if ":" in wrong else "recursive_rejection_alone"
    verdicts = [any(lossless(law).refuted for law in laws(name, problems)) for name in (wrong, right)]
    assert verdicts == [True, False]
