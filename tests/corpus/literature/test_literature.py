"""The page of judged claims is up to date; a false claim is refuted with a witness, a true one is not."""

from fractions import Fraction as F
from functools import partial

import pytest

from draftproof.corpus.literature import recent
from draftproof.corpus.literature.lattice import lattice_pairs
from draftproof.corpus.literature.literature import (
    DOES_NOT_HOLD,
    HOLDS,
    ONE_STEP,
    REFUTED,
    ClaimSource,
    LiteratureClaim,
    at_least,
    changed,
    lossless,
    same_law,
)
from draftproof.corpus.literature.literature_claims import JUDGES, LITERATURE, judgement
from draftproof.corpus.literature.mapping import THEOREMS, exists
from draftproof.corpus.literature.page import PAGE, lossy_rules, page, table
from draftproof.models.battery import drawn, toy
from draftproof.models.problem import as_json, tree_problem_from
from draftproof.models.tree_battery import drawing, tree_battery
from draftproof.proofs.laws.tree_laws import PASSES
from draftproof.tests.proofs.tree_mutants import TREE_MUTANTS
from draftproof.verifiers.trees.registry import TREE_REFERENCES, tree_reference

pytestmark = pytest.mark.exact


@pytest.mark.long
@pytest.mark.skipif(not PAGE.is_file(), reason="literature.md is in the repository, not in the wheel")
def test_the_page_is_what_judging_every_claim_gives():
    assert PAGE.read_text(encoding="utf-8") == page()


CLAIMS = [claim for group in LITERATURE for claim in group.rows]
WORDS = {"claimed": REFUTED, "read as": DOES_NOT_HOLD, "asked here": DOES_NOT_HOLD}
"""What is said of a false claim, by whose claim it is."""


def rows_of(text):
    """Return the cells of each row of the page's first table."""
    lines = text.split("\n| source |")[1].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.replace("\\|", "/").split("|")[1:-1]] for line in lines]


def test_each_row_has_a_judge_of_its_own_and_the_place_of_its_sentence():
    assert len({claim.judge for claim in CLAIMS}) == len(CLAIMS)
    assert [name for name in JUDGES if name not in {claim.judge for claim in CLAIMS}] == []
    assert [c.judge for c in CLAIMS if bool(c.place) == (c.kind == "asked here")] == []


@pytest.mark.parametrize(
    ("judge", "verdict"),
    [
        ("naive lossless", HOLDS), ("hierarchical-as-published lossless", REFUTED),
        ("traversal = block", HOLDS), ("shared-gumbel = block", REFUTED),
        ("spec-infer 2 >= naive 2", HOLDS), ("naive 2 >= spec-infer 2", REFUTED),
        ("naive 2 >= spec-infer 2 - 1", HOLDS), ("2 naive 2 >= 3 naive 2", REFUTED),
        ("traversal 2x1 >= block", HOLDS), ("spec-hub 2 hub >= without-replacement 2 without-replacement", REFUTED),
    ],
)  # fmt: skip
def test_what_a_judge_says_is_judged(judge, verdict):
    assert judgement(judge).verdict == verdict


@pytest.mark.parametrize("text", ["block", "block >= 2x1", "naive 2 >= ", "block >= token >= naive", "block < token"])
def test_a_judge_that_says_something_else_is_refused(text):
    with pytest.raises(ValueError, match="expected RULE lossless"):
        judgement(text)


def not_proved(claims):
    """Return the theorems that rows name and Coq's files do not have."""
    return [c.theorem for c in claims if c.theorem and not exists(f"proofs/mechanized/{c.theorem}", THEOREMS)]


@pytest.mark.skipif(not PAGE.is_file(), reason="Coq's sources are in the repository, not in the wheel")
def test_a_theorem_that_a_row_names_is_one():
    assert not_proved(CLAIMS) == [] and sum(bool(c.theorem) for c in CLAIMS) > 10
    for wrong in ("Main.v:gone", "Gone.v:theorem_1", "ScaledTransport.v:scaled_transport"):
        assert not_proved([LiteratureClaim("block-is-token-1", "", "claimed", theorem=wrong)]) == [wrong]


@pytest.mark.parametrize("kind", WORDS)
def test_only_what_a_source_claims_is_refuted(kind):
    wrong, right = (LiteratureClaim(f"block-is-token-{gamma}", "says | so", kind, "abstract") for gamma in (2, 1))
    made = table([ClaimSource("a paper", (wrong, right))])
    assert [(row[1:3], row[3]) for row in rows_of(made)] == [
        (["says / so", f"{kind}: abstract"], word) for word in (WORDS[kind], HOLDS)
    ]
    assert "2 rows: " in made and f"1 {kind} (" not in made and f"2 {kind} (1 hold, 1 " in made


