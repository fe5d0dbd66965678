"""Write the wide problems of an audit, models/wide.json: ``python -m draftproof.benchmarks.choose_wide_battery``."""

import json
import math
from dataclasses import replace

from draftproof.models.wide import DRAFTED_IDS, LEAST_EXCHANGED, WideProblem, exchanged, wide

LONGER = ((4, 4), (5, 3), (6, 5), (5003, 4), (32_000, 5), (128_256, 8), (151_936, 3))
"""Vocabularies, beyond those of the longest blocks, over which there are blocks of more than two positions."""

AGREED = {(128_256, 8): (0, 2, 5, 6)}
"""Positions of such blocks at which both models agree: code that takes a coin for each of eight has 256 ways, and calls
over the largest vocabularies take long."""


def again(vocabulary: int, gamma: int) -> WideProblem:
    """Return a problem that decides every position but those of ``AGREED``, for mistakes of wide code alone.

    One token can be drafted at each position, the same but at the last."""
    middle = (1 << ((vocabulary - 1).bit_length() - 1),)
    live, agree = (*(middle,) * (gamma - 1), (vocabulary - 1,)), AGREED.get((vocabulary, gamma), ())
    name, few = f"wide-again-V{vocabulary}-gamma{gamma}", vocabulary > 10_000
    return WideProblem(vocabulary, gamma, "dense", live, agree=agree, name=name, few_ids=few)


SPECIAL_IDS = {
    32_000: (1, 2), 128_256: (128_009,), 151_936: (151_643, 151_645), 262_144: (1, 106)
}  # fmt: skip
"""Tokens that begin and end texts in published vocabularies of these sizes: code may treat them specially."""


USUAL_IDS = (2, 198)
"""The end of a text, of a line: ids of many vocabularies."""

MANY_IDS = (32_000, 50_257, 65_537, 128_256, 151_936, 262_144)
"""Vocabularies of which those are drafted."""


def many_ids(vocabulary: int) -> WideProblem:
    """Return a problem of one position at which special ids, powers of two and the last id can be drafted.

    What is emitted after that is nearly certain, so that each costs few calls."""
    ids = {*DRAFTED_IDS, *(1 << k for k in range(vocabulary.bit_length())), vocabulary - 1}
    live = tuple(sorted(i for i in ids if i < vocabulary))
    return WideProblem(vocabulary, 1, "single", (live,), name=f"wide-ids-V{vocabulary}-gamma1")


def ends(vocabulary: int) -> WideProblem:
    """Return a problem of two positions that drafts neither end of the ids, and emits the first, the last or a third.

    Elsewhere the ends are drafted, so that nothing shows what loses one of them where the residual is drawn from. At
    the first position both models are nearly sure of one token, at the second there are likely and unlikely ones, to
    some of which the target gives much less: a mistake can need a size together with a region of p and q.
    """
    middle = vocabulary // 2
    usual = [i for i in USUAL_IDS if i < vocabulary - 1]
    live = ((middle,), (*range(middle, middle + 6 - len(usual)), *usual))
    return WideProblem(vocabulary, 2, "ends", live, name=f"wide-ends-V{vocabulary}-gamma2")


def choose() -> list[WideProblem]:
    """Return the wide problems of an audit, smallest vocabulary first."""
    sizes = [
        (8, 1, "ties"), (9, 2, "dense"), (9, 9, "zeros"),
        (127, 1, "dense"), (128, 2, "zeros"), (129, 2, "dense"), (257, 2, "tails"), (300, 1, "dense"),
        (1003, 2, "dense"), (32_000, 2, "dense"), (32_767, 1, "tails"), (32_768, 1, "zeros"), (32_769, 2, "dense"),
        (50_257, 1, "ties"),
        (65_537, 1, "dense"), (128_256, 2, "dense"), (151_936, 2, "dense"), (262_144, 1, "dense"),
    ]  # fmt: skip
    problems = [wide(*size) for size in sizes]
    special = {
        p.name: (ids, *((ids[-1], *live[1:]) for live in p.live[1:]))
        for p in problems
        if (ids := SPECIAL_IDS.get(p.vocabulary))
    }
    problems = [replace(p, live=special.get(p.name, p.live)) for p in problems]
    dense_draft = WideProblem(70, 1, "dense", (tuple(range(70)),), name="wide-dense-draft-V70-gamma1")
    near = WideProblem(2000, 1, "near", (tuple(range(3, 2000, 14)),), name="wide-near-draft-V2000-gamma1")
    later = WideProblem(2000, 2, "near", ((1001,), tuple(range(3, 2000, 80))), name="wide-near-later-V2000-gamma2")
    problems = [dense_draft, *problems, *(again(*size) for size in LONGER), wide(2000, 1)]
    many = (p for p in problems if not p.few_ids)
    cheapest = sorted(many, key=lambda p: (math.prod(map(len, p.live)), p.gamma), reverse=True)
    twins = [exchanged(p) for v, p in {p.vocabulary: p for p in cheapest}.items() if v >= LEAST_EXCHANGED]
    both = map(ends, {twin.vocabulary for twin in twins})
    return sorted([near, later, *problems, *twins, *map(many_ids, MANY_IDS), *both], key=lambda p: p.vocabulary)


if __name__ == "__main__":
    print("[\n " + ",\n ".join(json.dumps(problem.as_json()) for problem in choose()) + "\n]")
