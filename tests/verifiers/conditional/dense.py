"""Steps made from the rows of a problem: every draft block with every outcome, once."""

from itertools import product

import numpy as np

from draftproof.verifiers.conditional.sparse import CLASSES, LISTED, reduced
from draftproof.verifiers.conditional.steps import PairRows, Steps


def steps_of(target, draft, drafts, emitted, listed=LISTED):
    """Return steps of one length. target: [N, G + 1, V]; draft: [N, G, V]; drafts: [N, G]; emitted: N tuples."""
    count, gamma = len(drafts), len(drafts[0])
    vocabulary = target.shape[-1]
    both = [
        reduced(p, np.concatenate([q, np.zeros((1, vocabulary))]), [*x, *out], listed)
        for p, q, x, out in zip(target, draft, drafts, emitted)
    ]
    widest = max(len(ids) for rows in both for ids in rows.ids)
    ids = np.full((count, gamma + 1, widest), -1)
    values = {name: np.zeros((count, gamma + 1, widest)) for name in ("target", "draft")}
    for n, rows in enumerate(both):
        for i, row in enumerate(rows.ids):
            ids[n, i, : len(row)] = row
            for name, out in values.items():
                out[n, i, : len(row)] = getattr(rows, name)[i]
    rest = {name: np.array([getattr(rows, name) for rows in both]) for name in PairRows._fields[3:-1]}
    rest["off"] = np.zeros((count, gamma + 1))
    assert rest["rest_target"].shape == (count, gamma + 1, CLASSES)
    tokens = np.array(drafts).reshape(count, gamma)
    last = np.array([out[-1] for out in emitted])
    at_token = (ids[:, :-1] == tokens[:, :, None]).argmax(-1)
    at_last = (ids == last[:, None, None]).argmax(-1)
    accepted = np.array([len(out) - 1 for out in emitted])
    return Steps(
        vocabulary, np.full(count, gamma), tokens, accepted, last, PairRows(ids, **values, **rest), at_token, at_last
    )


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
