"""A forged pair: the law of its first tokens under the settings, as a problem, and the texts that were counted."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import log2
from typing import Any, NamedTuple

from ....models.generating.several_paths import independent_paths
from ....models.law import Markov, Prefix, prefix_key
from ....models.problem import Problem, as_json
from ....models.rationals import as_float
from ....proofs.enumeration import batched_law_of
from ....proofs.field import in_field, rational
from ....proofs.laws.law import Departure
from ....proofs.laws.reference_laws import expected_accepted, joint_law, output_law
from ....proofs.laws.text_masses import distance
from ....stattests.arguments import BETA
from ....stattests.mean import mean_interval, min_detectable_mean
from ....verifiers.details import LoopLawDetail, MeanDetail
from ....verifiers.evidence import HOLDS, NO_EVIDENCE, REFUTED, Evidence, Method
from ..engines.texts import MOST_LOG2, judged, text_length
from .forward_passes import full_pass
from .session import LoopSession, seen

SOURCE = "its rows as loaded, as the rationals they were forged from where they are near them"
"""Source of a forged pair's law, in words."""

MAX_DENOMINATOR = 1000
"""Largest denominator of the rational row that a row as loaded is taken to be forged from."""

FORGE_ROUNDING = Fraction(1, 10**6)
"""Distance of each probability as loaded from that rational: what ``models.forge`` guarantees in float32."""

Row = tuple[Fraction, ...]


class ForgedLaw(NamedTuple):
    """A forged pair's law.

    problem: target and draft as they are sampled, order 1, over rationals.
    start: the start token, which is V of the forged problem.
    end: the token that ends texts, if one does. The token V of ``problem`` then stands for "the text has ended", and
        follows itself.
    """

    problem: Problem
    start: int
    end: int | None

    def countable(self, gamma: int) -> Problem:
        """Return the problem with the largest gamma up to this one whose gamma + 1 tokens can be counted."""
        most = int(MOST_LOG2 / log2(self.problem.vocabulary)) - 1
        return replace(self.problem, gamma=max(1, min(gamma, most)))

    def text(self, tokens: Sequence[int], length: int) -> tuple[int, ...]:
        """Return a text as ``problem`` writes it, filled up after its end; -1 stands after one that ended too early."""
        shift = 0 if self.end is None else 1
        text = [token + shift if token >= self.start else token for token in tokens]
        fill = self.start if text and text[-1] == self.end else -1
        return tuple(text + [fill] * (length - len(text)))


def forged_law(session: LoopSession, start: int) -> ForgedLaw:
    """Return the law of a forged pair, from one forward pass over <s>, 0, ..., V-1.

    If the settings change nothing, rows near rationals of small denominators are those, as they are in float32.
    """
    settings = session.settings
    logits = [full_pass(m, [start, *range(start)], session.pair.vocabulary) for m in session.models.values()]
    neutral = (settings.temperature, settings.top_k, settings.top_p) == (1, 0, 1)
    rows = [[_row(row[:start], neutral) for row in session.warp(part).double().softmax(-1).tolist()] for part in logits]
    end = next((token for token in sorted(settings.end_tokens) if token < start), None)
    target, draft = (_markov(part, end) for part in rows)
    name = str(session.pair.target.config.forged_from).removeprefix("target of ")
    problem = Problem(start + (end is not None), settings.longest_gamma, target, draft, name)
    return ForgedLaw(problem, start, end)


def _row(loaded: Sequence[float], neutral: bool) -> Row:
    """Return a row as rationals of small denominators if it is near such, else as loaded, divided by its sum."""
    exact = tuple(Fraction(p).limit_denominator(MAX_DENOMINATOR) for p in loaded)
    if neutral and sum(exact) == 1 and all(abs(Fraction(p) - q) <= FORGE_ROUNDING for p, q in zip(loaded, exact)):
        return exact
    return tuple(Fraction(p) / sum(map(Fraction, loaded)) for p in loaded)


def _markov(rows: list[Row], end: int | None) -> Markov:
    """Return a model of order 1. With an end token, the token V follows that and itself."""
    if end is None:
        return Markov(rows[0], tuple(rows[1:]))
    rows = [(*row, Fraction(0)) for row in rows]
    ended = tuple(Fraction(token == len(rows) - 1) for token in range(len(rows)))
    after = [ended if token == end else row for token, row in enumerate(rows[1:])]
    return Markov(rows[0], (*after, ended))


MAX_PATHS = 20_000
"""Paths of random choices that are traced at most."""

MAX_GREEDY_TOKENS = 512
"""Tokens of a text whose one path is traced at temperature 0."""

ROUNDING_PER_TOKEN = 1e-6
"""Total variation for each token that the rounding of rows in float32 may make."""


