"""The measured law of a verifier on a wide problem, and its departure from each claim."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, repeat
from typing import Any

import numpy as np

from ...models.law import Prefix, prefix_key
from ...models.wide import WideProblem
from ...models.wide_rows import row_sum
from ...verifiers.details import LawDetail, WideDetail
from ...verifiers.evidence import REFUTED, LawEntry, Method, Witness
from ..rounding.rounding_allowed import (
    HALF,
    MOST,
    Precision,
    entries_explained,
    excused,
    precision,
    wide_explained,
    wide_rounding_allowed,
)
from ..rounding.token_and_block import PAIRWISE, sum_depth
from . import verdict_rule
from .law import MAX_ENTRIES, NOT_LOSSLESS, Departure, Law, decided_together
from .wide_frontier import Frontier, Row, frontier

IN_PAIRS = " (for sums over the vocabulary in order, or as followed; in pairs at most TV {theorem_pairwise:.2g})"
LOOK_UPS = "; look-ups in a running sum add at most TV {:.2g} by the rule, {:.2g} by the theorem"


@dataclass(frozen=True, eq=False)
class WideMeasurement(Law):
    """A law on a wide problem.

    rounding: has "theorem_pairwise" too, the bound for sums in pairs. What holds is within it.
    target, draft: prefix that can be drafted -> row in use, float64, normalised.
    emitted: prefix -> Pr(prefix y is emitted), [V], over draft blocks and the verifier's own chance.
    malformed: outcome that is no sequence of 1..gamma+1 tokens of the vocabulary -> its probability.
    strays: probability of outputs that leave the draft block before their last token.
    unknown: probability of outcomes that are not known; if it is not 0, ``reason`` says why.
    ids: token ids that calls emitted.
    called: number of calls that confirmed a path's row. least: the fewest of one row.
    not_called: probability of the tokens that no call led to.
    looked_up, looked_up_explained: what look-ups in a running sum may add, by the rule and by the theorem.
    looked_up_certain: the same by the rule, in the observed dtype.
    looked_up_entries: prefix -> how far look-ups may move each entry, [V].
    slack: two bounds of the whole law by which its entries are bounded: for what is cleared, for what is refuted.
    resolution: total variation to which the law is known. Any entry may be off by it.
    """

    problem: WideProblem
    target: Mapping[Prefix, Row] = field(default_factory=dict)
    draft: Mapping[Prefix, Row] = field(default_factory=dict)
    emitted: Mapping[Prefix, Row] = field(default_factory=dict)
    malformed: Mapping[Any, float] = field(default_factory=dict)
    strays: float = 0.0
    unknown: float = 0.0
    ids: frozenset[int] | set[int] = frozenset()
    called: int = 0
    least: int | None = None
    not_called: float = 0.0
    looked_up: float = 0.0
    looked_up_explained: float = 0.0
    looked_up_certain: float = 0.0
    looked_up_entries: Mapping[Prefix, Row] = field(default_factory=dict)
    slack: tuple[float, float] = (math.inf, math.inf)
    resolution: float = 0.0

    @property
    def method(self) -> Method:
        return Method.INTERCEPTION

    @property
    def detail_type(self) -> type[LawDetail]:
        return WideDetail if self.tells else LawDetail

    @cached_property
    def size(self) -> dict[str, Any]:
        sizes: dict[str, Any] = {"vocabulary": self.problem.vocabulary, "gamma": self.problem.gamma}
        if self.target:
            sizes["smallest_probability"] = min(float(row[row > 0].min()) for row in self.target.values())
        return sizes

    @property
    def decisions(self) -> int:
        """Return the number of coins. Look-ups count the lattice of their own uniforms."""
        return self.problem.gamma + 1

    def on_lattice(self, bits: int | None) -> "WideMeasurement":
        if bits is None:
            return self
        law = super().on_lattice(bits)
        more = law.tolerance - self.tolerance
        return replace(law, slack=(self.slack[0] + more, self.slack[1] + more))

    def facts(self) -> dict[str, Any]:
        """Return what evidence of any claim states about the law.

        ids_called: calls that confirmed that tokens are treated alike.
        mass_not_called: mass of tokens without such a call.
        allowed_to_look_ups: part of the bound for running sums, by ``rounding_allowed.look_up_allowed``.
        look_ups_explained: the same by ``rounding_allowed.look_up_explained``.
        """
        if not self.tells:
            return super().facts()
        return {
            "exactness": self.exactness, "dtype": self.dtype, "paths": self.paths, **self.size,
            "ids_called": self.called, "fewest_ids_of_a_row": self.least,
            "ids_drafted": len({*chain(*self.problem.live)}), "ids_emitted": len(self.ids),
            "mass_not_called": self.not_called,
            "allowed_to_look_ups": self.looked_up, "look_ups_explained": self.looked_up_explained,
            **({"mass_unknown": self.unknown, "reason": self.reason} if self.unknown else {}),
            **({"between_levels": self.between_levels} if self.between_levels else {}),
            **({"missed": self.missed, "confirmations": self.confirmations} if self.missed else {}),
        }  # fmt: skip

    def undecided(self, found: Departure) -> str:
        looked_up = self.looked_up, self.looked_up_explained
        return super().undecided(found) + IN_PAIRS.format(**self.rounding) + (
            LOOK_UPS.format(*looked_up) if any(looked_up) else ""
        )  # fmt: skip

    def withdrawn(self, reason: str) -> "WideMeasurement":
        return replace(super().withdrawn(reason), emitted={}, malformed={}, unknown=1.0)

    def with_given_rows(self) -> "WideMeasurement":
        """Return the law with the problem's own rows if it has none."""
        if self.target:
            return self
        prefixes = [x for n in range(self.problem.gamma + 1) for x in self.problem.prefixes(n)]
        target = {x: self.problem.target_row(x) for x in prefixes}
        draft = {x: self.problem.draft_row(x) for x in prefixes if len(x) < self.problem.gamma}
        return replace(self, target=target, draft=draft)

    def allowing(self, sums_off: float, resolution: float, used: Precision | None = None) -> "WideMeasurement":
        """Return the law with the bounds of rounding by the rule and by the theorem; never beyond MOST.

        It is cleared within the bound for sums in pairs, and refuted beyond that for the longest sums that may be in
        it: of weights in order, unless shorter ones were followed; of rows that are divided in order if that was seen.
        used: the types in which it computes; by default as far as the rows' type says.
        """
        used = used or precision(self.dtype)
        rule, in_pairs = self._bounds(used.judged, sums_off, PAIRWISE)
        orders = PAIRWISE, used.sums, used.normalised
        if len({sum_depth(self.problem.vocabulary, order) for order in orders}) > 1:
            longest = self._bounds(used.judged, sums_off, used.sums, used.normalised)[1]
        else:  # long blocks are over two tokens
            longest = in_pairs
        looked_up = self.looked_up, self.looked_up_explained
        certain = math.inf
        if used.certain != used.judged:
            certain = excused(min(self._bounds(used.certain, sums_off, PAIRWISE)) + self.looked_up_certain, resolution)
        half = used.judged in HALF
        return replace(
            self,
            rounding={"rule": rule, "theorem": min(longest, MOST), "theorem_pairwise": min(in_pairs, MOST)},
            tolerance=excused(min(rule, in_pairs) + min(looked_up), resolution),
            explained=excused(max(rule, longest) + max(looked_up), resolution),
            arithmetic=used.judged if used.judged != self.dtype else None,
            resolution=resolution,
            certain=certain,
            slack=(math.inf, math.inf) if half else tuple(max(rule, most) + resolution for most in (in_pairs, longest)),
        )

    def _bounds(self, dtype: str, sums_off: float, order: str, normalised: str = PAIRWISE) -> tuple[float, float]:
        """Return the rule's and the theorem's bound for a type and for sums in these orders, without look-ups."""
        rule = wide_rounding_allowed(self.problem.gamma, dtype, self.problem.vocabulary, sums_off, self.dtype)
        if not self.target:
            return rule, rule
        return rule, wide_explained(self.target, self.draft, dtype, sums_off, order, normalised)

    def frontier(self) -> Frontier:
        """Return ``wide_frontier.frontier`` of what is emitted."""
        return frontier(self.problem, self.target, self.emitted)

    @property
    def total_variation(self) -> float:
        """Return the total variation from the target; a lower bound of it if part of the law is unknown."""
        return self._distances[0]

    @cached_property
    def lossless(self) -> Departure:
        """Return the departure of the completed law from the target's, over the rows in use (Eq. 7).

        Rounding excuses no more of each entry than it can move that, and of all together no more than their bound.
        """
        apart, *beyond = self._distances
        allowed = zip((self.tolerance, self.explained), beyond)
        tolerance, explained = (min(most, apart - more) for most, more in allowed)
        return Departure(apart, tolerance, explained, self._side_by_side, detail=self._beside)

    @cached_property
    def _distances(self) -> tuple[float, float, float]:
        """Return the total variation and, for each of ``slack``, what rounding of entries cannot explain of it.

        Where part of the law is unknown, by how much it exceeds the target's: that is the least total variation.
        What a look-up moves a token by that can be drafted, it moves the texts by that go on with it, in proportion.
        """
        part = 1.0 if self.unknown or self.strays else 0.5
        apart = [] if part == 1 else [*self.malformed.values()]
        beyond = [0.0, 0.0]
        looked_up = frontier(self.problem, self.target, self.looked_up_entries)
        entries = looked_up if self.looked_up_entries else repeat(None)
        for (prefix, observed, right), entry in zip(self.frontier(), entries):
            gap = observed - right  # in place from here on: a row takes as long to make as to look through
            np.maximum(gap, 0.0, out=gap) if part == 1 else np.abs(gap, out=gap)
            apart.append(float(gap.sum()))
            if not min(self.slack) < 1:
                continue
            of = self._consists_of(prefix, observed, right)
            for k, slack in enumerate(self.slack):
                if slack < 1:
                    most = entries_explained(self.computed_in, slack, of)
                    most += self.resolution
                    if entry is not None:
                        most += entry[1]
                    np.maximum(np.subtract(gap, most, out=most), 0.0, out=most)
                    beyond[k] += part * row_sum(most)
        return part * math.fsum(apart), beyond[0], beyond[1]

    def _consists_of(self, prefix: Prefix, observed: Row, right: Row) -> Row:
        """Return what each entry after a prefix can consist of: probabilities of being emitted, due or drafted."""
        most = np.maximum(observed, right)
        if prefix not in self.draft:
            return most
        other = self.target[prefix] - self.draft[prefix]
        np.maximum(other, 0.0, out=other)
        other /= max(row_sum(other), 1e-300)
        other += self.draft[prefix]
        other *= self._reached[prefix]
        most += other
        return most

    @cached_property
    def _reached(self) -> dict[Prefix, float]:
        """Return the probability with which each prefix is drafted."""
        reached: dict[Prefix, float] = {(): 1.0}
        for prefix in sorted(self.draft, key=len):
            for token in self.problem.drafted(prefix):
                reached[(*prefix, token)] = reached[prefix] * float(self.draft[prefix][token])
        return reached

    def _beside(self) -> dict[str, Any]:
        beside: dict[str, Any] = {"rounding": self.rounding} if self.rounding else {}
        if self.emitted:
            blocks = self.problem.prefixes(self.problem.gamma)
            beside["decided"] = decided_together(blocks, self.target.__getitem__, self.draft.__getitem__)
        return beside

    def _side_by_side(self) -> Witness:
        """Return where the laws differ most."""
        gaps: list[tuple[float, str, float, float]] = []
        for prefix, observed, right in self.frontier():
            gap = np.maximum(observed - right, 0) if self.unknown else np.abs(observed - right)
            for token in np.argsort(gap)[-MAX_ENTRIES:]:
                key = prefix_key((*prefix, int(token)))
                gaps.append((float(gap[token]), key, float(right[token]), float(observed[token])))
        for outcome, mass in self.malformed.items():
            emitted = outcome if isinstance(outcome, str) else f"emits {prefix_key(outcome)}"
            gaps.append((mass, emitted, 0.0, mass))
        gaps.sort(key=lambda entry: (-entry[0], entry[1]))
        laws = tuple(LawEntry(key, f"{p:.12g}", f"{q:.12g}") for _, key, p, q in gaps[:MAX_ENTRIES])
        return self.shown(laws[0], laws=laws)

    @cached_property
    def support(self) -> Departure:
        """Return the token of target probability 0 that is emitted with the largest probability.

        zeros: whether the target gives any token probability 0.
        """
        worst, sequence = 0.0, ()
        for prefix, row in self.emitted.items():
            wrong = np.where(self.target[prefix] == 0, row, 0.0)
            token = int(wrong.argmax())
            if wrong[token] > worst:
                worst, sequence = float(wrong[token]), (*prefix, token)
        zeros = any(bool((row == 0).any()) for row in self.target.values())
        entry = LawEntry(prefix_key(sequence), "0", f"{worst:.3g}")
        return Departure(worst, witness=lambda: self.shown(entry), detail=lambda: {"zeros": zeros})

    @cached_property
    def optimal(self) -> Departure:
        """Compare E[tau] with block verification's (Theorem 2)."""
        if not self.known:
            return Departure()
        if self.malformed or self.lossless.refutes:
            return Departure(not_claimed=NOT_LOSSLESS)
        accepted, optimum = self.expected_accepted(), self.optimum()
        tolerance, slack = (self.problem.gamma * most + 1e-13 for most in (self.tolerance, self.explained))
        short = verdict_rule.decide(optimum - accepted, tolerance, slack) == REFUTED
        entry = LawEntry("E[tau]", f"{optimum:.12g}", f"{accepted:.12g}")
        detail = {"expected_accepted": entry.observed, "optimum": entry.expected,
                  "tokens_per_call_lost": optimum - accepted if short else 0.0}  # fmt: skip
        bound = slack + self.problem.gamma * self.missed
        return Departure(abs(accepted - optimum), tolerance, slack, lambda: self.shown(entry), bound, lambda: detail,
                         "E[tau] off by")  # fmt: skip

    def expected_accepted(self) -> float:
        return math.fsum(len(prefix) * float(row.sum()) for prefix, row in self.emitted.items())

    def optimum(self) -> float:
        """Return block verification's E[tau] = sum over live x of M_s(x) p(x), p as in Eq. (9). Source: Lemma 3."""
        total = 0.0
        reached: dict[Prefix, tuple[float, float]] = {(): (1.0, 1.0)}
        for prefix in sorted(self.draft, key=len):
            mass, survived = reached.pop(prefix, (0.0, 0.0))
            for token in self.problem.drafted(prefix):
                q = float(self.draft[prefix][token])
                if q and mass:
                    here = min(survived * float(self.target[prefix][token]) / q, 1.0)
                    total += mass * q * here
                    reached[(*prefix, token)] = mass * q, here
        return total
