"""Decoding loops with a known bug each: ``DecodingLoop`` with one part replaced, and the bugs they descend from.

Each runs as ``generate(..., verifier=mutant.verifier, loop=mutant.loop, **mutant.settings)``, those of several paths by
``generate_by_paths``.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ....models.generating.caches import CachedModel
from ....models.generating.loop import DecodingLoop
from ....models.generating.loop_verifiers import Drafted
from ....models.generating.randomness import Streams, uniform_draws
from ....models.generating.sampling import warp
from ....models.generating.several_paths import SeveralPaths
from ....verifiers.batched.emitted import Emitted, EmittedPaths
from ....verifiers.batched.sampling import Uniforms

Loop = type[DecodingLoop]


class LoopMutant(NamedTuple):
    """A loop with a known bug, and what shows it.

    name: "L01", ...
    loop: the mutant.
    title: the bug.
    breaks: "text", the law of one text; "target rows" or "draft rows", what the verifier is given differs from a forward
    pass over the whole text (wrong draft rows cost acceptance, not the law); "batch", texts of a batch depend on each
    other.
    ancestor: the bug of real software, or the source, that it descends from.
    link: its address.
    settings: under which it shows, beside the defaults.
    verifier: with which it shows.
    paths: draft paths of a text, with which it shows.
    ragged: whether it shows only in batches of prompts of several lengths.
    """

    name: str
    loop: Loop
    title: str
    breaks: str
    ancestor: str
    link: str
    settings: Mapping[str, Any] = MappingProxyType({})
    verifier: str = "block"
    paths: int = 1
    ragged: bool = False


LOOP_MUTANTS: dict[str, LoopMutant] = {}
"""The mutants by name."""


def _mutant(name: str, title: str, breaks: str, ancestor: str, link: str, **shows: Any) -> Callable[[Loop], Loop]:
    """The class is the loop of this mutant. shows: the other fields of LoopMutant."""

    def register(loop: Loop) -> Loop:
        LOOP_MUTANTS[name] = LoopMutant(name, loop, title, breaks, ancestor, link, **shows)
        return loop

    return register


# ---------------------------------------------------------------- caches


class OneShort(CachedModel):
    """Forgets one token too many, and takes it for read."""

    def rewind(self, length: Tensor) -> None:
        super().rewind(length - 1)
        self.read = length


class OneLong(CachedModel):
    """Does not forget the first rejected token, if there is one."""

    def rewind(self, length: Tensor) -> None:
        read = torch.minimum(self.read, length)
        super().rewind(length + 1)
        self.read = read


class Stale(CachedModel):
    """Takes all of the text but the last token for read, X_gamma included, which has only been drawn."""

    def rewind(self, length: Tensor) -> None:
        super().rewind(length)
        self.read = length


class CountsColumns(CachedModel):
    """Positions counted by columns, holes and padding included."""

    def positions(self, real: Tensor) -> Tensor:
        columns = torch.arange(self.filled.shape[1] - real.shape[1], self.filled.shape[1])
        return columns.expand(real.shape)


class SeesHoles(CachedModel):
    """Attends to padding and to rejected tokens."""

    def mask(self) -> None:
        return None


@_mutant(
    "L01", "target's cache rolled back one token short", "target rows",
    "transformers: cache positions advanced by one token whatever had been accepted",
    "https://github.com/huggingface/transformers/pull/30068")  # fmt: skip
class TargetShort(DecodingLoop):
    target_cache = OneShort


@_mutant(
    "L02", "a rejected token left in the target's cache", "target rows",
    "Token-Print: rejected draft tokens stay in the key-value cache",
    "https://github.com/Sudharsanselvaraj/Token-Print/issues/110")  # fmt: skip
class TargetLong(DecodingLoop):
    target_cache = OneLong


@_mutant(
    "L03", "draft's cache without X_gamma after a block accepted in full", "draft rows",
    "vllm: the draft's cache went wrong behind bonus tokens, and acceptance fell",
    "https://github.com/vllm-project/vllm/pull/9730")  # fmt: skip
class DraftStale(DecodingLoop):
    draft_cache = Stale


@_mutant(
    "L04", "positions counted by columns of the cache", "target rows",
    "unsloth: one position for all rows of a left-padded batch",
    "https://github.com/unslothai/unsloth/pull/4078", ragged=True)  # fmt: skip
class WrongPositions(DecodingLoop):
    target_cache = draft_cache = CountsColumns


@_mutant(
    "L05", "padding and rejected tokens attended to", "target rows",
    "unsloth: texts of a left-padded batch differ from those of single prompts",
    "https://github.com/unslothai/unsloth/issues/3699", ragged=True)  # fmt: skip
class HolesSeen(DecodingLoop):
    target_cache = draft_cache = SeesHoles


# ---------------------------------------------------------------- rows and draft tokens


@_mutant(
    "L06", "temperature on the draft alone", "text",
    "vllm: sampling parameters applied to the draft, the target at its defaults",
    "https://github.com/vllm-project/vllm/issues/9834", settings={"temperature": 0.5})  # fmt: skip
class DraftAloneWarped(DecodingLoop):
    def target_scores(self, logits: Tensor) -> Tensor:
        return warp()(logits[..., : self.vocabulary])


@_mutant(
    "L07", "raw q for tokens drawn after top-k", "text",
    "transformers: tokens drawn from processed logits, the raw ones returned for the test",
    "https://github.com/huggingface/transformers/issues/47932", settings={"top_k": 2})  # fmt: skip
class RawDraftScores(DecodingLoop):
    def proposal(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        return super().proposal(logits)[0], warp()(logits)


@_mutant(
    "L08", "greedy draft tokens tested with a softmax", "text",
    "speculative-sampling: argmax proposals, accepted with probability p/q",
    "https://github.com/jaymody/speculative-sampling/issues/3")  # fmt: skip
class GreedyDraft(DecodingLoop):
    def proposal(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        scores = self.warp(logits)
        return scores.argmax(-1), scores


@_mutant(
    "L09", "bonus token from the row before", "text",
    "openvino.genai: tokens taken from another row than that of their own position",
    "https://github.com/openvinotoolkit/openvino.genai/issues/4190")  # fmt: skip
class BonusFromRowBefore(DecodingLoop):
    def target_scores(self, logits: Tensor) -> Tensor:
        scores = super().target_scores(logits)
        return torch.cat([scores[:, :-1], scores[:, -2:-1]], 1)


@_mutant(
    "L10", "end token inside a block ignored", "text",
    "transformers: an end token accepted in the middle of a block did not end the text",
    "https://github.com/huggingface/transformers/issues/47912", settings={"eos": 0})  # fmt: skip
class LastTokenEnds(DecodingLoop):
    """Looks for the end token in the last place of what was added only."""

    def cut(self, tokens: list[int]) -> list[int]:
        return tokens


@_mutant(
    "L11", "modified target not carried to the next iteration", "text",
    "Sun et al. 2025, Appendix C: greedy block verification needs Algorithm 6, not Algorithm 3",
    "https://arxiv.org/abs/2403.10444", verifier="greedy-block")  # fmt: skip
class NotCarried(DecodingLoop):
    def verified(self, drafted: Drafted) -> Emitted | EmittedPaths:
        return self.verifier.verify(drafted, self.chances)


# ---------------------------------------------------------------- random numbers


class SameForAllRows(Streams):
    """One seed for every row of the batch."""

    def generators(self, seed: int, row: int) -> list[np.random.Generator]:
        return super().generators(seed, 0)


class SeededAlike(Streams):
    """The sampler of the draft, the coins and the residual begin in one state."""

    def generators(self, seed: int, row: int) -> list[np.random.Generator]:
        state = super().generators(seed, row)[0]
        return [deepcopy(state) for _ in range(3)]


class CoinDrawsToo(Streams):
    """The last token of a block is drawn with the number that the last draft token was tested with."""

    def uniforms(self, tokens: Tensor) -> Uniforms:
        coins = uniform_draws(self.acceptance, tokens.shape[1]).to(tokens.device)
        return Uniforms(coins, coins[:, -1:].expand(-1, 2).contiguous())


@_mutant(
    "L12", "one stream of random numbers for all rows", "batch",
    "flashinfer: uniforms shared where each row needs its own",
    "https://github.com/flashinfer-ai/flashinfer/pull/425")  # fmt: skip
class SharedAcrossRows(DecodingLoop):
    streams = SameForAllRows


@_mutant(
    "L13", "draft, acceptance and residual seeded alike", "text",
    "llama.cpp: the draft's sampler and the rejection sampler begin in the same state",
    "https://github.com/ggml-org/llama.cpp/pull/27694")  # fmt: skip
class SharedWithDraft(DecodingLoop):
    streams = SeededAlike


@_mutant(
    "L14", "acceptance and residual share their noise", "text",
    "vllm: one counter for two draws, so that replacements depended on what had been drawn",
    "https://github.com/vllm-project/vllm/pull/54282")  # fmt: skip
class SharedWithResidual(DecodingLoop):
    streams = CoinDrawsToo


# ---------------------------------------------------------------- several paths


TWO_PATHS: Mapping[str, Any] = MappingProxyType({"verifier": "spec-infer", "paths": 2})


class ShiftedByChoice(CachedModel):
    """Positions one too large once a path was chosen."""

    shift = 0

    def select(self, rows: Sequence[int]) -> None:
        super().select(rows)
        self.shift = 1

    def positions(self, real: Tensor) -> Tensor:
        return super().positions(real) + self.shift


class SameForAllPaths(Streams):
    """The draft tokens of all paths of a text, two here, are drawn with the same random numbers."""

    def generators(self, seed: int, row: int) -> list[np.random.Generator]:
        first = super().generators(seed, row - row % 2)
        return [first[0], *super().generators(seed, row)[1:]]


@_mutant(
    "L15", "the cache goes on with the first path, whichever was accepted", "target rows",
    "L02 with paths: keys and values of tokens that were not accepted stay in the cache", "", **TWO_PATHS)  # fmt: skip
class KeepsTheFirstPath(SeveralPaths):
    def verified(self, drafted: Drafted) -> EmittedPaths:
        given = super().verified(drafted)
        self.accepted_rows = [row - row % self.paths for row in self.accepted_rows]
        return given


@_mutant(
    "L16", "positions one off once a path was chosen", "target rows",
    "L04 with paths: positions counted by what was drafted", "", **TWO_PATHS)  # fmt: skip
class PositionsOff(SeveralPaths):
    target_cache = ShiftedByChoice


@_mutant(
    "L17", "tokens of one path verified by the target's rows of another", "text",
    "TensorRT-LLM: the wrong slice of the logits for the verification of a dynamic tree",
    "https://github.com/NVIDIA/TensorRT-LLM/issues/15098", **TWO_PATHS)  # fmt: skip
class RowsOfAnotherPath(SeveralPaths):
    def target_scores(self, logits: Tensor) -> Tensor:
        scores = super().target_scores(logits)
        return scores.unflatten(0, (-1, self.paths)).roll(1, 1).flatten(0, 1)


@_mutant(
    "L18", "all paths of a text drawn with the same random numbers", "text",
    "L12 within a text: paths that are one path, verified as independent", "", **TWO_PATHS)  # fmt: skip
class PathsDrawnAlike(SeveralPaths):
    streams = SameForAllPaths
