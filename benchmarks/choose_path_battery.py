"""Choose the smallest set of problems that covers every region of decisions that look along the drafted path:
``python -m draftproof.benchmarks.choose_path_battery``.

Greedy set cover, as of ``choose_battery``, of what the audit battery leaves uncovered. It made models/path_rows.json.
"""

import json
from collections import Counter

from draftproof.benchmarks.choose_battery import greedy
from draftproof.models.battery import audit_battery
from draftproof.models.looking_ahead import Cell, cells, looking_ahead
from draftproof.models.path_rows import PathSpec, paths
from draftproof.models.problem import Problem
from draftproof.models.regions import VISIBLE, contexts

SIZES = {
    (2, 2): 800, (3, 2): 800, (4, 2): 800, (5, 2): 800, (2, 3): 800, (3, 3): 800, (4, 3): 800, (2, 4): 800,
    (3, 4): 800, (2, 5): 1600, (2, 6): 1600, (2, 7): 1600, (2, 8): 1600,
}  # fmt: skip
"""(V, gamma) -> candidates."""

OVERHEAD = 8
"""Fixed cost of a problem, in milliseconds; each of its random paths adds to it."""


def price(problem: Problem) -> float:
    """Return about how many milliseconds the law of token verification takes on a problem."""
    every = [here for _, here in contexts(problem)]
    blocks = [x.prefix for x in every if len(x.prefix) == problem.gamma]
    below = Counter(block[:n] for block in blocks for n in range(problem.gamma + 1))
    ends = 0
    for x in (x for x in every if x.kept):
        left = sum(w > 0 for w in x.rest)
        rejected = [t for t, q in enumerate(x.draft) if x.target[t] < q]
        ends += left * (sum(below[(*x.prefix, t)] for t in rejected) if len(x.prefix) < problem.gamma else 1)
    return OVERHEAD + ends * (0.6 + 0.06 * problem.gamma)


def choose() -> list[PathSpec]:
    """Return the problems of ``path_rows.PATHS``, short blocks first; a few minutes.

    Raises: LookupError if the pool leaves a region uncovered.
    """

    def covered(problem: Problem) -> set[Cell]:
        return {cell for cell, effect in looking_ahead(problem).items() if effect > VISIBLE}

    sets, cost = {}, {}
    for size, number in SIZES.items():
        for seed in range(1, number + 1):
            spec, problem = (*size, seed), paths(*size, seed)
            sets[spec], cost[spec] = covered(problem), price(problem)
    wanted = set(cells()).difference(*map(covered, audit_battery()))
    if missing := wanted - set().union(*sets.values()):
        raise LookupError(f"no candidate covers {sorted(missing, key=str)}")
    return sorted(greedy(wanted, sets, cost), key=lambda spec: (spec[1], spec))


if __name__ == "__main__":
    print("[\n" + ",\n".join(f" {json.dumps(spec)}" for spec in choose()) + "\n]")
