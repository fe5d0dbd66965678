"""Lossy rules: by how much their first token is off, in closed form where there is one, and what is claimed of that."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, combinations
from math import inf, log
from typing import Any

from draftproof.corpus.literature.lattice import lattice_pairs
from draftproof.corpus.literature.literature import HOLDS, ONE_STEP, REFUTED, ClaimJudgement, figure
from draftproof.corpus.literature.recent import rows
from draftproof.models.battery import toy
from draftproof.models.declared import CascadeForm, DeclaredLaw, GrammarForm
from draftproof.models.errors import InputError
from draftproof.models.law import ContextFree
from draftproof.models.problem import Problem
from draftproof.models.rationals import as_float
from draftproof.models.tree_battery import drawing
from draftproof.proofs import claims
from draftproof.proofs.field import QQ, in_field
from draftproof.proofs.laws.reference_laws import completed, joint_law, output_law, total_variation
from draftproof.verifiers.arithmetic import normalised
from draftproof.verifiers.registry import reference
from draftproof.verifiers.trees.lossy_steps import judge_step, peak, raised
from draftproof.verifiers.trees.registry import TreeReference, tree_reference
from draftproof.verifiers.trees.typical import is_typical

Row = Sequence[Any]

NEAR = lattice_pairs(2, 1, 12)[len(lattice_pairs(2, 1, 6)) :]
"""Rows of denominators from 7 on."""


def first_token(rule: TreeReference, pair: Problem, drafts: int = 1) -> list[Any]:
    """Return the law of the first token, of so many drafts."""
    law = output_law(in_field(drawing(pair, drafts, *[1] * (pair.gamma - 1))), rule)
    tokens = [QQ(0)] * pair.vocabulary
    for output, p in law.items():
        tokens[output[0]] += p
    return tokens


def divergence(law: Row, target: Row) -> float:
    """KL(law || target) in nats; infinite where the target excludes a token of the law."""
    numbers = [(as_float(a), as_float(b)) for a, b in zip(law, target, strict=True) if a != 0]
    return sum(a * log(a / b) if b else inf for a, b in numbers)


def apart(law: Row, target: Row) -> Any:
    """Return the total variation between two rows."""
    return total_variation(dict(enumerate(law)), dict(enumerate(target)))


def at_temperature(pair: Problem, power: int) -> Problem:
    """Both models at the temperature 1 / power."""
    models = [ContextFree(tuple(normalised([p**power for p in m.row(())]))) for m in (pair.target, pair.draft)]
    return replace(pair, target=models[0], draft=models[1], name=f"{pair.name}-power-{power}")


def worst_by_temperature(rule: TreeReference, powers: Sequence[int], drafts: int = 1) -> list[tuple[Any, float]]:
    """The largest TV and KL of the first token at each temperature 1 / power, over pairs of rows of full support."""
    pairs = [p for p in lattice_pairs(3, 1, 5) if all(p.target.row(())) and all(p.draft.row(()))]
    worst = []
    for power in powers:
        hot = [at_temperature(pair, power) for pair in pairs]
        laws = [(first_token(rule, pair, drafts), rows(pair)[0]) for pair in hot]
        worst.append((max(apart(law, p) for law, p in laws), max(divergence(law, p) for law, p in laws)))
    return worst


def law_is(name: str, formula: Callable[[Row, Row], Row]) -> ClaimJudgement:
    """Return whether the first token's law is the formula's, on every pair on which the rule has one."""
    for pair in ONE_STEP:
        if first_token(tree_reference(name), pair) != list(formula(*rows(pair))):
            return ClaimJudgement(REFUTED, "another law", pair)
    return ClaimJudgement(HOLDS, f"{len(ONE_STEP)} pairs of models")


def kept_or_sampled(passes: Callable[[Row, int], bool]) -> Callable[[Row, Row], Row]:
    """q(x) [x passes] + q(all that do not) p(x): a draft is kept by a test of the target's row, else the target's."""

    def formula(p: Row, q: Row) -> Row:
        fails = sum((w for x, w in enumerate(q) if not passes(p, x)), QQ(0))
        return [(b if passes(p, x) else 0) + fails * a for x, (a, b) in enumerate(zip(p, q))]

    return formula


def among_the_best(p: Row, x: int) -> bool:
    """Return the test of the rule ``top-n``: among the two likeliest, at most 6/10 below the likeliest."""
    best = sorted(range(len(p)), key=lambda t: (-p[t], t))[:2]
    return x in best and 10 * (p[best[0]] - p[x]) <= 6


def typical_is_kept_or_sampled() -> ClaimJudgement:
    """Judge typical acceptance."""
    return law_is("typical", kept_or_sampled(is_typical))


def top_n_is_kept_or_sampled() -> ClaimJudgement:
    """Judge relaxed acceptance."""
    return law_is("top-n", kept_or_sampled(among_the_best))


def variation_is(name: str, formula: Callable[[Row, Row], Any]) -> ClaimJudgement:
    """Return whether the first token's total variation is the formula's, on rows that are nearer to one another too."""
    rule = tree_reference(name)
    for pair in (pairs := [*ONE_STEP, *NEAR]):
        (p, q), law = rows(pair), first_token(rule, pair)
        if apart(law, p) != formula(p, q):
            return ClaimJudgement(REFUTED, f"{figure(apart(law, p))} against {figure(formula(p, q))}", pair)
    return ClaimJudgement(HOLDS, f"{len(pairs)} pairs of models")


def entropy_adaptive_variation() -> ClaimJudgement:
    """sum over q > p of min(q - p, t q), t = 3/10 (1 - max p)."""

    def formula(p: Row, q: Row) -> Any:
        return sum((min(b - a, 3 * (1 - max(p)) / 10 * b) for a, b in zip(p, q) if b > a), QQ(0))

    return variation_is("entropy-adaptive", formula)


def judge_variation() -> ClaimJudgement:
    """sum over the kept x with q > p of q - p, for every set of tokens that a judge may keep."""
    for pair in ONE_STEP:
        p, q = rows(pair)
        for kept in subsets(range(len(p))):
            rule = tree_reference("judge").with_step(judge_step(lambda _, x, kept=kept: x in kept))
            found, expected = apart(first_token(rule, pair), p), sum((q[x] - p[x] for x in kept if q[x] > p[x]), QQ(0))
            if found != expected:
                return ClaimJudgement(REFUTED, f"{figure(found)} against {figure(expected)}", pair)
    return ClaimJudgement(HOLDS, f"every judge on {len(ONE_STEP)} pairs of models")


def subsets(tokens: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield all sets of tokens."""
    return chain.from_iterable(combinations(tokens, size) for size in range(len(tokens) + 1))


