"""Every token of every text as a draw from the row of its context, and those draws against their rows.

After each context the next tokens, in the order in which they come, are independent draws from one row, whatever led to
the context: so they are a stack from which texts take. How often a context comes is drawn beforehand, and of each
stack so many tokens are counted; where texts took fewer, the rest is drawn here. That makes the counts those of
independent draws of (context, token) whose law is known, with no approximation.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from ....models.decoding_settings import Row, TextRequest, ended, modified
from ....models.law import Model, Prefix, prefix_key
from ....stattests.arguments import BETA
from ....stattests.rounding import Deviation, deviation
from ....verifiers.evidence import LawEntry
from ..engines.child import ENDED

Context = tuple[Any, ...]

DIGITS = 9
"""Decimal digits to which two rows count as equal."""

RARE = 0.01
"""Share of all tokens below which a context is counted together with others, by quantiles."""

OTHERS = "rarer contexts, by quantiles"
"""Name of the cell of all rarer contexts."""


class NextRows:
    """A request's rows of the next token, each computed once.

    model: the target, of order 1.
    tokens: the cap.
    order: of processors, as in ORDERS.
    """

    def __init__(self, model: Model, settings: Mapping[str, Any], tokens: int, order: Sequence[str]):
        self.model, self.settings, self.tokens, self.order = model, settings, tokens, order
        self._known: dict[Any, tuple[Context, Row]] = {}
        self._size = len(model.row(()))
        has = settings.keys() & {*order}
        parts: dict[str, Callable[[Prefix, Prefix], Any]] = {
            "repetition_penalty": lambda prompt, text: frozenset(prompt + text),
            "presence_penalty": lambda prompt, text: frozenset(text),
            "frequency_penalty": lambda prompt, text: tuple(map(text.count, range(self._size))),
            "min_tokens": lambda prompt, text: min(len(text), settings["min_tokens"]),
            "forced_eos": lambda prompt, text: len(text) == tokens - 1,
            "no_repeat_ngram": lambda prompt, text: prompt + text,
        }
        self._parts = [part for name, part in parts.items() if name in has]
        self._ends = bool(settings.keys() & {"eos", "stop"})

    def at(self, prompt: Prefix, text: Prefix) -> tuple[Context, Row]:
        """Return what the next token depends on, in a form that can be compared, and its row. Raises: NoTextLaw."""
        last = (text or prompt)[-1:]
        key = (last, *(part(prompt, text) for part in self._parts)) if self._parts else last
        if key not in self._known:
            row = modified(self.model.row(prompt + text), TextRequest(prompt, text, self.tokens, self.settings),
                           self.order)  # fmt: skip
            self._known[key] = (prefix_key(last), *(round(p, DIGITS) for p in row)), row
        return self._known[key]

    def over(self, text: Prefix) -> bool:
        """Check whether the text has ended."""
        return len(text) >= self.tokens or (self._ends and text != () and ended(text, self.tokens, self.settings))


@dataclass
class NextTokens:
    """A sequence of the tokens of texts with their contexts.

    contexts, before, tokens: of each token the number of its context, the token before that context's, and itself.
    numbers, rows: of each context, in the order of their numbers.
    impossible: text up to a token that has probability 0, comes after the text's end or is missing -> how often.
    """

    contexts: list[int] = field(default_factory=list)
    before: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    numbers: dict[Context, int] = field(default_factory=dict)
    rows: dict[Context, Row] = field(default_factory=dict)
    impossible: Counter[Prefix] = field(default_factory=Counter)
    texts: int = 0

    def add(self, rows: NextRows, prompt: Prefix, text: Prefix) -> None:
        """Add the tokens of a text, up to the first that cannot be."""
        self.texts += 1
        whole = (-1, -1, *prompt, *text)
        for i, token in enumerate(text):
            context, row = rows.at(prompt, text[:i])
            if rows.over(text[:i]) or not 0 <= token < len(row) or not row[token]:
                self.impossible[text[: i + 1]] += 1
                return
            self.rows.setdefault(context, row)
            self.contexts.append(self.numbers.setdefault(context, len(self.numbers)))
            self.before.append(whole[len(prompt) + i])
            self.tokens.append(token)
        if not rows.over(text):
            self.impossible[(*text, ENDED)] += 1

    def write(self, rows: NextRows, prompt: Prefix, rng: np.random.Generator) -> None:
        """Draw a text from the rows, and add it."""
        text: Prefix = ()
        for u in rng.random(rows.tokens).tolist():
            if rows.over(text):
                break
            sums = list(accumulate(rows.at(prompt, text)[1]))
            text += (min(bisect_right(sums, u), len(sums) - 1),)
        self.add(rows, prompt, text)

    def counts(self) -> Iterator[tuple[Context, np.ndarray, np.ndarray]]:
        """Yield each context with the counts of its next tokens and its row."""
        contexts, tokens = np.array(self.contexts, dtype=np.int64), np.array(self.tokens, dtype=np.int64)
        for k, (context, row) in enumerate(self.rows.items()):
            yield context, np.bincount(tokens[contexts == k], minlength=len(row)), np.array(row)

    def by(self, level: str) -> tuple[np.ndarray, dict[int, tuple[str, Row]]]:
        """Return the number of each token's context at a level, and the name and row of each number."""
        names = {k: (str(context), row) for k, (context, row) in enumerate(self.rows.items())}
        numbers = np.array(self.contexts, dtype=np.int64)
        if level == LEVELS[0]:
            return numbers, names
        size = 2 + max((len(row) for _, row in names.values()), default=0)
        numbers = numbers * size + np.array(self.before, dtype=np.int64) + 1
        return numbers, {int(k): (f"{k % size - 1} before {names[k // size][0]}", names[k // size][1])
                         for k in np.unique(numbers)}  # fmt: skip


class Fit(NamedTuple):
    """A result: how well the tokens fit their rows.

    tests: level -> the test.
    limits: level -> the total variation of the next token from its row, averaged over the tokens of all texts, that is
        missed with probability BETA.
    tokens: how many were counted.
    apart: a lower bound on that total variation.
    entries: as of ``entries_of``.
    """

    tests: dict[str, Deviation]
    limits: dict[str, float]
    tokens: int
    apart: float
    entries: tuple[LawEntry, ...]

    @property
    def refuted(self) -> bool:
        """Return True if any test refutes."""
        return any(test.refuted for test in self.tests.values())


LEVELS = ("context", "context and the token before")
"""What tokens are grouped by, one test each."""


def fit(seen: NextTokens, written: NextTokens, asked: int, alpha: float, seed: int) -> Fit:
    """Test whether the tokens are draws from their rows.

    seen: of the server's texts.
    written: of texts that were written here, which say how often contexts come.
    asked: texts of the server.
    Guarantee: refuted with probability at most alpha if each token is drawn from its row, at any number of texts.
    ``limits`` are as in ``deviation``, for tokens whose deviation depends on the context alone.
    """
    rng, tests, limits = np.random.default_rng([seed, asked]), {}, {}
    n = round(len(written.tokens) * asked / written.texts)
    for level in LEVELS:
        counts, law, grown = _draws(seen, written, n, level, rng)
        tests[level] = deviation(counts, law, 0.0, alpha / len(LEVELS), BETA)
        limits[level] = float(grown(tests[level].limit))
    apart = max(test.distance.lower for test in tests.values())
    return Fit(tests, limits, len(seen.tokens), apart, (*entries_of(seen),))


def _draws(
    seen: NextTokens, written: NextTokens, n: int, level: str, rng: np.random.Generator
) -> tuple[Counter, dict[Any, float], Callable[[float], float]]:
    """Return counts and law of n draws of (context, token), and how the limit grows for those that were drawn here.

    A deviation d of the tokens is one of at least d (1 - f) of the draws, where f is the largest share of a stack that
    was drawn here; and of at least d - g, where g is the share of all draws.
    """
    numbers, names = written.by(level)
    came = Counter(numbers.tolist())
    common = sorted(names[k] for k, times in came.items() if times >= RARE * len(numbers))
    weights = np.array([came[k] / len(numbers) for k in sorted(came, key=lambda k: names[k]) if names[k] in common])
    numbers, theirs = seen.by(level)
    tokens, called = np.array(seen.tokens, dtype=np.int64), {name: k for k, (name, _) in theirs.items()}
    stacks = [(name, row, tokens[numbers == called.get(name, -1)]) for name, row in common]
    stacks.append((OTHERS, [1 / len(common[0][1])] * len(common[0][1]), _quantiles(seen, numbers, theirs, common, rng)))
    weights = np.append(weights, max(0.0, 1 - weights.sum()))
    counts, law, most, drawn = Counter(), {}, 0.0, 0
    for (name, row, stack), weight, wanted in zip(stacks, weights, rng.multinomial(n, weights), strict=True):
        taken, size = stack[:wanted], len(row)
        missing = int(wanted) - len(taken)
        more = rng.multinomial(missing, np.array(row) / sum(row))
        for token, times in enumerate(np.bincount(taken, minlength=size) + more):
            if times:
                counts[name, token] = int(times)
        law |= {(name, token): float(weight * p) for token, p in enumerate(row) if p and weight}
        most, drawn = max(most, missing / wanted if wanted else 0.0), drawn + missing
    return counts, law, lambda limit: min(1.0, limit / max(1e-9, 1 - most), limit + drawn / max(1, n))


def _quantiles(
    seen: NextTokens, numbers: np.ndarray, names: Mapping[int, tuple[str, Row]], common: Sequence[tuple[str, Row]],
    rng: np.random.Generator,
) -> np.ndarray:  # fmt: skip
    """Return the tokens of rarer contexts as quantiles of their rows, in equal parts: uniform whatever the row is."""
    rare = {k for k, named in names.items() if named not in common}
    places = np.flatnonzero(np.isin(numbers, [*rare]))
    parts, uniform = [], rng.random(len(places))
    for place, u in zip(places.tolist(), uniform.tolist()):
        row, token = names[int(numbers[place])][1], seen.tokens[place]
        parts.append(min(int((sum(row[:token]) + u * row[token]) / sum(row) * len(row)), len(row) - 1))
    return np.array(parts, dtype=np.int64)


def entries_of(seen: NextTokens) -> Iterator[LawEntry]:
    """Yield the shortest impossible text, if any came, and the row whose tokens are most off."""
    if seen.impossible:
        text = min(seen.impossible, key=lambda text: (len(text), text))
        yield LawEntry(words(text), "0", f"{seen.impossible[text]} of {seen.texts} outputs")
    worst, entries = -1.0, ()
    for context, counts, row in seen.counts():
        n, after = int(counts.sum()), context[0] or "the start"
        apart = counts / max(1, n) - row
        if (off := float(np.abs(apart).sum()) * n**0.5) > worst:
            worst = off
            entries = tuple(
                LawEntry(f"{t} after {after}", f"{row[t]:.6g}", f"{counts[t] / max(1, n):.6g} ({counts[t]} of {n})")
                for t in np.argsort(-np.abs(apart)).tolist()
            )
    yield from entries


def shared(seen: NextTokens, other: NextTokens) -> tuple[Counter, Counter]:
    """Count, for each context, equally many first tokens of either: (context, token) -> how often."""
    first, second = Counter(), Counter()
    numbers = [np.array(tokens.contexts) for tokens in (seen, other)]
    for context in seen.rows.keys() & other.rows.keys():
        stacks = [np.array(one.tokens)[n == one.numbers[context]] for one, n in zip((seen, other), numbers)]
        size = min(map(len, stacks))
        for counts, stack in zip((first, second), stacks):
            tokens, times = np.unique(stack[:size], return_counts=True)
            counts.update({(str(context), int(t)): int(m) for t, m in zip(tokens, times)})
    return first, second


def words(tokens: Iterable[int]) -> str:
    """Return a text of a witness. If its end is what is impossible, that is said."""
    return " ".join("(nothing more)" if t == ENDED else str(t) for t in tokens)
