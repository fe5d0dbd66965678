"""draftproof's own Triton kernels, compiled on a CUDA device or under Triton's interpreter: driven, like any engine's.

Uniforms are inputs (53 bits). As attributes: ``token``, ``block``, ``greedy_block``, from probabilities; with
``_logits`` from logits (at temperature TEMPERATURE, which is undone in what they are given), with ``_one_hot`` without
draft rows, with ``_keyed`` by the generator inside the kernels, for which a table stands in.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from ..batched.keyed_uniforms import Seeds
from ..batched.sampling import Uniforms
from ..triton_kernels import launching, parts
from ..triton_kernels.runtime import INTERPRETED, triton
from .calling_convention import NotASubject, on_demand
from .protocol import PLACEHOLDER, BatchedAdapter, Row

TEMPERATURE = 1.75
ALGORITHMS, FORMS = ("token", "block", "greedy-block"), ("", "logits", "one_hot", "keyed")
GIVEN = (
    {"name": "accept", "kind": "uniform", "shape": ["gamma"], "bits": 53},
    {"name": "last", "kind": "uniform", "shape": [2], "bits": 53},
)
KEYED = ({"name": "philox", "kind": "uniform", "keyed": True, "bits": 53},)


class Kernels(BatchedAdapter):
    """A set of kernels. algorithm: as in ``batched.backends.verify``. form: "", "logits", "one_hot" or "keyed".

    kernels, keyed: the modules of the kernels and of their random numbers.
    """

    array, batch, placeholders = "torch", 4096, True

    def __init__(self, algorithm: str, form: str = "", kernels: Any = launching, keyed: Any = parts):
        if form == "keyed" and not INTERPRETED:
            raise NotASubject("a table stands in for the kernels' generator under its interpreter: TRITON_INTERPRET=1")
        self.algorithm, self.form, self.kernels, self.numbers = algorithm, form, kernels, keyed
        self.random: Sequence[Mapping[str, Any]] = KEYED if form == "keyed" else GIVEN
        self.mixes_greedy = form == "logits"
        if form == "logits":
            self.rows_in_use = _in_use
        self.origin = {"triton": triton.__version__, "compiled": not INTERPRETED, "bonus": "drawn inside"}

    def together(self, rows: Sequence[Row]) -> list[list[int]]:
        """Return all rows in one launch, those with shorter blocks padded."""
        most = max(len(row.tokens) for row in rows)
        device = "cpu" if INTERPRETED else "cuda"
        tokens = torch.stack([_padded(torch.as_tensor(row.tokens), most, PLACEHOLDER) for row in rows])
        target = torch.stack([_padded(row.target, most + 1, 0) for row in rows])
        draft = None if self.form == "one_hot" else torch.stack([_padded(row.draft, most, 0) for row in rows])
        temperature = None
        if self.form == "logits":
            target, draft = _heated(target), None if draft is None else _heated(draft)
            temperature = torch.tensor([0.0 if row.greedy else TEMPERATURE for row in rows])
        tokens, target, draft = (None if x is None else x.to(device) for x in (tokens, target, draft))
        chance = self._chance(rows, most)
        given = self.kernels.launch(self.algorithm, target, draft, tokens, chance, temperature=temperature)
        return [t[: int(n) + 1] for t, n in zip(given.tokens.tolist(), given.accepted)]

    def _chance(self, rows: Sequence[Row], most: int) -> Uniforms | Seeds:
        if self.form != "keyed":
            coins = torch.stack([_padded(row.random["accept"].double(), most, 0) for row in rows])
            return Uniforms(coins, torch.stack([row.random["last"].double() for row in rows]))
        self.numbers.keyed_uniform = _Table([row.random["philox"] for row in rows])
        return Seeds(torch.arange(len(rows)), torch.full((len(rows),), 7))


class _Table:
    """A substitute for ``parts.keyed_uniform``: a key's number, from the table of the request that its seed names."""

    def __init__(self, tables: Sequence[Any]):
        self.tables, self.known = tables, dict[tuple[int, int], float]()

    def __call__(self, seed: Any, call: Any, place: Any) -> Any:
        """Return a key's number. Programs that need it again make it again: the table is asked once."""
        at = int(getattr(getattr(place, "handle", place), "data", getattr(place, "value", place)))
        seeds = seed.handle.data % len(self.tables)
        for k in {*map(int, seeds)} - {k for k, p in self.known if p == at}:
            self.known[k, at] = self.tables[k](0, at)
        values = [self.known[int(k), at] for k in seeds]
        like = parts.tl.zeros(seeds.shape, parts.tl.float64)
        like.handle.data[:] = values
        return like


def _padded(rows: Tensor, length: int, by: float) -> Tensor:
    return torch.nn.functional.pad(rows, (*[0] * (2 * rows.ndim - 1), length - len(rows)), value=by)


def _heated(probabilities: Tensor) -> Tensor:
    """Return logits that are these probabilities at TEMPERATURE."""
    return (probabilities.float().log() * TEMPERATURE).to(probabilities.dtype)


def _in_use(probabilities: Tensor) -> Tensor:
    """Return the rows that are verified with: softmax of the logits in float32."""
    return _heated(probabilities).float().div(TEMPERATURE).softmax(dim=-1)


__getattr__ = on_demand(globals(), {
    f"{algorithm.replace('-', '_')}{form and f'_{form}'}": partial(Kernels, algorithm, form)
    for algorithm in ALGORITHMS for form in FORMS
})  # fmt: skip
