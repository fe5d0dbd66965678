"""What papers and public discussions claim of rules for several drafts, each judged exactly.

A claim that no examined problem contradicts *holds* on those problems and is not thereby proved; one that is
contradicted has the smallest witness of the search, from small denominators up.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from draftproof.corpus.literature.lattice import lattice_pairs
from draftproof.models.battery import drawn, toy
from draftproof.models.problem import Problem
from draftproof.models.rationals import as_float
from draftproof.models.tree_battery import drawing, tree_battery
from draftproof.proofs import claims
from draftproof.proofs.certificates import check, make
from draftproof.proofs.certificates.make_transport import transport_bound
from draftproof.proofs.field import in_field, rational
from draftproof.proofs.laws.reference_laws import expected_accepted, output_law, total_variation
from draftproof.proofs.laws.tree_laws import enumerated_tree_law, formulas_for
from draftproof.verifiers.chance import NothingToDrawError
from draftproof.verifiers.registry import Reference, reference
from draftproof.verifiers.trees.descent import descend
from draftproof.verifiers.trees.draft_tree import HUB, IID, TOP, WITHOUT_REPLACEMENT
from draftproof.verifiers.trees.k_seq import k_sequential_selection
from draftproof.verifiers.trees.registry import TREE_REFERENCES, TreeReference, tree_reference
from draftproof.verifiers.trees.shared_gumbel import coupled

HOLDS, REFUTED, DOES_NOT_HOLD = "holds", "refuted", "does not hold"


class ClaimJudgement(NamedTuple):
    """verdict: HOLDS or REFUTED; on: what was examined, or what refuted it; witness: the problem that refutes it."""

    verdict: str
    on: str
    witness: Problem | None = None


def held(examined: int, says: str) -> ClaimJudgement:
    """Return that a claim holds on so many. Raises: ValueError for none, on which every claim holds."""
    if examined == 0:
        raise ValueError(f"nothing was examined: {says}")
    return ClaimJudgement(HOLDS, says)


class LiteratureClaim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A claim of ``claims.json``, judged by the function that its ``judge`` names.

    kind: whether the source claims it, we read it so, or we ask it ourselves.
    place: of the sentence in the source; from an abstract where no more could be read.
    true_if: where it is true, if not always. theorem: ``FILE.v:NAME`` of Coq, which proves it for all problems.
    """

    judge: str
    says: str
    kind: Literal["claimed", "read as", "asked here"]
    place: str = ""
    true_if: str = ""
    theorem: str = ""

    def word(self, verdict: str) -> str:
        """Return the verdict as the page has it: only what a source claims can be refuted."""
        return verdict if verdict == HOLDS or self.kind == "claimed" else DOES_NOT_HOLD


class ClaimSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A paper, thread or repository, with what is judged of it."""

    source: str
    rows: tuple[LiteratureClaim, ...]


def figure(number: Any) -> str:
    """Return a rational as it is, or in decimals if it is long."""
    return text if len(text := str(number)) <= 24 else f"{as_float(number):.6g}"


Rule = Reference | TreeReference
Measure = Callable[[Problem], Any]


def accepted(name: str, *children: int, how: str = IID) -> Measure:
    """E[tau] of a rule on trees drawn so; of a rule for blocks if there are no children."""
    rule: Rule = tree_reference(name) if children else reference(name)
    return lambda pair: expected_accepted(
        output_law(in_field(drawing(pair, *children, how=how) if children else pair), rule)
    )


def at_least(
    pairs: Sequence[Problem],
    larger: Measure,
    smaller: Measure,
    children: tuple[int, ...] = (),
    how: str = IID,
    allowed: float = 0,
) -> ClaimJudgement:
    """larger(pair) >= smaller(pair) for every pair. children, how: of the witness's tree."""
    for pair in pairs:
        more, less = larger(pair), smaller(pair)
        if less > more and as_float(less - more) > allowed:
            witness = drawing(pair, *children, how=how) if children else pair
            return ClaimJudgement(REFUTED, f"{figure(more)} against {figure(less)}", witness)
    return held(len(pairs), f"{len(pairs)} pairs of models")