def ensemble_variation() -> ClaimJudgement:
    """(1 - w) TV(p, q), w = 1/2."""
    return variation_is("ensemble", lambda p, q: apart(p, q) / 2)


def raised_rows_stay_near(delta: float) -> ClaimJudgement:
    """KL(h || p) <= delta for the row h that a drafted token is verified against; the largest of all pairs."""
    found = [(divergence(raised(p, x, peak(p, x, delta)), p), k, x) for k, pair in enumerate(ONE_STEP)
             for p, q in [rows(pair)] for x, w in enumerate(q) if w]  # fmt: skip
    most, k, x = max(found, key=lambda one: one[0])
    if most <= delta:
        return ClaimJudgement(HOLDS, f"{len(ONE_STEP)} pairs of models, KL at most {most:.4f}")
    return ClaimJudgement(REFUTED, f"KL {most:.4f} where {x} is drafted", ONE_STEP[k])


def law_stays_near(delta: float) -> ClaimJudgement:
    """KL(law of the token || p) <= delta."""
    rule = tree_reference("cactus")
    found = [divergence(first_token(rule, pair), rows(pair)[0]) for pair in ONE_STEP]
    most = max(found)
    if most <= delta:
        return ClaimJudgement(HOLDS, f"{len(ONE_STEP)} pairs of models")
    return ClaimJudgement(REFUTED, f"KL {most:.4f}", ONE_STEP[found.index(most)])


# Greedy drafts


