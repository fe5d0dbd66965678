"""The classes of bug that vectors are made to catch."""

from typing import NamedTuple

DRAWN = ("weights", "emitted", "raced")
DECIDED = ("accepted", "emitted", "raced")
ACCEPTED = ("thresholds", *DECIDED)
ANY = ("thresholds", "accepted", *DRAWN)
LAW = ("law",)


class Flag(NamedTuple):
    """A class of bug.

    bug: what a program that fails such a vector is likely to do.
    link: to a verifier that did so.
    needs: the answers of which one at least must be given for the bug to show.
    """

    bug: str
    link: str
    needs: tuple[str, ...] = ANY


FLAGS = {
    "Acceptance": Flag(
        "a draft token is accepted with another probability than min(1, p/q): q/p, a constant, a coarse uniform, another "
        "row, a cap that is missing", "https://github.com/huggingface/transformers/issues/28508", ACCEPTED),
    "BlockAcceptance": Flag(
        "a sub-block is accepted with another probability than the rule's h_i: products of uniforms, the token rule, q = 1",
        "https://github.com/vllm-project/vllm-ascend/issues/7807", ACCEPTED),
    "FirstRejection": Flag(
        "a token that would pass after the first rejection is counted", "https://github.com/huggingface/transformers/issues/28508",
        DECIDED),
    "LongestSubBlock": Flag(
        "the search ends at the first sub-block that fails, where the longest that passes counts",
        "https://github.com/vllm-project/vllm-ascend/issues/7807", DECIDED),
    "Residual": Flag(
        "the token after a rejection is not drawn from max(p_i M_b - M_s, 0) normalised: from the target, by argmax, through "
        "softmax, from the row after, without the survival p_i", "https://github.com/ShopeeLLM/Spec-RL/issues/14", DRAWN),
    "Bonus": Flag(
        "the token after a block that is accepted whole is not drawn from the target's last row",
        "https://github.com/vllm-project/vllm/issues/40149", DRAWN),
    "IndependentUniforms": Flag(
        "positions share a uniform, or the uniform that rejected draws the replacement",
        "https://github.com/vllm-project/vllm-ascend/issues/16370", DECIDED),
    "LargeRatio": Flag(
        "a likelihood ratio above 1 is carried on, or is capped where the rule does not cap it",
        "https://github.com/ZhouYuxuanYX/Hierarchical-Speculative-Decoding", ACCEPTED),
    "ZeroTarget": Flag(
        "a token that the target excludes is emitted", "https://github.com/sgl-project/sglang/issues/35771"),
    "ZeroDraft": Flag(
        "0 in the draft's row: division by it, or a token that only the target allows is lost",
        "https://github.com/vllm-project/vllm/issues/45060"),
    "BothZero": Flag(
        "a token that both models exclude becomes 0/0, and NaN wins an argmax",
        "https://github.com/vllm-project/vllm/issues/45060", DRAWN),
    "ZeroUniform": Flag(
        "u = 0 passes u <= 0, or a look-up at 0 returns a token of weight 0",
        "https://github.com/sgl-project/sglang/issues/35771", DECIDED),
    "LargestUniform": Flag(
        "the largest u rounds to 1: certain acceptance fails, or a look-up runs past the last token that has weight",
        "https://github.com/sgl-project/sglang/issues/30822", DECIDED),
    "EqualRows": Flag(
        "p = q everywhere: 0/0 in h_i, a residual without mass", "https://github.com/vllm-project/vllm/issues/45060"),
    "OneHot": Flag(
        "one-hot rows, as of greedy or n-gram drafts", "https://github.com/huggingface/transformers/issues/32867"),
    "Ties": Flag(
        "equal probabilities: a sort or an argmax that mixes up their order", "https://github.com/vllm-project/vllm-ascend/issues/15118"),
    "OneToken": Flag("V = 1", "https://github.com/vllm-project/vllm/issues/45060"),
    "WideVocabulary": Flag(
        "ids above 255: a narrow type, a table of candidates, a chunk of the row that is not read",
        "https://github.com/vllm-project/vllm-ascend/issues/16396"),
    "Underflow16": Flag(
        "probabilities that float16 rounds to 0: certain acceptance of what is unlikely",
        "https://github.com/lablup/mlxcel/issues/992", ACCEPTED),
    "Precision": Flag(
        "a row in bfloat16 where the other is not: thresholds that are off by 2^-9",
        "https://github.com/deepseek-ai/DeepSpec/issues/31", ACCEPTED),
    "LongBlock": Flag(
        "blocks of 8: an index that wraps, a product that runs on", "https://github.com/ohdearquant/lattice/issues/243", DECIDED),
    "Placeholder": Flag(
        "-1 behind the last draft token, with rows of 0: read as a token, or accepted",
        "https://github.com/vllm-project/vllm/issues/50939", DECIDED),
    "RaggedBatch": Flag(
        "requests of different lengths in one batch: a row, a number or a result of a neighbour",
        "https://github.com/Dao-AILab/flash-attention/issues/2779", DECIDED),
    "NothingDrafted": Flag(
        "a request of a batch without draft tokens: its token is drawn from the target's first row",
        "https://github.com/vllm-project/vllm-ascend/issues/13755", DRAWN),
    "Lossless": Flag(
        "what is emitted, completed by the target, does not follow the target's law",
        "https://arxiv.org/abs/2403.10444", LAW),
    "DraftTree": Flag(
        "the same of a draft tree: another node's row or parent, siblings tested or removed wrongly",
        "https://github.com/NVIDIA/TensorRT-LLM/issues/15098", LAW),
    "Support": Flag(
        "a token of target probability 0 is emitted", "https://github.com/sgl-project/sglang/issues/35771", LAW),
    "RuleLaw": Flag(
        "the law of what is emitted is not the rule's: another rule under its name, numbers that depend on each other",
        "https://github.com/vllm-project/vllm-ascend/issues/15673", LAW),
}  # fmt: skip