SIDE = r"(?:(\d+) )?([a-z-]+)(?: ([\dx]+)(?: ([a-z-]+))?)?"
"""A factor, a rule, the children by depth, and how they are drawn."""

ORDERING = re.compile(f"{SIDE} >= {SIDE}(?: - (\\S+))?")
"""What an ordering says; at the end what may be missing."""


def ordering(text: str) -> ClaimJudgement:
    """Judge that one rule accepts at least as much as another: ``2 RULE 2x1 HOW >= RULE 2x1 - SLACK``.

    A rule for blocks has no children; siblings are independent unless it is said how they are drawn. On trees of one
    step or of two. Raises: ValueError for another form.
    """
    if not (found := ORDERING.fullmatch(text)):
        raise ValueError(f"{text!r}: expected RULE lossless, RULE = RULE, or RULE 2x1 HOW >= RULE 2x1 HOW")
    measures, trees = [], []
    for factor, rule, shape, how in (found.groups()[:4], found.groups()[4:8]):
        children = tuple(map(int, shape.split("x"))) if shape else ()
        trees.append((children, how or IID))
        measure = accepted(rule, *children, how=how or IID)
        measures.append(lambda pair, m=measure, f=int(factor or 1): f * m(pair))
    pairs = TWO_STEPS if any(len(children) == 2 for children, _ in trees) else ONE_STEP
    return at_least(pairs, *measures, *trees[0], allowed=float(found[9] or 0))


def lossless(rule: TreeReference, problems: Iterable[Problem]) -> ClaimJudgement:
    """Return whether the completed law is the target's on every problem, meant for the rule or not.

    Where a rule is not meant for the problem it may have nothing to draw from; such a problem is passed over.
    """
    examined = by_formulas = 0
    for problem in problems:
        exact = in_field(problem)
        meant = rule.is_for(exact.tree)
        try:
            law = output_law(exact, rule) if meant else enumerated_tree_law(exact, rule.verify)
        except (ZeroDivisionError, NothingToDrawError):
            if meant:
                raise
            continue
        evidence = claims.lossless(exact, law)
        examined += 1
        by_formulas += meant and formulas_for(exact, rule) is not None
        if evidence.witness:
            w, tv = evidence.witness, figure(evidence.total_variation)
            observed = figure(rational(w.observed))
            return ClaimJudgement(REFUTED, f"TV {tv}: `{w.sequence}` has {observed}, expected {w.expected}", problem)
    return held(examined, f"{examined} problems" + (f", {by_formulas} by its formulas" if by_formulas else ""))


def lossless_where_meant(name: str) -> ClaimJudgement:
    """Return whether a rule is lossless on every tree problem that it is meant for."""
    rule = tree_reference(name)
    return lossless(rule, [p for p in tree_battery() if rule.is_for(p.tree)])


def same_law(one: str | Rule, other: str | Rule, problems: Sequence[Problem]) -> ClaimJudgement:
    """Return whether two rules, as they run, have the same law on single paths."""
    rules = [TREE_REFERENCES.get(r) or reference(r) if isinstance(r, str) else r for r in (one, other)]
    for problem in problems:
        laws = [output_law(in_field(problem), r.as_run() if isinstance(r, Reference) else r) for r in rules]
        if laws[0] != laws[1]:
            tau = [expected_accepted(law) for law in laws]
            return ClaimJudgement(REFUTED, f"TV {total_variation(*laws)}, E[tau] {tau[0]} against {tau[1]}", problem)
    return held(len(problems), f"the same law on {len(problems)} problems")


def opposite(judgement: ClaimJudgement, says: str) -> ClaimJudgement:
    """The judgement of a claim that another one is false."""
    return ClaimJudgement(REFUTED if judgement.verdict == HOLDS else HOLDS, f"{says} {judgement.on}", judgement.witness)


def changed(name: str, rule: TreeReference, **fields: Any) -> TreeReference:
    """Return a rule under other conditions than those it is meant for."""
    return rule._replace(name=name, step=None, **fields)


