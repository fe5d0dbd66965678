"""The measured law of a verifier on a problem of a small vocabulary, and its departure from each claim."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from ...models.drafting import replayed
from ...models.errors import InputError
from ...models.law import Model, Prefix, prefix_key
from ...models.problem import Problem, rows_of, size_of
from ...models.rationals import as_float, as_fraction
from ...verifiers.details import DrivenDetail, LawDetail
from ...verifiers.evidence import HOLDS, REFUTED, LawEntry, Method, Strength, Witness
from ...verifiers.registry import reference
from ...verifiers.trees.draft_tree import CONTEXT, DraftTree
from ..claims import coupling_bound
from ..field import QQ, rational
from . import verdict_rule
from .law import ASKED_AGAIN, MAX_ENTRIES, NOT_LOSSLESS, Departure, Law, decided_together
from .reference_laws import (
    completed,
    completion,
    expected_accepted,
    is_output,
    joint_law,
    marginal,
    output_law,
    total_variation,
)

NOT_BOUNDED = "not valid in the plain loop, so Theorem 2 does not bound it"
"""Reason why nothing is claimed of E[tau] under greedy block verification."""

SHOWN = 100
"""A witness shows prefixes of one length, whose largest difference is more than 1 / SHOWN of that of any length."""

MAX_PREFIXES = 30
"""Number of prefixes whose probabilities a witness has for its figure."""


class Impossible(NamedTuple):
    """A token sequence that is emitted given a draft block although the target excludes one of its tokens."""

    block: Prefix
    emitted: Prefix
    place: int
    probability: Fraction


def probability_text(probability: Any, tolerance: Any = 0) -> str:
    """Return a probability for a reader: the simplest rational within the tolerance, or twelve digits."""
    exact = as_fraction(probability)
    slack = max(as_float(tolerance), 1e-15)
    simple = exact.limit_denominator(10**6)
    if abs(float(simple - exact)) <= slack and (simple != 0 or exact == 0):
        return str(simple)
    return f"{float(exact):.12g}"


@dataclass(frozen=True, eq=False)
class Measurement(Law):
    """A law on a problem of a small vocabulary: enumerated, from traced paths, or by calls that requests confirm.

    in_use: the problem with the rows that the verifier worked with, exact, over QQ.
    blocks: draft block -> the law of what is emitted given the block. An outcome is tokens, or the text of an error.
      A draft tree is named by its tokens.
    modifies_target: True for greedy block verification, after which the target is modified.
    grain: total variation by which the lattice of the uniforms alone can move the law.
    numbers: what each random number decides, of a law by calls: thresholds, a race, products, nothing.
    """

    problem: Problem
    in_use: Problem
    blocks: Mapping[Prefix, Mapping[Any, Any]] = field(default_factory=dict)
    modifies_target: bool = False
    grain: float = 0.0
    numbers: Mapping[str, str] = field(default_factory=dict)

    @property
    def method(self) -> Method:
        if self.exactness is Strength.DRIVEN:
            return Method.DRIVING
        return Method.ENUMERATION if self.dtype == "exact" else Method.INTERCEPTION

    @property
    def detail_type(self) -> type[LawDetail]:
        return DrivenDetail if self.known and self.method is Method.DRIVING else LawDetail

    def facts(self) -> dict[str, Any]:
        by_calls = {"missed": self.missed, "confirmations": self.confirmations, "numbers": self.numbers}
        return super().facts() | (by_calls if self.detail_type is DrivenDetail else {})

    @cached_property
    def size(self) -> dict[str, Any]:
        return size_of(self.problem)

    @property
    def decisions(self) -> int:
        return self.problem.tree.nodes + self.problem.vocabulary

    def completion(self) -> tuple[Model, int]:
        """Return ``reference_laws.completion`` for the rows in use."""
        return completion(self.in_use, self.modifies_target)

    def drafted(self, block: Prefix) -> Any:
        """Return the probability that a draft block or tree is drawn; 1 for the empty one, which stands for all."""
        if block and self.draws_trees:
            return self.tree(block)[1]
        return math.prod((self.in_use.draft.row(block[:i])[x] for i, x in enumerate(block)), start=QQ(1))

    @property
    def draws_trees(self) -> bool:
        """Return whether what is drafted is more than a single path."""
        return not self.problem.tree.block

    def tree(self, tokens: Prefix) -> tuple[DraftTree, Any]:
        """Return the draft tree with these tokens, and the probability with which it is drawn."""
        return replayed(self.in_use.target, self.in_use.draft, self.in_use.tree, tokens)

    def outcomes(self) -> dict[Any, Any]:
        """Return the law of what is emitted, over draft blocks or trees and the verifier's own chance."""
        law: dict[Any, Any] = {}
        for block, given in self.blocks.items():
            drafted = self.drafted(block)
            for outcome, probability in given.items():
                law[outcome] = law.get(outcome, 0) + drafted * probability
        return law

    def outputs(self) -> dict[Prefix, Any]:
        """Return the part of the law on sequences that a verifier may emit: 1..gamma+1 tokens of the vocabulary."""
        return {o: p for o, p in self.outcomes().items() if is_output(o, self.problem)}

    def strays(self) -> dict[Any, Any]:
        """Return outcomes that are no accepted draft prefix and one more token (Definition 1), with their mass."""
        strange: dict[Any, Any] = {}
        for block, given in self.blocks.items():
            texts = self._texts(block) if block else ()
            for outcome, probability in given.items():
                if block and is_output(outcome, self.problem) and outcome[:-1] not in texts:
                    strange[outcome] = strange.get(outcome, 0) + probability
        return strange

    def _texts(self, block: Prefix) -> set[Prefix]:
        """Return the texts that can be accepted of a draft block or tree."""
        if not self.draws_trees:
            return {block[:i] for i in range(len(block) + 1)}
        tree = self.tree(block)[0]
        return {tree.path(n) for n in range(CONTEXT, len(block))}

    def distance(self, other: "Measurement") -> float:
        """Return the largest total variation, over draft blocks, of the two laws given the block."""
        if self.blocks.keys() != other.blocks.keys():
            return 1.0
        pairs = ((law, other.blocks[block]) for block, law in self.blocks.items())
        return max((as_float(total_variation(*pair)) for pair in pairs), default=0.0)

    def agrees_with(self, other: "Measurement", lattice: float = 0.0) -> bool:
        """Return whether both laws are the same for each draft block, up to rounding and a lattice of uniforms."""
        allowed = self.tolerance + lattice, self.explained + lattice
        return verdict_rule.decide(self.distance(other), *allowed) == HOLDS

    def text(self, probability: Any, tolerance: Any = 0) -> str:
        """Return a measured probability for a reader: of multiplied uniforms, as many digits of it as are known."""
        if "products" not in self.numbers.values():
            return probability_text(probability, tolerance)
        known = -math.log10(max(as_float(tolerance), 1e-12))
        return f"{as_float(probability):.{max(int(known), 2)}g}"

    @cached_property
    def lossless(self) -> Departure:
        """Return the departure of the completed law from the one asked for, over the rows in use (Eq. 7; Lemma 8).

        An outcome that is no sequence of 1..gamma+1 tokens of the vocabulary (an exception) counts in full.
        """
        if not self.known:
            return Departure()
        continued, length = self.completion()
        observed: dict[Any, Any] = completed(self.outputs(), continued, length)
        observed |= {o: p for o, p in self.outcomes().items() if not is_output(o, self.problem)}
        expected = joint_law(self.in_use.asked, length)
        return Departure(
            as_float(total_variation(observed, expected)), self.tolerance, self.explained,
            lambda: self._side_by_side(observed, expected),
            detail=self._beside, open=self.findings.get(ASKED_AGAIN),
        )  # fmt: skip

    def _beside(self) -> dict[str, Any]:
        beside: dict[str, Any] = {"rounding": self.rounding} if self.rounding else {}
        if not self.draws_trees:
            every = self.problem.prefixes(self.problem.gamma)  # where the law is not known block by block
            blocks = self.blocks if () not in self.blocks else filter(self.drafted, every)
            beside["decided"] = decided_together(blocks, self.in_use.target.row, self.in_use.draft.row)
        return beside

    def _side_by_side(self, observed: Mapping, expected: Mapping) -> Witness:
        """Return where the laws differ most, and the laws of the shortest prefixes that differ about as much."""
        slack = rational(self.tolerance)
        malformed = {
            o: p for o, p in observed.items() if o not in expected and not is_output(o, self.problem) and p > slack
        }
        if malformed:
            worst = max(sorted(malformed, key=str), key=lambda o: malformed[o])
            block = next(b for b, law in self.blocks.items() if law.get(worst, 0) != 0)
            emitted = worst if isinstance(worst, str) else f"emits {prefix_key(worst)}{self._stray(worst)}"
            entry = LawEntry(emitted, "0", self.text(malformed[worst], slack))
            return self.shown(entry, **self._draft(block), laws=(entry,))
        lengths = range(1, self.completion()[1] + 1)
        pairs = [(marginal(observed, n), marginal(expected, n)) for n in lengths]
        widest = [max(_gaps(*pair).values()) for pair in pairs]
        least = max(slack / 4, max(widest) / SHOWN)
        seen, right = next((pair for pair, gap in zip(pairs, widest) if gap > least), pairs[-1])
        gaps = _gaps(seen, right)
        laws = tuple(
            LawEntry(prefix_key(o), probability_text(right.get(o, 0), slack), self.text(seen.get(o, 0), slack))
            for o in sorted(gaps, key=lambda o: (-gaps[o], o))[:MAX_ENTRIES]
        )
        entries = [(o, as_float(q.get(o, 0)), as_float(p.get(o, 0))) for p, q in pairs for o in p.keys() | q.keys()]
        entries.sort(key=lambda e: (-abs(e[1] - e[2]), len(e[0]), e[0]))
        worst_first = sorted(entries[:MAX_PREFIXES], key=lambda e: (len(e[0]), e[0]))
        prefixes = tuple((prefix_key(o), p, q) for o, p, q in worst_first)
        return self.shown(laws[0], laws=laws, prefixes=prefixes)

    def _stray(self, emitted: Prefix) -> str:
        """Return what is said of tokens outside the vocabulary."""
        return "" if all(0 <= t < self.problem.vocabulary for t in emitted) else ", outside the vocabulary"

    def _draft(self, block: Prefix) -> dict[str, Any]:
        """Return the draft of a witness: its tokens, and of a tree their parents."""
        parents = self.tree(block)[0].parents if block and self.draws_trees else None
        return {"draft_block": prefix_key(block), "parents": parents and prefix_key(parents)}

    @cached_property
    def support(self) -> Departure:
        """Return the token of target probability 0 that is emitted with the largest probability, given a draft.

        zeros: whether the target gives any token probability 0. If not, only tokens outside the vocabulary show.
        """
        asked = self.in_use.as_asked
        texts = (x for n in range(asked.gamma + 1) for x in asked.prefixes(n)) if self.in_use.law else ()
        rows = [*map(asked.target.row, texts)] if self.in_use.law else rows_of(asked.target)
        zeros = {"zeros": any(p == 0 for row in rows for p in row)}
        worst = max(self.impossible(), key=lambda found: found.probability, default=None)
        if worst is None:
            return Departure(0, detail=lambda: zeros)
        shown = worst.emitted[: worst.place + 1]
        entry = LawEntry(f"{prefix_key(shown)}{self._stray(shown)}", "0", _rare(worst.probability))
        drafted = self._draft(worst.block)
        return Departure(worst.probability, witness=lambda: self.shown(entry, **drafted), detail=lambda: zeros)

    def impossible(self) -> Iterator[Impossible]:
        """Yield what is emitted, with however small a probability, that holds a token of target probability 0."""
        row = self.in_use.asked.row
        for block, law in self.blocks.items():
            for outcome, probability in law.items():
                tokens = outcome[: self.problem.gamma + 1] if isinstance(outcome, tuple) and probability else ()
                for i, token in enumerate(tokens):
                    if not 0 <= token < self.problem.vocabulary or row(tokens[:i])[token] == 0:
                        yield Impossible(block, outcome, i, as_fraction(probability))
                        break

    @cached_property
    def optimal(self) -> Departure:
        """Compare E[tau] with block verification's, the exact optimum of all valid verifiers (Theorem 2).

        Less is the price of the rule in tokens per call; more proves bias. A draft tree is compared with two bounds on
        what the best valid rule accepts (``largest_acceptance``). If they are far apart, nothing between is decided.
        """
        if reason := self._why_not_comparable():
            return Departure(not_claimed=reason)
        outputs, gamma, unsettled, first = self.outputs(), self.problem.gamma, None, {}
        accepted, asked = expected_accepted(outputs) if outputs else 0, self.in_use.as_asked
        if self.draws_trees:
            from ..certificates import make_tree_bound  # scipy and its solver: for trees alone

            try:
                reached, optimum = make_tree_bound.largest_acceptance(asked)
            except InputError as error:
                return Departure(not_claimed=str(error))
            first = make_tree_bound.most_of_first_step(asked, outputs)
            if as_float(optimum - reached) > make_tree_bound.CERTIFIED_TO:
                unsettled = make_tree_bound.NOT_CERTIFIED.format(as_float(reached), as_float(optimum))
        else:
            reached = optimum = expected_accepted(output_law(asked, reference("block")))
        tolerance, slack = gamma * self.tolerance, gamma * self.explained
        above, below = as_float(accepted - optimum), as_float(reached - accepted)
        biased, short = (verdict_rule.decide(gap, tolerance, slack) == REFUTED for gap in (above, below))
        near = verdict_rule.decide(abs(above), tolerance, slack) != REFUTED  # else the bounds lie further apart
        detail = {
            "expected_accepted": self.text(accepted, rational(slack)),
            "optimum": probability_text(optimum, rational(slack)),
            "tokens_per_call_lost": below if short else 0.0,
            **first,
            **({"reached": probability_text(reached)} if unsettled else {}),
            **({"above": self._above(accepted, slack)} if biased else {}),
        }
        entry = LawEntry("E[tau]", detail.get("reached", detail["optimum"]), detail["expected_accepted"])
        return Departure(
            abs(above) if near else max(above, below), tolerance, slack,
            lambda: self.shown(entry),
            gamma * (self.explained + self.missed) + as_float(optimum - reached), lambda: detail, "E[tau] off by",
            unsettled, None if biased or not self.lossless.refutes else NOT_LOSSLESS,
        )  # fmt: skip

    def _above(self, accepted: Any, slack: float) -> str:
        """Return what it means to accept more than the optimum."""
        why = "certificate" if self.draws_trees else "Theorem 2"
        above = f"more than any valid verifier accepts ({why}): that alone proves bias"
        if not self.draws_trees and as_float(accepted - sum(coupling_bound(self.in_use.as_asked).values())) > slack:
            above += "; more than any coupling allows (Lemma 10)"
        return above

    def _why_not_comparable(self) -> str | None:
        """Return why Theorem 2 says nothing of the law; None if it does."""
        if self.modifies_target:
            return NOT_BOUNDED
        failed = sum((p for o, p in self.outcomes().items() if not is_output(o, self.problem)), QQ(0))
        if verdict_rule.decide(as_float(failed), self.tolerance, self.explained) == REFUTED:
            return f"with probability {probability_text(failed)} it emits no sequence of 1 to gamma + 1 tokens"
        strays = self.strays()
        most = max(map(as_float, strays.values()), default=0.0)
        if verdict_rule.decide(most, self.tolerance, self.explained) != HOLDS:
            stray = prefix_key(max(sorted(strays), key=lambda o: strays[o]))
            return f"emits {stray}, which is not an accepted draft prefix and one more token (Definition 1)"
        return None


def _gaps(law: Mapping, other: Mapping) -> dict[Prefix, Any]:
    return {o: abs(law.get(o, 0) - other.get(o, 0)) for o in law.keys() | other.keys()}


def _rare(chance: Fraction) -> str:
    """Return a small probability as 2^-53 if it is one, else as a fraction or in digits."""
    power = chance.denominator.bit_length() - 1
    if chance.numerator == 1 and chance.denominator == 1 << power and power > 6:
        return f"2^-{power}"
    return str(chance) if chance.denominator < 10**6 else f"{float(chance):.3g}"
