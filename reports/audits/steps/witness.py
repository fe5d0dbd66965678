"""The step that speaks most against a rule, cut to the tokens that matter, as a problem for draftproof audit."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from ....models.recorded_steps import Recording, chains
from ....verifiers.conditional.steps import Steps
from ....verifiers.evidence import LawEntry, Witness
from .shard import Place, Shown

DENOMINATOR = 10**9
"""Rows of the problem are rounded to multiples of 1 / DENOMINATOR, so that they sum to exactly 1."""

MOST_DRAFTED = 5
"""Drafted tokens of the longest step that is written as a problem: its rows are 3^gamma."""


def step_at(recording: Recording, place: Place) -> Steps | None:
    """Return one step of a recording; None if it is no chain."""
    shard = recording.read(recording.folder / place.shard)
    for part in chains(shard, recording.header):
        found = np.flatnonzero(part.places == place.step)
        if len(found):
            return part.steps.part(found)
    return None


def witness_of(recording: Recording, shown: Shown, expected: str) -> Witness:
    """Return the witness of a step. expected: what the rule gives this outcome, in words."""
    steps = step_at(recording, shown.place)
    if steps is None:
        return Witness(sequence=str(shown.place), expected=expected, observed="emitted", why=shown.why)
    drafted = steps.tokens[0, : steps.lengths[0]].tolist()
    kept, last = int(steps.emitted[0]), int(steps.last[0])
    outcome = f"{shown.place}: kept {kept} of {len(drafted)} drafted tokens, then token {last}"
    return Witness(
        problem=_problem(steps), sequence=outcome, expected=expected, observed="emitted",
        draft_block=",".join(map(str, drafted)), why=shown.why, laws=(LawEntry(outcome, expected, "emitted"),),
    )  # fmt: skip


def _problem(steps: Steps) -> dict[str, Any]:
    """Return the step as a problem of three tokens: at each depth 0 is the drafted one, 1 the last that came out, 2 all
    others together."""
    gamma = int(steps.lengths[0])
    if not 0 < gamma <= MOST_DRAFTED:
        return {}
    rows = {"target": [], "draft": []}
    for depth in range(gamma + 1):
        drafted = int(steps.tokens[0, depth]) if depth < gamma else int(steps.last[0])
        ids = steps.rows.ids[0, depth]
        for name, found in rows.items():
            values = getattr(steps.rows, name)[0, depth]
            first = float(values[ids == drafted].sum())
            second = 0.0 if int(steps.last[0]) == drafted else float(values[ids == int(steps.last[0])].sum())
            found.append(_whole(first, second))
    form: dict[str, Any] = {"vocabulary": 3, "gamma": gamma, "name": "recorded-step"}
    for name, longest in (("target", gamma), ("draft", gamma - 1)):
        form[name] = {
            ",".join(map(str, prefix)): rows[name][length]
            for length in range(longest + 1) for prefix in product(range(3), repeat=length)
        }  # fmt: skip
    return form


def _whole(first: float, second: float) -> list[str]:
    a, b = round(first * DENOMINATOR), round(second * DENOMINATOR)
    a = min(a, DENOMINATOR)
    b = min(b, DENOMINATOR - a)
    return [str(Fraction(n, DENOMINATOR)) for n in (a, b, DENOMINATOR - a - b)]
