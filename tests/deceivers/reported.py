"""The table of faults that users reported in 2025 and 2026: a wrong form, a right one, and what shows it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from draftproof.models.battery import drawn
from draftproof.models.problem import Problem
from draftproof.models.tree_battery import drawing
from draftproof.models.wide import WideProblem, wide
from draftproof.reports.audits.engines.cells import decoder_problem, long_problem
from draftproof.tests.deceivers import problems as at

RULE, CALLER, SETTINGS, ENDS, STATE, BATCH, DRAFTS = (
    "rule", "caller", "settings", "ends", "state", "batch", "drafts",
)  # fmt: skip
"""Parts of an engine that have a fault."""

THREE = "three requests in one call (`--convention batch`)"
MIXED = "batches of several lengths, with placeholders and seeds (driven)"
"""Means that have problems of their own."""


class Asked(NamedTuple):
    """A request to a decoder. tokens: the cap. long: whether of the pair of two tokens."""

    settings: Mapping[str, Any]
    tokens: int = 3
    long: bool = False

    @property
    def problem(self) -> Problem:
        return long_problem() if self.long else decoder_problem()

    def __str__(self) -> str:
        asked = " ".join(f"--set {name}={value}" for name, value in self.settings.items())
        return f"`draftproof engine --tokens {self.tokens} {asked}".strip().replace("'", '"') + "`"


class Reported(NamedTuple):
    """A fault that users reported.

    threads: "repository#number", separated by spaces.
    what: what goes wrong, in words.
    wrong, right: "module:name", of this package or of the zoo.
    on: the problem, the request, or the means that show it.
    claim: the claim that the wrong form breaks.
    """

    threads: str
    what: str
    kind: str
    wrong: str
    right: str
    on: Problem | WideProblem | Asked | str
    claim: str = "lossless"

    @property
    def means(self) -> str:
        """What shows it, in words."""
        return str(self.on) if isinstance(self.on, (Asked, str)) else f"`draftproof audit`, problem `{self.on.name}`"


def rule(threads: str, what: str, wrong: str, right: str, on: Any, kind: str = RULE, **more: str) -> Reported:
    """Return the row of a function, of ``reported_rules`` if no module is named."""
    wrong, right = (name if ":" in name else f"reported_rules:{name}" for name in (wrong, right))
    return Reported(threads, what, kind, wrong, right, on, **more)


REFERENCE = "draftproof.models.decoders.reference:decode"


def decoder(threads: str, what: str, kind: str, wrong: str, on: Asked, right: str = REFERENCE, **more: str) -> Reported:
    """Return the row of a decoder of ``reported_decoders``; the right form is the reference if none is named."""
    right = right if ":" in right else f"reported_decoders:{right}"
    return Reported(threads, what, kind, f"reported_decoders:{wrong}", right, on, **more)


ZOO = "draftproof.verifiers.zoo"
ZEROS, NEIGHBOURS = drawn(3, 2, "zeros"), drawing(drawn(2, 2, "generic"), 2, 2, how="iid")
FREQUENCY, EOS, STOP = {"frequency_penalty": 1.0}, {"eos": [1]}, {"stop": [[1]]}

RULES = (
    rule("PaddlePaddle/FastDeploy#4189", "a drafted token is kept if it is among the likeliest candidates",
         "kept_if_a_candidate", "equal_to_a_sample", at.GENERIC_3_1),
    rule("PaddlePaddle/FastDeploy#5568", "one random number serves all tokens of a step",
         "one_seed_a_step", "one_seed_a_token", at.GENERIC_2_3, CALLER),
    rule("vllm-project/vllm-project.github.io#80", "a token is kept, without a coin, where p >= q",
         "kept_if_as_likely", "token", at.GENERIC_3_1),
    rule("Mesh-LLM/mesh-llm#567", "one mismatch a block passes",
         "one_mismatch_passes", "equal_to_a_sample", at.GENERIC_3_2),
    rule("signalnine/q27#16 incoai/splash#78", "a list of the likeliest tokens stands for the row",
         "the_40_likeliest", "token", wide(1003, 1)),
    rule("antirez/ds4#750", "behind a part that was kept, the next token is of the block's first row",
         "replaced_by_the_first_row", "replaced_by_its_row", at.GENERIC_3_2, CALLER),
    rule("antirez/ds4#358", "draft i is compared with the i-th likeliest token of the first row",
         "likeliest_of_the_first_row", "equal_to_a_sample", at.GENERIC_3_2, CALLER),
    rule("ROCm/ATOM#2318", "sampled requests are verified by argmax, the bonus token alone is drawn",
         "likeliest_of_its_row", "equal_to_a_sample", at.GENERIC_3_2),
    rule("local-inference-lab/vllm#476", "a sampled draft that the grammar rules out is replaced from the target's row",
         "ruled_out_and_drawn_anew", "ruled_out_and_replaced", ZEROS, CALLER),
    rule("sgl-project/sglang#33872 sgl-project/sglang#34189", "a ring of rows is shorter than the block",
         "ring_of_four", "ring_of_sixteen", at.MIXED_2_5, STATE),
    rule("NVIDIA/TensorRT-LLM#16440", "the replacement is drawn from one shard of the vocabulary",
         "the_larger_shard", "a_shard_by_its_mass", at.FOUR, CALLER),
    rule("ggml-org/llama.cpp#22506 ggml-org/llama.cpp#27694 mxxm-t/mx-llama.cpp#8",
         "a drafted token that the draft itself found unlikely is dropped untested",
         "dropped_if_unlikely_itself", "dropped_if_its_row_is_unsure", at.GENERIC_3_2, DRAFTS),
    rule("NVIDIA/TensorRT-LLM#17056 FlashML-org/FreeToken#71",
         "the width with the best confidence at all places is verified, at costs in steps",
         "width_for_costs_in_steps", "width_for_even_costs", at.GENERIC_3_2),
    rule("deepseek-ai/DeepSpec#31", "drafts are sampled from bfloat16 rows and verified by float32 ones",
         f"{ZOO}:M44", f"{ZOO}:C10", at.rows(["1/2", "1/2"], ["2/3", "1/3"], name="thirds"), DRAFTS),
    rule("foundation-model-stack/fms-extras#12", "each sibling is compared with a sample of its own",
         f"{ZOO}:T09", f"{ZOO}:D04", NEIGHBOURS),
    rule("sgl-project/sglang#36201", "a node of a tree hangs on its parent's neighbour",
         "node_on_its_neighbour", "node_on_its_parent", NEIGHBOURS, CALLER),
    rule("ml-explore/mlx-swift-lm#459 lablup/mlxcel#992",
         "a right rule is called wrong: keep what equals a sample, else emit the sample; a coin as well is wrong",
         f"{ZOO}:M06", f"{ZOO}:C02", at.GENERIC_3_1),
    rule("1CatAI/1Cat-vLLM#656 local-inference-lab/rtx6kpro#63", "a batch is right up to two slots",
         "two_slots_alone", "every_slot", THREE, BATCH, claim="batch"),
    rule("vllm-project/vllm#35398", "a request's seed is found by an index that counts tokens",
         "seed_by_tokens_before", f"{ZOO}.batched_rows:right", MIXED, BATCH, claim="batch"),
    rule("vllm-project/vllm#46899", "placeholders of an earlier step are read as drafts",
         f"{ZOO}.batched_rows:placeholder_as_index", f"{ZOO}.batched_rows:right", MIXED, BATCH, claim="batch"),
)  # fmt: skip

DECODERS = (
    decoder("vllm-project/vllm#31982", "logit bias reaches the bonus token alone", SETTINGS,
            "bias_of_the_bonus_alone", Asked({"logit_bias": {"1": 1.5}})),
    decoder("vllm-project/vllm#42744", "min-p reaches the bonus token alone", SETTINGS,
            "min_p_of_the_bonus_alone", Asked({"min_p": 0.4})),
    decoder("RightNow-AI/picolm#30", "top-p reaches the bonus token alone", SETTINGS,
            "top_p_of_the_bonus_alone", Asked({"temperature": 0.5, "top_p": 0.75})),
    decoder("sgl-project/sglang#28200 sgl-project/sglang#28180 sgl-project/sglang#28242",
            "the bonus token alone is penalised, by counts of a round ago", SETTINGS,
            "penalties_of_a_round_ago", Asked(FREQUENCY)),
    decoder("vllm-project/vllm#26467 vllm-project/vllm#20247 sgl-project/sglang#33643",
            "penalties count the last token of a step alone", SETTINGS, "last_of_a_step_counted", Asked(FREQUENCY)),
    decoder("ml-explore/mlx-lm#1175", "penalties count the confirmed token again and no drafted one", SETTINGS,
            "confirmed_counted_again", Asked({**FREQUENCY, "prompt": [0, 1]})),
    decoder("vllm-project/vllm#32163 vllm-project/vllm#32634", "a minimum length does not hold back the end token",
            SETTINGS, "minimum_lost", Asked({**EOS, "min_tokens": 2})),
    decoder("ml-explore/mlx-examples#1291", "logprobs are normalised over all rows of a block", SETTINGS,
            "logprobs_over_the_block", Asked({"logprobs": True}), claim="logprobs"),
    decoder("sgl-project/sglang-jax#1293", "all rows of a batch are cut by the first request's settings", BATCH,
            "settings_of_the_first", Asked({"temperature": 0.5, "together": [{"temperature": 2.0}]}, 2, long=True),
            claim="batch"),
    decoder("sgl-project/sglang#36173", "top-k and top-p come in another order where tokens are verified", SETTINGS,
            "top_p_before_top_k", Asked({"top_k": 2, "top_p": 0.6})),
    decoder("sgl-project/sglang#26330", "processors of logits are passed over", SETTINGS,
            "banned_lost", Asked({"banned": [1]})),
    decoder("InternLM/lmdeploy#4551", "the grammar is ignored", SETTINGS,
            "grammar_lost", Asked({"grammar": {"0": [1, 2], "1": [0, 2]}})),
    decoder("vllm-project/vllm#54906 vllm-project/vllm#39573", "tokens forced by a count are not forced", SETTINGS,
            "forced_end_lost", Asked({"forced_eos": [2]})),
    decoder("NVIDIA-NeMo/Automodel#3627", "a temperature that plain decoding takes for 0 divides, and NaN keeps all",
            SETTINGS, "divided_by_nothing", Asked({"temperature": 1e-6})),
    decoder("vllm-project/vllm#47616", "tokens behind a stop sequence inside a block stay", ENDS,
            "behind_a_stop", Asked(STOP)),
    decoder("sgl-project/sglang#33758", "the cap is looked at before the end token", ENDS,
            "cap_before_eos", Asked(EOS)),
    decoder("sgl-project/sglang#23802", "an early stop sequence lies outside the window that is searched", ENDS,
            "stops_in_the_last_two", Asked(STOP)),
    decoder("snowflakedb/ArcticInference#161", "stop sequences are ignored", ENDS, "stops_ignored", Asked(STOP)),
    decoder("PaddlePaddle/FastDeploy", "the token at the cap is written as the end token", ENDS,
            "end_at_the_cap", Asked(EOS)),
    decoder("ggml-org/llama.cpp#28049", "tokens accepted behind an end token stay for the next request", STATE,
            "left_in_the_slot", Asked({**EOS, "prompt": [2], "earlier": [[0]]}), "slot_emptied"),
    decoder("vllm-project/vllm#39273 vllm-project/vllm#40738 vllm-project/vllm#40831",
            "the next step reads the state behind the first of several kept tokens", STATE,
            "state_behind_the_first", Asked({}, 5, long=True)),
    decoder("apple/ml-recurrent-drafter#6", "a beam search's tokens are tested as if they were drawn", DRAFTS,
            "beam_drafts", Asked({}), "certain_beam_drafts"),
)  # fmt: skip

REPORTED = (*RULES, *DECODERS)


def linked(thread: str) -> str:
    """Return a thread as a link."""
    repository, _, number = thread.partition("#")
    return f"[{thread}](https://github.com/{repository}{f'/issues/{number}' if number else ''})"


def reported_table() -> str:
    """Return the table of the documentation."""
    lines = ["| reported | kind | what goes wrong | what shows it |", "|---|---|---|---|"]
    for row in REPORTED:
        threads = ", ".join(map(linked, row.threads.split()))
        lines.append(f"| {threads} | {row.kind} | {row.what} | {row.claim}: {row.means} |")
    return "\n".join(lines)
