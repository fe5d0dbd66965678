"""Verifiers drawn by program that choose how many tokens of a block to verify; wrong ones by rows that later tokens
lead to.

    python -m draftproof.benchmarks.drawn_deceivers.widths 17 [--right]

prints the text of number 17. A wrong one has a total variation of ``LEAST`` at least on ordinary rows, or it is drawn
again. A right one decides whether token i is verified before token i is drafted.
"""

import argparse
import random
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from draftproof.benchmarks.drawn_deceivers.drawn import LEAST
from draftproof.models.law import Prefix
from draftproof.models.problem import Problem
from draftproof.models.rationals import as_float

Width = Callable[[Any, Any, Any], int]
"""Function from a block's target rows, draft rows and tokens to how many tokens are verified."""

BY_ROW = {
    "top": "float({row}.max())",
    "entropy": "float(np.exp(-entropy({row})))",
    "normalised entropy": "1 - entropy({row}) / np.log(len({row}))",
    "entropy bound": "max(0.0, 1 - np.sqrt({scale} * entropy({row})))",
    "margin": "float(np.subtract(*np.sort({row})[[-1, -2]]))",
}
BY_TOKEN = {"confidence": "float({row}[x])"}
OF_BOTH = {
    "agreement": "float(target.argmax() == draft.argmax())",
    "overlap": "float(np.minimum(target, draft).sum())",
}
OF_BOTH_BY_TOKEN = {"acceptance": "float(min(1.0, target[x] / draft[x]))"}
"""Scores of a position by its rows, between 0 and 1, and those that need the token drafted there too."""

MODELS = {
    "draft": "{draft}", "target": "{target}", "smaller": "min({draft}, {target})", "mean": "({draft} + {target}) / 2",
    "product": "{draft} * {target}",
}  # fmt: skip

LOOKING_AHEAD = {
    "last above": "max([n + 1 for n in range(gamma) if s[n] > {c}], default=0)",
    "count above": "sum(one > {c} for one in s)",
    "all above": "gamma if min(s) > {c} else {short}",
    "any above": "gamma if max(s) > {c} else {short}",
    "mean above": "gamma if np.mean(s) > {c} else {short}",
    "product above": "gamma if np.prod(s) > {c} ** 2 else {short}",
    "last row above": "gamma if s[-1] > {c} else {short}",
    "a share of the block": "int(round(gamma * np.mean(s)))",
    "longest product": "int(np.argmax([{c} / 2, *(np.arange(1, gamma + 1) * np.cumprod(s))]))",
    "most for its cost": "int(np.argmax(np.cumsum([0, *np.cumprod(s)]) - {c} * np.array(COSTS[: gamma + 1])))",
    "most a second": "int(np.argmax((1 + np.cumsum([0, *np.cumprod(s)])) / (1 + {c} * np.array(COSTS[: gamma + 1]))))",
}
"""How the width is chosen by the scores s of all positions."""

STOPPING = {
    "first not above": "next((n for n in range(gamma) if s[n] <= {c}), gamma)",
    "first product not above": "next((n for n in range(gamma) if np.prod(s[: n + 1]) <= {c} ** 2), gamma)",
    "first that costs more": "next((n for n in range(gamma) if np.prod(s[: n + 1]) <= {c} * (COSTS[n + 1] - COSTS[n])),"
    " gamma)",
    "first that slows": "next((n for n in range(gamma) if np.prod(s[: n + 1]) * (1 + {c} * COSTS[n])"
    " <= {c} * (COSTS[n + 1] - COSTS[n]) * (1 + np.cumprod(s)[:n].sum())), gamma)",
}
"""The same by the scores of a position and those before it."""

TEXT = '''"""{title}"""

import numpy as np

COSTS = {costs}


def entropy(row):
    row = row[row > 0]
    return float(-(row * np.log(row)).sum())


def score(target, draft, x):
    return {score}


def width(target_probs, draft_probs, tokens):
    gamma = len(tokens)
    if gamma < {longer}:
        return gamma
    s = [score(target_probs[n], draft_probs[n], tokens[n]) for n in range(gamma)]
    chosen = {chosen}
    return min(max(chosen, {least}), gamma)


def verify(target_probs, draft_probs, draft_tokens, rng):
    tokens = [int(x) for x in draft_tokens]
    kept = width(target_probs, draft_probs, tokens)
{rule}'''

