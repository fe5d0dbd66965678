"""Steps made from the rows of a problem: every draft block with every outcome, once."""

from itertools import product

import numpy as np

from draftproof.verifiers.conditional.sparse import CLASSES, LISTED, reduced
from draftproof.verifiers.conditional.steps import PairRows, Steps


def pair_rows(both, places):
    """Return the rows of N steps side by side, each with so many places. both: what ``reduced`` gives of each."""
    widest = max(len(ids) for rows in both for ids in rows.ids)
    shapes = {"ids": (widest,), "target": (widest,), "draft": (widest,), "rest_target": (CLASSES,),
              "rest_draft": (CLASSES,), "rest_count": (), "highest": (2,), "natural": (), "off": ()}  # fmt: skip
    made = {name: np.zeros((len(both), places, *shape)) for name, shape in shapes.items()}
    made["ids"] = np.full((len(both), places, widest), -1)
    for n, rows in enumerate(both):
        for i, listed in enumerate(rows.ids):
            for name in PairRows._fields[:-1]:
                place = (n, i, slice(len(listed))) if name in PairRows._fields[:3] else (n, i)
                made[name][place] = getattr(rows, name)[i]
    return PairRows(**made)


def steps_of(target, draft, drafts, emitted, listed=LISTED):
    """Return steps of one length. target: [N, G + 1, V]; draft: [N, G, V]; drafts: [N, G]; emitted: N tuples."""
    count, gamma = len(drafts), len(drafts[0])
    vocabulary = target.shape[-1]
    rows = pair_rows(
        [reduced(p, np.concatenate([q, np.zeros((1, vocabulary))]), [*x, *out], listed)
         for p, q, x, out in zip(target, draft, drafts, emitted)],
        gamma + 1,
    )  # fmt: skip
    tokens = np.array(drafts).reshape(count, gamma)
    last = np.array([out[-1] for out in emitted])
    at_token = (rows.ids[:, :-1] == tokens[:, :, None]).argmax(-1)
    at_last = (rows.ids == last[:, None, None]).argmax(-1)
    accepted = np.array([len(out) - 1 for out in emitted])
    return Steps(vocabulary, np.full(count, gamma), tokens, accepted, last, rows, at_token, at_last)


def every_outcome(problem):
    """Return the steps of a problem, and for each its draft block and what was emitted."""
    cases = []
    for drafts in product(range(problem.vocabulary), repeat=problem.gamma):
        for tau in range(problem.gamma + 1):
            cases += [(drafts, (*drafts[:tau], y)) for y in range(problem.vocabulary)]
    rows = {
        drafts: (
            np.array([[float(p) for p in problem.target.row(drafts[:i])] for i in range(problem.gamma + 1)]),
            np.array([[float(q) for q in problem.draft.row(drafts[:i])] for i in range(problem.gamma)]),
        )
        for drafts, _ in cases
    }
    target, draft = (np.array([rows[drafts][k] for drafts, _ in cases]) for k in (0, 1))
    return steps_of(target, draft, [c[0] for c in cases], [c[1] for c in cases]), cases
