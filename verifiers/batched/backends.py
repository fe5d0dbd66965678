"""A batch of draft blocks, verified on its device: by Triton kernels on CUDA, by the plain tensor version elsewhere."""

from functools import cache
from importlib.util import find_spec

import torch
from torch import Tensor

from .emitted import PADDING, Emitted
from .keyed_uniforms import Seeds, keyed_uniforms
from .rows import check_shapes, in_chunks, rows_of
from .sampling import Uniforms, draw
from .verification import block_verification, greedy_block_verification, token_verification

BACKENDS = ("auto", "kernels", "tensors")

TENSORS = {
    "token": token_verification,
    "block": block_verification,
    "greedy-block": lambda rows, chance: greedy_block_verification(rows, chance)[0],
}


def verify(
    algorithm: str, target: Tensor, draft: Tensor | None, tokens: Tensor, chance: Uniforms | Seeds, *,
    logits: bool, temperature: Tensor | None = None, backend: str = "auto",
) -> Emitted:  # fmt: skip
    """Return what each request of a batch emits.

    algorithm: token, block or greedy-block (whose next target rows must be modified, see there).
    target, draft: [B, gamma + 1, V] and [B, gamma, V], float32, float16, bfloat16 (float64: tensors alone); draft None:
    the drafts are one-hot, whatever they were drawn from.
    tokens: [B, gamma] int64; a block ends at its first -1, so blocks of several lengths are padded with it.
    logits: whether rows are logits; temperature: [B], of target and draft, 1 if None; at 0 all mass is on the largest.
    chance: the uniforms, or keys of a generator inside the kernels, which both backends take.
    backend: "kernels" (interpreted by Triton where there is no CUDA device), "tensors", or "auto": kernels on CUDA with
        Triton.
    Guarantee: both backends emit the same tokens, but where a uniform lies within rounding of a threshold.
    Raises: ValueError for shapes, types or names that do not fit.
    """
    _check(algorithm, target, draft, tokens, temperature, logits, backend)
    if backend == "auto":
        fits = target.device.type == "cuda" and target.dtype != torch.float64 and _triton()
        backend = "kernels" if fits else "tensors"
    if backend == "tensors":
        return _by_tensors(algorithm, target, draft, tokens, chance, logits, temperature)
    from ..triton_kernels import launching

    if logits and temperature is None:
        temperature = torch.ones(len(tokens), device=target.device)
    return launching.launch(
        algorithm, target.contiguous(), None if draft is None else draft.contiguous(), tokens.long().contiguous(),
        chance,
        temperature=temperature,
    )  # fmt: skip


@cache
def _triton() -> bool:
    return find_spec("triton") is not None


def _check(
    algorithm: str, target: Tensor, draft: Tensor | None, tokens: Tensor, temperature: Tensor | None, logits: bool,
    backend: str,
) -> None:  # fmt: skip
    for name, value, known in (("algorithm", algorithm, tuple(TENSORS)), ("backend", backend, BACKENDS)):
        if value not in known:
            raise ValueError(f"{name} {value!r}; expected one of {', '.join(known)}")
    check_shapes(target, draft, tokens)
    if draft is not None and draft.dtype != target.dtype:
        raise ValueError(f"target is {target.dtype}, draft {draft.dtype}; expected one type")
    if backend == "kernels" and target.dtype == torch.float64:
        raise ValueError("kernels take rows in float32, float16 and bfloat16, got torch.float64")
    if temperature is not None and (not logits or list(temperature.shape) != [len(tokens)]):
        raise ValueError(f"temperature {list(temperature.shape)}: expected [{len(tokens)}], with logits")


def _by_tensors(
    algorithm: str, target: Tensor, draft: Tensor | None, tokens: Tensor, chance: Uniforms | Seeds, logits: bool,
    temperature: Tensor | None,
) -> Emitted:  # fmt: skip
    """Return the requests of each length together, by the plain tensor version."""
    batch, gamma = tokens.shape
    numbers = keyed_uniforms(chance, gamma) if isinstance(chance, Seeds) else chance
    target = _probabilities(target, logits, temperature)
    if draft is None:
        draft = torch.zeros_like(target[:, :gamma]).scatter_(2, tokens.clamp(min=0)[..., None], 1.0)
    else:
        draft = _probabilities(draft, logits, temperature)
    emitted, accepted = tokens.new_full((batch, gamma + 1), PADDING), tokens.new_zeros(batch)
    lengths = (tokens >= 0).long().cumprod(-1).sum(-1)
    for n in lengths.unique().tolist():
        at = (lengths == n).nonzero().squeeze(1)
        coins, last = numbers.acceptance[at, :n], numbers.residual[at]
        if n == 0:
            emitted[at, :1] = draw(in_chunks(target[at, 0], torch.arange(len(at), device=at.device)), last)
            continue
        rows = rows_of(target[at, : n + 1], draft[at, :n], tokens[at, :n], logits=False)
        emitted[at, : n + 1], accepted[at] = TENSORS[algorithm](rows, Uniforms(coins, last))
    return Emitted(emitted, accepted)


def _probabilities(rows: Tensor, logits: bool, temperature: Tensor | None) -> Tensor:
    """Return the rows that are verified with, in float32 at least."""
    kind = torch.promote_types(rows.dtype, torch.float32)
    if not logits:
        return rows.to(kind)
    heat = torch.ones(len(rows), device=rows.device) if temperature is None else temperature
    heat = heat.to(rows.device, kind)[:, None, None]
    rows = rows.to(kind)
    largest = (rows == rows.amax(-1, keepdim=True)).to(kind)
    return torch.where(
        heat > 0, (rows / heat.where(heat > 0, 1.0)).softmax(-1), largest / largest.sum(-1, keepdim=True)
    )