TOKEN = """    for n in range(kept):
        p, q = target_probs[n], draft_probs[n]
        if rng.random() * q[tokens[n]] >= p[tokens[n]]:
            rest = np.maximum(p - q, 0)
            return [*tokens[:n], int(rng.choice(len(rest), p=rest / rest.sum()))]
    return [*tokens[:kept], int(rng.choice(len(target_probs[kept]), p=target_probs[kept]))]
"""

BLOCK = """    survival = [1.0]
    for n in range(kept):
        survival.append(min(survival[-1] * target_probs[n][tokens[n]] / draft_probs[n][tokens[n]], 1.0))
    for n in range(kept, -1, -1):
        rest, h = target_probs[n], survival[n]
        if n < kept:
            rest = np.maximum(survival[n] * target_probs[n] - draft_probs[n], 0)
            h = rest.sum() / (rest.sum() + 1 - survival[n]) if rest.sum() > 0 or survival[n] < 1 else 1.0
        if n == 0 or rng.random() < h:
            break
    rest = rest if rest.sum() > 0 else target_probs[n]
    return [*tokens[:n], int(rng.choice(len(rest), p=rest / rest.sum()))]
"""


class DrawnWidth(NamedTuple):
    """A drawn verifier. source: its text. variation: the largest total variation of token verification on ordinary
    rows.
    """

    number: int
    title: str
    source: str
    variation: float

    @property
    def width(self) -> Width:
        """Return the function that chooses the width."""
        return _names(self.source)["width"]

    def written(self, folder: Path) -> str:
        """Write its source into the folder, and return the name under which an audit gets it."""
        file = folder / f"width_{self.number}.py"
        file.write_text(self.source, encoding="utf-8")
        return f"{file}:verify"


def _names(source: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(source, "drawn width", "exec"), names)
    return names


@cache
def drawn_width(number: int, right: bool = False) -> DrawnWidth:
    """Draw the verifier of that number. right: whether it decides on a token before that is drafted."""
    draw = random.Random(f"width/{number}/{right}")
    while True:
        gamma = draw.randint(2, 8)
        found = _candidate(draw, gamma, right)
        if right or found.variation >= LEAST:
            return found._replace(number=number)


def _candidate(draw: random.Random, gamma: int, right: bool) -> DrawnWidth:
    of_row = {**BY_ROW, **OF_BOTH}
    statistic = draw.choice([*of_row] if right else [*of_row, *BY_TOKEN, *OF_BOTH_BY_TOKEN, *BY_TOKEN])
    model = draw.choice([*MODELS])
    score = {**OF_BOTH, **OF_BOTH_BY_TOKEN}.get(statistic, "")
    if not score:
        one = {**BY_ROW, **BY_TOKEN}[statistic].replace("{scale}", f"{draw.uniform(0.2, 1):.2f}")
        score = MODELS[model].format(draft=one.format(row="draft"), target=one.format(row="target"))
    how = draw.choice([*(STOPPING if right else LOOKING_AHEAD)])
    c = f"{draw.random():.3f}"
    short = draw.choice(["0", "1", "gamma // 2", "gamma - 1"])
    steps = [draw.choice([0.0, 0.1, 0.3, 0.6, 1.0, 2.0]) for _ in range(12)]
    costs = [round(sum(steps[:n]), 3) for n in range(13)]
    least = draw.choice([0, 0, 0, *range(gamma)])
    longer = draw.choice([0, 0, 0, draw.randint(2, gamma)])
    rule = draw.choice([TOKEN, TOKEN, BLOCK])
    chosen = (STOPPING if right else LOOKING_AHEAD)[how].format(c=c, short=short)
    words = {"costs": costs, "score": score, "chosen": chosen, "least": least, "longer": longer, "rule": rule}
    of = f"{statistic} of the {model}" if statistic in {**BY_ROW, **BY_TOKEN} else statistic
    what = f"{how} {c} by {of}, at least {least}, from {longer} tokens on, {'block' if rule is BLOCK else 'token'} rule"
    source = TEXT.format(title=what, **words)
    width = _names(source)["width"]
    variation = max(total_variation(rows, width) for rows in _ordinary(gamma))
    return DrawnWidth(0, what, source, variation)


