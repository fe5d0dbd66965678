"""The step that speaks most against a rule, cut to the tokens that matter, as a problem for draftproof audit."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from ....models.recorded_steps import Recording, parts
from ....verifiers.conditional.laws import StepLaw
from ....verifiers.conditional.steps import PairRows, Steps
from ....verifiers.conditional.tree_steps import TreeSteps
from ....verifiers.evidence import LawEntry, Witness
from .bets import Against, bets_on_steps
from .cut_rows import NEARLY, cut_row, whole_row
from .shard import Place, Shown
from .tree_witness import tree_problem

MOST_DRAFTED = 5
"""Drafted tokens of the longest step that is written as a problem: its rows are up to 4^gamma."""


def step_at(recording: Recording, place: Place) -> Steps | None:
    """Return one step of a recording; None if it kept what was not drafted."""
    shard = recording.read(recording.folder / place.shard)
    for part in parts(shard, recording.header):
        found = np.flatnonzero(part.places == place.step)
        if len(found):
            return part.steps.part(found) if part.matches[found[0]] else None
    return None


def witness_of(
    recording: Recording, shown: Shown, expected: str, against: Against, seen: StepLaw | None = None
) -> Witness:
    """Return the witness of a step.

    expected: what the rule gives this outcome, in words. against: the rule that is claimed.
    seen: what explains the steps best.
    """
    steps = step_at(recording, shown.place)
    if steps is None:
        return Witness(sequence=str(shown.place), expected=expected, observed="emitted", why=shown.why)
    drafted = steps.tokens[0, : steps.lengths[0]].tolist()
    kept, last = int(steps.depth[0, steps.emitted[0]]), int(steps.last[0])
    outcome = f"{shown.place}: kept {kept} of {len(drafted)} drafted tokens, then token {last}"
    rule, epsilon = against.law(isinstance(steps, TreeSteps)), recording.header.epsilon
    witness = Witness(
        sequence=outcome, expected=expected, observed="emitted", draft_block=",".join(map(str, drafted)), why=shown.why,
        laws=(LawEntry(outcome, expected, "emitted"),),
    )  # fmt: skip
    if isinstance(steps, TreeSteps):
        problem = tree_problem(steps, rule, seen, epsilon) if rule else {}
        return replace(witness, problem=problem, parents=",".join(str(place - 1) for place in steps.apart[0]))
    if not rule:
        return witness
    laws = (*witness.laws, *(_laws(steps, rule, seen) if seen else ()))
    return replace(witness, problem=_problem(_window(steps, rule, seen, epsilon)), laws=laws)


def witness_file(witness: Witness, behaves_like: Sequence[dict[str, str]], engine: str) -> dict[str, Any]:
    """Return the problem of a witness with what is known of it, for a file."""
    about = {
        "recorded": witness.sequence, "engine": engine, "drafted": witness.draft_block, "expected": witness.expected,
        "why": witness.why, "laws": [vars(entry) for entry in witness.laws[1:]], "behaves_like": list(behaves_like[:1]),
    }  # fmt: skip
    return {**witness.problem, "about": about}


def _laws(steps: Steps, rule: StepLaw, seen: StepLaw) -> list[LawEntry]:
    """Return the law of how many drafted tokens the step keeps, and of its last token, under the rule and as seen."""
    both = [(law.seen(steps), law) for law in (rule, seen)]
    stops = [law.stops(own)[0] for own, law in both]
    tokens = [law.tokens(own) for own, law in both]
    entries = [LawEntry(f"{k} kept", f"{a:.4g}", f"{b:.4g}") for k, (a, b) in enumerate(zip(*stops))]
    if tokens[0] is not None and tokens[1] is not None:
        last, kept = int(steps.last[0]), int(steps.emitted[0])
        name = f"token {last}, given {kept} kept"
        entries.append(LawEntry(name, f"{tokens[0][0]:.4g}", f"{tokens[1][0]:.4g}"))
    return entries


def _window(steps: Steps, rule: StepLaw, seen: StepLaw | None, epsilon: float) -> Steps:
    """Return the fewest places around the last token that still speak against the rule nearly as much.

    A rule that stops at the first rejected token knows nothing of what comes behind. What came before is left out if
    what was seen does not depend on it.
    """
    if rule.longest or not steps.gamma:
        return steps
    end, tau = int(min(steps.lengths[0], steps.emitted[0] + 1)), int(steps.emitted[0])
    whole = bets_on_steps(rule, [seen or rule], steps, epsilon)
    for first in range(min(tau, end - 1), 0, -1):
        part = _places(steps, first, end)
        bets = bets_on_steps(rule, [seen or rule], part, epsilon)
        if bets.possible[0] == whole.possible[0] and bets.logs[0, 0] >= NEARLY * whole.logs[0, 0]:
            return part
    return _places(steps, 0, end)


def _places(steps: Steps, first: int, end: int) -> Steps:
    """Return a step with the drafted tokens first to end alone."""
    rows = PairRows(*(values[:, first : end + 1] for values in steps.rows))
    return replace(
        steps, lengths=np.array([end - first]), tokens=steps.tokens[:, first:end], emitted=steps.emitted - first,
        rows=rows, at_token=steps.at_token[:, first:end], at_last=steps.at_last[:, first : end + 1],
    )  # fmt: skip


def _problem(steps: Steps) -> dict[str, Any]:
    """Return the step as a problem of at most four tokens; empty if nothing was drafted, or too much.

    At each depth 0 is the drafted one, 1 the last that came out, 2 all others with p > q and 3 those with p <= q, so
    that sum_x max(p - q, 0) stays what it was. Tokens without probability are left out.
    """
    gamma = int(steps.lengths[0])
    if not 0 < gamma <= MOST_DRAFTED:
        return {}
    last = int(steps.last[0])
    labels = [*({last: 1, drafted: 0} for drafted in steps.tokens[0, :gamma].tolist()), {last: 1}]
    rows = [cut_row(steps, depth, of_row, 4) for depth, of_row in enumerate(labels)]
    used = [k for k in range(4) if any(row[k].any() for row in rows)]
    form: dict[str, Any] = {"vocabulary": len(used), "gamma": gamma, "name": "recorded-step"}
    for column, (name, longest) in enumerate((("target", gamma), ("draft", gamma - 1))):
        whole = [whole_row(row[used, column]) for row in rows[: longest + 1]]
        form[name] = {
            ",".join(map(str, prefix)): whole[length]
            for length in range(longest + 1) for prefix in product(range(len(used)), repeat=length)
        }  # fmt: skip
    return form