ONE_STEP = [*lattice_pairs(2, 1, 6), *lattice_pairs(3, 1, 4)]
TWO_STEPS = [*lattice_pairs(2, 2, 5), *lattice_pairs(3, 2, 3)]
PATHS = [
    toy(2),
    toy(3),
    *(drawn(3, 2, kind) for kind in ("generic", "mixed", "zeros", "peaked")),
    drawn(2, 3, "generic"),
]


def rho_of_one() -> ClaimJudgement:
    """k-SEQ at rho = 1 with two drafts; where its residual would be negative there is no such rule at all."""
    problem = drawing(toy(1), 2)
    rule = changed(
        "k-seq", tree_reference("k-seq"), verify=descend(lambda s, chance: k_sequential_selection(s, 1, chance))
    )
    try:
        return lossless(rule, [problem])
    except ValueError as error:
        return ClaimJudgement(REFUTED, f"its residual is negative ({error})", problem)


def two_drafts_suffice() -> ClaimJudgement:
    """Pr(accepted) = 1 if and only if p(H) >= q(H)^2 for every set H of tokens."""
    for pair in ONE_STEP:
        exact = in_field(drawing(pair, 2))
        p, q = exact.target.row(()), exact.draft.row(())
        sets = [[t for t in range(len(p)) if code >> t & 1] for code in range(2 ** len(p))]
        if (transport_bound(exact) == 1) != all(sum(p[t] for t in h) >= sum(q[t] for t in h) ** 2 for h in sets):
            return ClaimJudgement(REFUTED, "one holds and the other does not", drawing(pair, 2))
    return ClaimJudgement(HOLDS, f"{len(ONE_STEP)} pairs of models")


def choice_of_a_set(k: int) -> ClaimJudgement:
    """The optimum is 1 + min over H of p(H) - q(H)^k."""
    for pair in ONE_STEP:
        exact = in_field(drawing(pair, k))
        p, q = exact.target.row(()), exact.draft.row(())
        sets = [[t for t in range(len(p)) if code >> t & 1] for code in range(2 ** len(p))]
        if transport_bound(exact) != 1 + min(sum(p[t] for t in h) - sum(q[t] for t in h) ** k for h in sets):
            return ClaimJudgement(REFUTED, "another optimum", drawing(pair, k))
    return ClaimJudgement(HOLDS, f"{len(ONE_STEP)} pairs of models, {k} drafts")


def agrees_enough() -> ClaimJudgement:
    """Pr(agreement) >= (1 - TV) / (1 + TV)."""
    for pair in ONE_STEP:
        exact = in_field(pair)
        p, q = exact.target.row(()), exact.draft.row(())
        distance = total_variation(dict(enumerate(p)), dict(enumerate(q)))
        if sum(row[x] for x, row in enumerate(coupled(tuple(p), tuple(q)))) < (1 - distance) / (1 + distance):
            return ClaimJudgement(REFUTED, "agrees less often", pair)
    return ClaimJudgement(HOLDS, f"{len(ONE_STEP)} pairs of models")


def best_on_single_paths() -> ClaimJudgement:
    """The certificate of block verification's optimality, made and checked."""
    for problem in PATHS:
        value = check.check(json.dumps(make.certificate(problem)))
        if str(value) != str(accepted("block")(problem)):
            return ClaimJudgement(REFUTED, f"the optimum is {value}", problem)
    return ClaimJudgement(HOLDS, f"certificates of {len(PATHS)} problems, checked")


def greedy_output() -> ClaimJudgement:
    """Judge every lossless rule, every way of drafting, with a target that is sure of its token."""
    pairs = [drawn(3, 2, "one-hot-target", seed) for seed in range(3)]
    shapes = [((2, 1), IID), ((2, 2), WITHOUT_REPLACEMENT), ((2, 2), TOP), ((2, 2), HUB), ((1, 1), IID)]
    problems = [drawing(pair, *children, how=how) for pair in pairs for children, how in shapes]
    examined = 0
    for rule in (r for r in TREE_REFERENCES.values() if r.lossless):
        fitting = [p for p in problems if rule.is_for(p.tree)]
        judged = lossless(rule, fitting)
        if judged.verdict == REFUTED:
            return judged
        examined += len(fitting)
    return ClaimJudgement(HOLDS, f"{examined} laws with a target that is sure")
