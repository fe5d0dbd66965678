"""Decoding loops with a known bug each, by name: what an end-to-end check has to refute.

Each runs as ``generate(..., verifier=mutant.verifier, loop=mutant.loop, **mutant.settings)``.
"""

from typing import NamedTuple

from ....models.generating.loop import DecodingLoop
from . import mutant_loops


class LoopMutant(NamedTuple):
    """A loop with a known bug, and what shows it.

    breaks: "text", the law of one text; "target rows" or "draft rows", what the verifier is given differs from a forward
    pass over the whole text (wrong draft rows cost acceptance, not the law); "batch", texts of a batch depend on each
    other. settings: under which it shows, beside the defaults; ragged: only in batches of prompts of several lengths.
    """

    name: str
    loop: type[DecodingLoop]
    title: str
    breaks: str
    ancestor: str
    link: str
    settings: dict = {}  # noqa: RUF012
    verifier: str = "block"
    ragged: bool = False


_MUTANTS = (
    LoopMutant(
        "L01", mutant_loops.TargetShort, "target's cache rolled back one token short", "target rows",
        "transformers: cache positions advanced by one token whatever had been accepted",
        "https://github.com/huggingface/transformers/pull/30068",
    ),
    LoopMutant(
        "L02", mutant_loops.TargetLong, "a rejected token left in the target's cache", "target rows",
        "Token-Print: rejected draft tokens stay in the key-value cache",
        "https://github.com/Sudharsanselvaraj/Token-Print/issues/110",
    ),
    LoopMutant(
        "L03", mutant_loops.DraftStale, "draft's cache without X_gamma after a block accepted in full", "draft rows",
        "vllm: the draft's cache went wrong behind bonus tokens, and acceptance fell",
        "https://github.com/vllm-project/vllm/pull/9730",
    ),
    LoopMutant(
        "L04", mutant_loops.WrongPositions, "positions counted by columns of the cache", "target rows",
        "unsloth: one position for all rows of a left-padded batch",
        "https://github.com/unslothai/unsloth/pull/4078", ragged=True,
    ),
    LoopMutant(
        "L05", mutant_loops.HolesSeen, "padding and rejected tokens attended to", "target rows",
        "unsloth: texts of a left-padded batch differ from those of single prompts",
        "https://github.com/unslothai/unsloth/issues/3699", ragged=True,
    ),
    LoopMutant(
        "L06", mutant_loops.DraftAloneWarped, "temperature on the draft alone", "text",
        "vllm: sampling parameters applied to the draft, the target at its defaults",
        "https://github.com/vllm-project/vllm/issues/9834", {"temperature": 0.5},
    ),
    LoopMutant(
        "L07", mutant_loops.RawDraftScores, "raw q for tokens drawn after top-k", "text",
        "transformers: tokens drawn from processed logits, the raw ones returned for the test",
        "https://github.com/huggingface/transformers/issues/47932", {"top_k": 2},
    ),
    LoopMutant(
        "L08", mutant_loops.GreedyDraft, "greedy draft tokens tested with a softmax", "text",
        "speculative-sampling: argmax proposals, accepted with probability p/q",
        "https://github.com/jaymody/speculative-sampling/issues/3",
    ),
    LoopMutant(
        "L09", mutant_loops.BonusFromRowBefore, "bonus token from the row before", "text",
        "openvino.genai: tokens taken from another row than that of their own position",
        "https://github.com/openvinotoolkit/openvino.genai/issues/4190",
    ),
    LoopMutant(
        "L10", mutant_loops.LastTokenEnds, "end token inside a block ignored", "text",
        "transformers: an end token accepted in the middle of a block did not end the text",
        "https://github.com/huggingface/transformers/issues/47912", {"eos": 0},
    ),
    LoopMutant(
        "L11", mutant_loops.NotCarried, "modified target not carried to the next iteration", "text",
        "Sun et al. 2025, Appendix C: greedy block verification needs Algorithm 6, not Algorithm 3",
        "https://arxiv.org/abs/2403.10444", verifier="greedy-block",
    ),
    LoopMutant(
        "L12", mutant_loops.SharedAcrossRows, "one stream of random numbers for all rows", "batch",
        "flashinfer: uniforms shared where each row needs its own",
        "https://github.com/flashinfer-ai/flashinfer/pull/425",
    ),
    LoopMutant(
        "L13", mutant_loops.SharedWithDraft, "draft, acceptance and residual seeded alike", "text",
        "llama.cpp: the draft's sampler and the rejection sampler begin in the same state",
        "https://github.com/ggml-org/llama.cpp/pull/27694",
    ),
    LoopMutant(
        "L14", mutant_loops.SharedWithResidual, "acceptance and residual share their noise", "text",
        "vllm: one counter for two draws, so that replacements depended on what had been drawn",
        "https://github.com/vllm-project/vllm/pull/54282",
    ),
)  # fmt: skip

LOOP_MUTANTS: dict[str, LoopMutant] = {mutant.name: mutant for mutant in _MUTANTS}
"""The mutants by name."""