@pytest.mark.skipif(not PAGE.is_file(), reason="literature.md is in the repository, not in the wheel")
def test_the_page_says_refuted_of_no_row_that_is_ours():
    kinds = {row[2].split(":")[0] for row in rows_of(PAGE.read_text(encoding="utf-8")) if row[3] == REFUTED}
    assert kinds == {"claimed"}


def test_every_lossy_rule_stands_on_the_page_with_its_bias():
    rows = [line for line in "\n".join(lossy_rules()).split("\n") if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == [name for name, rule in TREE_REFERENCES.items() if not rule.lossless]
    assert all(float(row.split("|")[4]) > 0 for row in rows)


@pytest.mark.parametrize("mutant", TREE_MUTANTS, ids=lambda m: m.name)
def test_a_claim_that_a_mutant_is_lossless_is_refuted_with_a_witness(mutant):
    rule = tree_reference(mutant.of)
    problems = [p for p in tree_battery() if rule.is_for(p.tree) and p.tree.nodes <= 4]
    judged = lossless(changed(mutant.name, rule, verify=mutant.verify), problems)
    assert judged.verdict == REFUTED and judged.witness in problems
    assert as_json(tree_problem_from(as_json(judged.witness))) == as_json(judged.witness)


def test_an_ordering_is_refuted_by_the_first_pair_that_breaks_it_and_holds_where_none_does():
    assert at_least(ONE_STEP, lambda pair: 1, lambda pair: F(1, 2)).verdict == HOLDS
    judged = at_least(ONE_STEP, lambda pair: F(1, 2), lambda pair: max(pair.target.row(())), (2,))
    assert (judged.verdict, judged.witness.tree.children) == (REFUTED, (2,))
    assert judged.witness.target == ONE_STEP[0].target


SURE = next(p for p in ONE_STEP if p.target.row(()) == p.draft.row(()) == (0, 1))
"""Two drafts are equal, and SpecHub, which is for distinct ones, has nothing to draw from."""


@pytest.mark.parametrize(
    "judge",
    [
        lambda: lossless(tree_reference("traversal"), []),
        lambda: lossless(tree_reference("spec-hub"), [drawing(SURE, 2)]),  # passed over
        lambda: at_least([], lambda pair: 1, lambda pair: 1), lambda: same_law("block", "token", []),
        lambda: recent.reaches_the_bound(lambda problem: 0, []),
        lambda: recent.over_one_step(lambda p, q: True, "", []), lambda: recent.coupling_gains_by_drafts([], 2),
        lambda: recent.coupling_is_valid_in_the_plain_loop([], 2),
    ],
)  # fmt: skip
def test_a_judge_that_examined_nothing_says_so(judge):
    with pytest.raises(ValueError, match="nothing was examined"):
        judge()


def wrong_at_the_end(tree, chance, right):
    """A rule that emits token 0 after the longest accepted path."""
    verdict = right(tree, chance)
    return verdict._replace(token=0) if tree.children(verdict.node) == () else verdict


def test_a_judge_runs_the_code_of_a_rule_that_has_formulas(monkeypatch):
    traversed = tree_reference("traversal")
    wrong = partial(wrong_at_the_end, right=traversed.verify)
    monkeypatch.setitem(PASSES, wrong, PASSES[traversed.verify])
    rule = traversed._replace(verify=wrong)
    assert lossless(rule, [drawing(toy(2), 2, 1)]).verdict == REFUTED
    assert same_law(rule, "block", [toy(2)]).verdict == REFUTED
    assert lossless(traversed, [drawing(toy(2), 2, 1)]).on == "1 problems"
    assert lossless(traversed, [drawing(drawn(3, 2, "ties"), 2, 2)]).on == "1 problems, 1 by its formulas"


def test_two_laws_are_the_same_or_not():
    assert same_law("block", "block-stream", [toy(2)]).verdict == HOLDS
    assert same_law("block", "token", [toy(2)]).verdict == REFUTED


def test_the_lattice_has_every_pair_of_rows_once_and_the_smallest_denominators_first():
    pairs = lattice_pairs(2, 1, 3)
    assert len({(p.target, p.draft) for p in pairs}) == len(pairs)
    assert {p for pair in pairs for p in pair.target.row(())} == {F(0), F(1, 3), F(1, 2), F(2, 3), F(1)}
    assert drawing(pairs[0], 2).name.endswith("iid-2")
