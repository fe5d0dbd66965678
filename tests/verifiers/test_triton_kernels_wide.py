"""The kernels on wide problems: the last token's law is the residual's; with a tile dropped it is not."""

import numpy as np
import pytest
import torch

from draftproof.models.wide import WideProblem
from draftproof.proofs.rounding.rule import wide_rounding_allowed
from draftproof.verifiers.batched.sampling import Uniforms

pytestmark = [pytest.mark.interception, pytest.mark.needs("torch", "triton")]
WIDTH, MOST_ENTRIES = 1024, 2**23
LATTICE = 2**53


class Rejecting:
    """The kernels on one draft token that is always rejected, by the two uniforms that choose the last token."""

    def __init__(self, launch, problem, algorithm):
        rows = [problem.target_row(()), problem.target_row((problem.live[0][0],))]
        target, draft = torch.tensor(np.stack(rows)).float(), torch.tensor(problem.draft_row(())).float()
        below = [t for t in problem.live[0] if target[0, t] < draft[t]]
        self.launch, self.algorithm, self.token = launch, algorithm, below[0]
        self.target, self.draft, self.size = target, draft, problem.vocabulary
        self.left = (target[0] - draft).clamp(min=0)

    def tokens(self, tiles, places):
        """Of pairs of points of the lattice, [N] each."""
        uniforms = torch.tensor(np.stack([tiles, places], axis=1).astype(np.float64)) / LATTICE
        step, given = max(1, MOST_ENTRIES // self.size), []
        for k in range(0, len(uniforms), step):
            n = len(uniforms[k : k + step])
            chance = Uniforms(torch.full((n, 1), 1 - 2**-53, dtype=torch.float64), uniforms[k : k + step])
            target, draft = (x.expand(n, *x.shape).contiguous() for x in (self.target, self.draft[None]))
            drafted = torch.full((n, 1), self.token)
            given.append(self.launch(self.algorithm, target, draft, drafted, chance, temperature=None))
        assert all(bool((one.accepted == 0).all()) for one in given)
        return np.concatenate([one.tokens[:, 0].numpy() for one in given])


def total_variation(kernels, few=None):
    """Between the law of the last token and the residual's, which both share tokens within tiles if few are looked at.

    The thresholds between tiles are found by bisection, all at a time. Within a tile a token's share is that of its
    weight: at the first and at the last point of its interval, less 8 points of the lattice, it is the one that is
    emitted. few: of how many tokens that is examined; None: of all.
    """
    left = kernels.left.double().numpy()
    tiles = np.add.reduceat(left, range(0, kernels.size, WIDTH))
    exact = np.cumsum(tiles) / tiles.sum()
    low = np.maximum((exact[:-1] - 1e-5) * LATTICE, 0).astype(np.int64)
    high = np.minimum((exact[:-1] + 1e-5) * LATTICE, LATTICE - 1).astype(np.int64)
    behind = np.arange(1, len(tiles)) * WIDTH
    while len(low) and int((high - low).max()) > 1:
        middle = (low + high) // 2
        beyond = kernels.tokens(middle, 0 * middle) >= behind
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    edges = np.concatenate([[0], high, [LATTICE]])
    possible = np.flatnonzero(left)
    if few is not None:
        possible = np.unique(
            np.concatenate([possible[[0, -1]], np.random.default_rng(0).choice(possible, few, replace=False)])
        )
    inside = np.concatenate([np.cumsum(left[k : k + WIDTH]) for k in range(0, kernels.size, WIDTH)])
    ends = inside[possible] / tiles[possible // WIDTH] * LATTICE
    starts = (inside[possible] - left[possible]) / tiles[possible // WIDTH] * LATTICE
    tile = (edges[:-1] + np.diff(edges) // 2)[possible // WIDTH]
    for points in (np.ceil(starts) + 8, np.floor(ends) - 8):
        wrong = kernels.tokens(tile, points.astype(np.int64)) != possible
        if wrong.any():
            return 1.0
    return float(np.abs(np.diff(edges) / LATTICE - tiles / tiles.sum()).sum() / 2) + 16 * kernels.size / LATTICE


def of(vocabulary, kind="dense", algorithm="token", launch=None):
    launching = pytest.importorskip("draftproof.verifiers.triton_kernels.launching", reason="needs triton")
    live = ((0, vocabulary // 2, vocabulary - 1),)
    return Rejecting(launch or launching.launch, WideProblem(vocabulary, 1, kind, live, name="wide"), algorithm)


@pytest.mark.parametrize(
    ("vocabulary", "kind", "algorithm", "few"),
    [
        (2500, "dense", "block", 200),
        *(pytest.param(*case, marks=pytest.mark.long) for case in (
            (2500, "dense", "block", None), (2500, "zeros", "token", None), (4096, "ties", "token", None),
            (2049, "tails", "token", 300),
            (32_000, "dense", "token", 1000), (128_256, "dense", "block", 60), (151_936, "zeros", "token", 60),
        )),
    ],
)  # fmt: skip
def test_the_last_token_has_the_residuals_law_on_wide_rows(vocabulary, kind, algorithm, few):
    assert total_variation(of(vocabulary, kind, algorithm), few) <= wide_rounding_allowed(1, "float32", vocabulary)


def test_a_dropped_tile_would_be_seen():
    from draftproof.tests.subjects.kernel_mutants import MUTANTS, changed

    modules = changed("kernels_wide", *MUTANTS["tile_dropped"])
    assert total_variation(of(2500, launch=modules["launching"].launch), 20) > 1e-3