class EnumeratedLaw:
    """An enumeration of the distribution of the first tokens, with the verifier's exact form, on every random path.

    ``TextCounts`` and ``written_texts`` examine the loop's own random streams and its batched verifier.
    longest: tokens of the longest text, which may have ended early.
    """

    def __init__(self, session: LoopSession, forged: ForgedLaw):
        self.session, self.forged = session, forged
        self.length = session.settings.first_gamma + 2
        drafts = session.verifier.paths * session.settings.first_gamma
        if session.verifier.paths > 1 and forged.start ** (2 * drafts + 2) > MAX_PATHS:
            self.length = 2  # two iterations have too many paths
        if session.settings.greedy:
            self.length = max(self.length, min(MAX_GREEDY_TOKENS, session.options.new_tokens))
        self.holds, self.longest = False, 0
        self.law: dict[Prefix, float] | None = None

    def run(self) -> None:
        """Find the law of the longest texts that have few enough paths."""
        while self.length and self.law is None:
            self.longest = 0
            self.law = self.traced()
            if self.law is None:
                self.length //= 2

    def traced(self) -> dict[Prefix, float] | None:
        """Return text -> the sum over the paths that end in it; None if they are too many."""
        session, verifier = self.session, self.session.exact_verifier

        def texts(chances: list[Any]) -> list[Prefix]:
            prompts = [[self.forged.start]] * len(chances)
            written = session.decode(prompts, self.length, verifier=verifier, chance=chances)
            self.longest = max(self.longest, *map(len, written.tokens))
            return [self.forged.text(tokens, self.length) for tokens in written.tokens]

        def few(done: int, begun: int) -> bool:
            session.step(f"the exact distribution of {self.length} tokens", done, done + begun)
            return done + begun <= MAX_PATHS

        return batched_law_of(texts, few)

    def evidence(self, complete: bool) -> list[Evidence]:
        if self.law is None:
            return []
        problem, observed = self.forged.problem, self.law
        expected = {text: as_float(p) for text, p in joint_law(in_field(problem).target, self.length).items()}
        allowed, witness = ROUNDING_PER_TOKEN * self.length, None
        found = Departure(distance(observed, expected), allowed, allowed)
        verdict = found.verdict
        if found.refutes:
            texts = sorted(observed.keys() | expected.keys())
            worst = max(texts, key=lambda text: abs(observed.get(text, 0.0) - expected.get(text, 0.0)))
            both = (f"{law.get(worst, 0.0):.6g}" for law in (expected, observed))
            witness = seen(as_json(problem), prefix_key(worst), *both)
        self.holds = verdict == HOLDS
        detail = LoopLawDetail(
            tokens=self.length, law=SOURCE, chance="enumerated, in the place of the loop's streams",
            verifier="one tree at a time" if self.session.verifier.rule else "one block at a time",
        )  # fmt: skip
        measured = {"total_variation": min(1.0, found.size), "bound": allowed}
        finding = self.session.finding
        return [finding("lossless", Method.ENUMERATION, verdict, problem.name, detail, witness, **measured)]


COUNTED_TEXTS = 20_000
"""Texts, if the command does not say."""

COUNTED_ROWS = 2_000
"""Rows of a batch, if the command does not say."""

COUNTS_SHARE = 0.5
"""Share of the run's time after which no further batch is begun."""

MAX_OUTCOMES = 100_000
"""Largest V^gamma (gamma + 1) V for which E[tau] is enumerated."""


class TextCounts:
    """A count of texts of 2 gamma + 1 tokens after <s>, and of tau of their first iterations."""

    def __init__(self, session: LoopSession, forged: ForgedLaw, alpha: float):
        self.session, self.forged, self.alpha = session, forged, alpha
        self.gamma = session.settings.first_gamma
        self.problem = forged.countable(session.settings.longest_gamma)
        self.texts: Counter = Counter()
        self.accepted: Counter = Counter()
        self.samples = session.options.samples or COUNTED_TEXTS

    def run(self) -> None:
        length, batch = text_length(self.problem), self.session.options.batch or COUNTED_ROWS
        for seed in self.session.seeds("counts"):
            done = sum(self.texts.values())
            if done >= self.samples or (done and self.session.past(COUNTS_SHARE)):
                return
            self.session.step("the distribution of the first tokens", done, self.samples)
            written = self.session.decode([[self.forged.start]] * min(batch, self.samples - done), length, seed)
            self.texts.update(self.forged.text(text, length) for text in written.tokens)
            self.accepted.update(written.iterations[0].accepted)

    def evidence(self, complete: bool) -> list[Evidence]:
        if not self.texts:
            return []
        law = judged(self.problem, self.texts, self.alpha, complete)
        law = law.with_detail(dtype=self.session.pair.dtype, law=SOURCE)
        expected = self.expected_accepted() if complete else None
        return [law] if expected is None else [law, self.acceptance_evidence(expected)]

    def acceptance_evidence(self, expected: float) -> Evidence:
        """Compare what was accepted with E[tau] of the first iteration, which is known exactly."""
        calls = sum(self.accepted.values())
        measured = mean_interval(self.accepted, self.gamma, self.alpha)
        refuted = not measured.lower <= expected <= measured.upper
        limit = min_detectable_mean(calls, expected, self.gamma, self.alpha, BETA)
        what, both = "E[tau] of the first iteration", (f"{number:.6g}" for number in (expected, measured.mean))
        witness = seen(as_json(self.problem), what, *both)
        detail = MeanDetail(
            calls=calls, expected_accepted=expected, mean_accepted=measured.mean,
            interval=[measured.lower, measured.upper], false_alarm_rate=self.alpha, miss_rate=BETA,
            detection_limit=limit,
        )  # fmt: skip
        verdict, bound = (REFUTED, None) if refuted else (NO_EVIDENCE, limit)
        name = self.problem.name
        return self.session.finding("acceptance", Method.MEAN, verdict, name, detail, witness, bound=bound)

    def expected_accepted(self) -> float | None:
        """Return E[tau] of the verifier's first block, exactly; None if that takes too long."""
        gamma = self.gamma
        drafts = gamma + self.session.verifier.paths - 1  # one path, and the first token of each other one
        if self.forged.start ** (drafts + 1) * (drafts + 1) > MAX_OUTCOMES:
            return None
        verifier = self.session.verifier
        drafting = independent_paths(verifier.paths, gamma) if verifier.rule else None
        first = in_field(replace(self.forged.problem, gamma=gamma, drafting=drafting))
        return as_float(expected_accepted(output_law(first, verifier.reference(rational))))
