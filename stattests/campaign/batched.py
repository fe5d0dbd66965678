"""Sampling of functions that verify many blocks at once: arrays in, padded tokens out.

    f(target_probs, draft_probs, draft_tokens[, rng | generator]) -> emitted tokens

| argument | shape | |
|---|---|---|
| target_probs | [B, gamma + 1, V] | the plain calling convention with a batch axis in front |
| draft_probs | [B, gamma, V] | |
| draft_tokens | [B, gamma] | |
| result | [B, any] | tau + 1 tokens a row, then -1; or a list of B sequences of tokens |
"""

import random
import sys
from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np

from ...models.law import Model
from ...models.problem import Problem
from ...verifiers.adapters.calling_convention import BadResult, arguments, call, plan_call, tokens_of
from .compiled import fingerprint
from .tally import Outcomes, Tally

PADDING = -1


class Blocks:
    """A problem's rows as arrays, and batches of draft blocks drawn from them.

    problem: whose rows
    array: "numpy" or "torch"
    dtype: of the rows; drafts are drawn from the rows as they are in that precision
    """

    def __init__(self, problem: Problem, array: str = "numpy", dtype: str = "float64"):
        self.problem = problem

        def table(model: Model, length: int) -> np.ndarray:
            rows = [[float(p) for p in model.row(prefix)] for prefix in problem.prefixes(length)]
            rounded = arguments(rows, rows, (), array, dtype)[0]
            return np.asarray(rounded.double() if array == "torch" else rounded, dtype=np.float64)

        self.target = [table(problem.target, length) for length in range(problem.gamma + 1)]
        self.draft = [table(problem.draft, length) for length in range(problem.gamma)]
        self._edges = [np.array([_edges(row) for row in rows]) for rows in self.draft]

    def draw(self, generator: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw target [size, gamma + 1, V] and draft [size, gamma, V], both float64, and tokens [size, gamma] int64."""
        prefix = np.zeros(size, np.int64)
        target, draft, tokens = [self.target[0][prefix]], [], []
        for step, edges in enumerate(self._edges):
            draft.append(self.draft[step][prefix])
            token = (generator.random(size)[:, None] >= edges[prefix]).sum(axis=1)
            prefix = prefix * self.problem.vocabulary + token
            tokens.append(token)
            target.append(self.target[step + 1][prefix])
        return np.stack(target, axis=1), np.stack(draft, axis=1), np.stack(tokens, axis=1)


def _edges(row: np.ndarray) -> list[float]:
    """Return cumulative probabilities, exact until rounded once; from the last possible token on, above every
    uniform.
    """
    exact = [Fraction(float(p)) for p in row]
    total = sum(exact)
    return [float(upto / total) if upto < total else 2.0 for upto in accumulate(exact)]


class BatchedSource:
    """A function that verifies many blocks a call, in this process: a source of a campaign.

    function, name: by the convention above; it always gets whole batches, of which no more is counted than asked for
    batch: blocks a call
    problem, array, dtype: as in ``Blocks``
    Raises: NotASubject if it cannot be called by the convention.
    """

    chunk = 200_000

    def __init__(self, function: Callable, problem: Problem, batch: int, *, name: str = "", array: str = "numpy",
                 dtype: str = "float64"):  # fmt: skip
        self.function, self.batch, self.dtype = function, batch, dtype
        self.plan = plan_call(function, name or getattr(function, "__name__", "the function"))
        self.array = "torch" if self.plan.random == "generator" else array
        self.blocks = Blocks(problem, self.array, dtype)
        self.outcomes = Outcomes(problem.vocabulary, problem.gamma + 1)
        self.identity = {"subject": name, "problem": fingerprint(problem), "batch": str(batch), "dtype": dtype}

    def sample(self, seed: np.random.SeedSequence, n: int) -> Tally:
        """Sample n blocks. What the function raises is counted as the outcome of its whole batch."""
        draws, function_seed = seed.spawn(2)
        generator, source = np.random.Generator(np.random.PCG64DXSM(draws)), self._random(function_seed)
        tally = Tally(self.outcomes)
        for start in range(0, n, self.batch):
            target, draft, tokens = self.blocks.draw(generator, self.batch)
            now = min(self.batch, n - start)
            try:
                blocks = arguments(target, draft, tokens, self.array, self.dtype)
                count_emitted(tally, call(self.function, self.plan, blocks, source), self.batch, now)
            except (BadResult, Exception, SystemExit) as error:
                message = "".join(c for c in " ".join(str(error).split()) if c.isprintable())
                tally.count(f"{type(error).__name__}: {message[:160]}", now)
        return tally

    def _random(self, seed: np.random.SeedSequence) -> Any:
        """Seed the global generators, and make the one that the function takes.

        Of Python and NumPy by 256 bits. A generator of torch takes 64, and on the CPU uses 32 of them: of C chunks two
        share torch's random numbers with probability C^2 / 2^33 at most; their draft tokens differ even so.
        """
        words = seed.generate_state(20)
        random.seed(int.from_bytes(words[:8].tobytes(), "little"))
        np.random.seed(words[8:16])
        torch_seeds = [int.from_bytes(pair.tobytes(), "little") for pair in words[16:].reshape(2, 2)]
        if "torch" in sys.modules:
            sys.modules["torch"].manual_seed(torch_seeds[0])
        if self.plan.random == "generator":
            return sys.modules["torch"].Generator().manual_seed(torch_seeds[1])
        return np.random.default_rng(seed)


def count_emitted(tally: Tally, result: Any, batch: int, n: int) -> None:
    """Count the first n of the ``batch`` sequences that a batched function returned.

    Raises: BadResult, and nothing is counted, if there are not ``batch`` sequences, or they are not tokens.
    """
    if hasattr(result, "detach"):
        result = result.detach().cpu().numpy()
    rows = not isinstance(result, (str, bytes)) and hasattr(result, "__len__")
    if not rows or len(result) != batch:
        given = f"{len(result)} rows" if rows else f"a {type(result).__name__}"
        raise BadResult(f"returned {given} for {batch} blocks, expected one row of tokens a block")
    if isinstance(result, np.ndarray) and result.ndim == 2 and result.dtype.kind in "iuf":
        if (result != np.floor(result)).any():
            raise BadResult("returned numbers that are not whole among the tokens")
        _count_rows(tally, result[:n].astype(np.int64))
        return
    for tokens in [tokens_of(row) for row in result][:n]:
        tally.count(tokens)


def _count_rows(tally: Tally, rows: np.ndarray) -> None:
    """Count rows: [n, any] int64, each a sequence of tokens and then padding."""
    outcomes = tally.outcomes
    lengths = (rows != PADDING).cumprod(axis=1).sum(axis=1)
    places = np.arange(rows.shape[1])
    within = (rows >= 0) & (rows < outcomes.vocabulary)
    padded = np.where(places < lengths[:, None], within, rows == PADDING).all(axis=1)
    allowed = padded & (lengths >= 1) & (lengths <= outcomes.longest)
    accepted, lengths = rows[allowed], lengths[allowed]
    index = np.zeros(len(accepted), np.int64)
    for place in places[: outcomes.longest]:
        here = place < lengths
        index[here] = index[here] * outcomes.vocabulary + accepted[here, place]
    first = np.array([0, *(outcomes.first(length) for length in range(1, outcomes.longest + 1))])
    tally.counts += np.bincount(first[lengths] + index, minlength=outcomes.size)
    for row in rows[~allowed]:
        tokens = row[: len(row) - int((row[::-1] == PADDING).cumprod().sum())]
        tally.count(tuple(tokens.tolist()) or "no tokens: returned only padding")