@cache
def _ordinary(gamma: int) -> "list[FloatRows]":
    """Return rows after each prefix: softmax of normal logits, flat after some and peaked after others."""
    sizes = {2: (2, 3, 5, 8), 3: (2, 3, 5), 4: (2, 3, 4), 5: (2, 3), 6: (2, 3)}.get(gamma, (2, 2))
    return [_drawn_rows(vocabulary, gamma, seed) for seed, vocabulary in enumerate(sizes)]


def _drawn_rows(vocabulary: int, gamma: int, seed: int) -> "FloatRows":
    draw = np.random.default_rng([gamma, vocabulary, seed])
    target, draft = {}, {}
    for length in range(gamma + 1):
        for prefix in product(range(vocabulary), repeat=length):
            logits = draw.choice([0.5, 1.0, 2.0, 4.0]) * draw.standard_normal(vocabulary)
            target[prefix] = _softmax(logits)
            if length < gamma:
                draft[prefix] = _softmax(draw.choice([0.7, 1.0, 1.3]) * logits + 0.7 * draw.standard_normal(vocabulary))
    return FloatRows(vocabulary, gamma, target, draft)


def _softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


class FloatRows(NamedTuple):
    """Rows of both models after each prefix, as floats."""

    vocabulary: int
    gamma: int
    target: dict[Prefix, np.ndarray]
    draft: dict[Prefix, np.ndarray]

    @classmethod
    def of(cls, problem: Problem) -> "FloatRows":
        """Return the rows of a problem."""

        def rows(model: Any, longest: int) -> dict[Prefix, np.ndarray]:
            every = (x for n in range(longest + 1) for x in problem.prefixes(n))
            return {x: np.array([as_float(p) for p in model.row(x)]) for x in every}

        longest = problem.gamma
        return cls(problem.vocabulary, longest, rows(problem.target, longest), rows(problem.draft, longest - 1))


def total_variation(rows: FloatRows, width: Width) -> float:
    """Return how far token verification of so many tokens is from the target's law, over all draft blocks.

    After the tokens that are verified the target continues. No code of a verifier is followed.
    """
    stopped: dict[Prefix, np.ndarray] = {}

    def stop(prefix: Prefix, row: np.ndarray) -> None:
        stopped[prefix] = row + stopped.get(prefix, 0.0)

    def below(block: Prefix, drafted: float) -> None:
        if len(block) < rows.gamma:
            for x in np.flatnonzero(rows.draft[block]):
                below((*block, int(x)), drafted * rows.draft[block][x])
            return
        target = [rows.target[block[:n]] for n in range(rows.gamma + 1)]
        draft = [rows.draft[block[:n]] for n in range(rows.gamma)]
        kept = width(target, draft, block)
        for n, x in enumerate(block[:kept]):
            accepted = min(1.0, target[n][x] / draft[n][x])
            if accepted < 1:
                rest = np.maximum(target[n] - draft[n], 0)
                stop(block[:n], drafted * (1 - accepted) * rest / rest.sum())
            drafted *= accepted
        stop(block[:kept], drafted * target[kept])

    below((), 1.0)
    begun = {x[:n] for x in stopped for n in range(len(x) + 1)}

    def apart(prefix: Prefix, emitted: float, expected: float) -> float:
        """Sum the differences over all texts that begin so. emitted: what stopped before, as the target goes on."""
        if prefix not in begun:
            return abs(emitted - expected)
        here = emitted * rows.target[prefix] + stopped.get(prefix, 0)
        wanted = expected * rows.target[prefix]
        if len(prefix) == rows.gamma:
            return float(np.abs(here - wanted).sum())
        return sum(apart((*prefix, y), *both) for y, both in enumerate(zip(here.tolist(), wanted.tolist())))

    return apart((), 0.0, 1.0) / 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("number", type=int)
    parser.add_argument("--right", action="store_true")
    given = parser.parse_args()
    one = drawn_width(given.number, given.right)
    print(f"{one.source}\n# total variation {one.variation:.4g} on ordinary rows")


if __name__ == "__main__":
    main()