def divergence_to_miss(target: Row, rank: int) -> float:
    """The least KL(p || q) of rows q whose largest entry is none of p's so many largest: those and it have one mean."""
    p = sorted(map(as_float, target), reverse=True)
    mean = max((p[rank] + sum(p[:k])) / (k + 1) for k in range(rank + 1))
    return sum(w * log(w / mean) for w in [w for w in p[:rank] if w > mean] + [p[rank]] if w)


def missed_only_far_from_the_target(rank: int, of_it: float = 1.0) -> ClaimJudgement:
    """Return whether q is so far from p wherever its largest entry is none of the largest of p; some q no further."""
    missed, nearest = 0, inf
    for pair in ONE_STEP:
        p, q = rows(pair)
        tops = [y for y, w in enumerate(q) if w == max(q) and sum(v > p[y] for v in p) >= rank]
        if tops and rank < len(p):
            missed += 1
            found, least = divergence(p, q), of_it * divergence_to_miss(p, rank)
            nearest = min(nearest, found - least)
            if found < least - 1e-12:
                return ClaimJudgement(REFUTED, f"KL {found:.4f}, {least:.4f} expected at least", pair)
    if nearest > 1e-12:
        return ClaimJudgement(REFUTED, f"no q of {missed} reaches it")
    return ClaimJudgement(HOLDS, f"{missed} pairs of models, and it is reached")


# Laws that are declared


def _asking(pair: Problem, **law: Any) -> Problem:
    return replace(pair, law=DeclaredLaw(**law))


def keeps_what_is_asked(names: Sequence[str], laws: Sequence[DeclaredLaw], pairs: Sequence[Problem]) -> ClaimJudgement:
    """Verifiers that are given the rows of a declared law follow it, wherever it is one."""
    examined = 0
    for name in names:
        for asked in laws:
            for pair in pairs:
                exact = in_field(replace(pair, law=asked))
                try:
                    judged = claims.lossless(exact, output_law(exact.as_asked, reference(name)))
                except InputError:  # nothing may follow a text
                    continue
                examined += 1
                if not judged.holds and exact.law:
                    return ClaimJudgement(REFUTED, f"{name}, {exact.law.says}", replace(pair, law=exact.law))
    return ClaimJudgement(HOLDS, f"{examined} laws")


CASCADES = [
    DeclaredLaw(cascade=CascadeForm(defer, alpha))
    for defer in ("chow", "difference", "optimal")
    for alpha in ("0", "1/5", "1/2")
]
"""Speculative cascades of every rule of deferral."""

MASKS = [
    DeclaredLaw(grammar=GrammarForm(allowed, "projected")) for allowed in ({"1": [0], "0,1": [0]}, {"": [0], "0": [1]})
]
"""Grammars of two tokens, as masks."""


def ensemble_text_is_the_mixture() -> ClaimJudgement:
    """The first gamma + 1 tokens of the ensemble's loop against a text drawn from the mixture throughout."""
    for pair in (toy(1), *lattice_pairs(2, 1, 3)):
        exact = in_field(pair)
        mixture = ContextFree(tuple((p + q) / 2 for p, q in zip(*rows(pair))))
        observed = completed(output_law(exact, tree_reference("ensemble")), mixture, 2)
        if tv := total_variation(observed, joint_law(mixture, 2)):
            return ClaimJudgement(REFUTED, f"TV {figure(tv)}", pair)
    return ClaimJudgement(HOLDS, "pairs of models")


def masked_text_is_conditional(pairs: Sequence[Problem]) -> ClaimJudgement:
    """Token verification of masked rows against the law of texts given that the grammar takes them."""
    allowed = {"1": [0], "0,1": [0]}
    for pair in pairs:
        masked, conditional = (_asking(pair, grammar=GrammarForm(allowed, law)) for law in ("projected", "conditional"))
        exact = in_field(conditional)
        try:
            judged = claims.lossless(exact, output_law(in_field(masked).as_asked, reference("token")))
        except InputError:
            continue
        if w := judged.witness:
            on = f"TV {figure(judged.total_variation)}: `{w.sequence}` has {w.observed}, expected {w.expected}"
            return ClaimJudgement(REFUTED, on, conditional)
    return ClaimJudgement(HOLDS, f"{len(pairs)} pairs of models")
