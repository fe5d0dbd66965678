"""The zoo by name: verifiers with a known bug planted on purpose (mutants), and unusual but right ones (controls).

The functions are in the modules beside this one and are not imported here: the catalogue needs no numpy.
"""

from typing import NamedTuple


class ZooEntry(NamedTuple):
    """A verifier of the plain calling convention, f(target_probs, draft_probs, draft_tokens[, rng]) -> tokens.

    name: M01.. for mutants, C01.. for controls.
    function: "module:name" in this package.
    title: what is wrong or unusual, in a few words.
    ancestor: the bug that a mutant descends from, or who does what a control does, in one line.
    link: to the ancestor.
    refutes: the claims that an audit must refute; none for a control.
    driven: the same as "module:name" with its random numbers as inputs, where its law is known only so.
    """

    name: str
    function: str
    title: str
    ancestor: str
    link: str
    refutes: tuple[str, ...] = ("lossless",)
    driven: str = ""

    @property
    def target(self) -> str:
        """The function as an audit's subject, "package.module:name"."""
        return f"{__package__}.{self.function}"

    @property
    def measured(self) -> str:
        """The subject that gives its law."""
        return f"{__package__}.{self.driven or self.function}"


def by_name(*entries: ZooEntry) -> dict[str, ZooEntry]:
    return {entry.name: entry for entry in entries}


MUTANTS = by_name(
    # the acceptance test; the residual and the rows are right
    ZooEntry("M01", "accept_rule:accept_everything", "accepts every draft token",
        "transformers: the count of matches was wrong, so that every candidate was accepted",
        "https://github.com/huggingface/transformers/issues/28508"),
    ZooEntry("M02", "accept_rule:uniform_stuck_at_zero", "the uniform is the constant 0",
        "vllm-ascend: the uniform of the test was the constant 0.0, so that nothing was rejected",
        "https://github.com/vllm-project/vllm-ascend/issues/13730"),
    ZooEntry("M03", "accept_rule:ratio_upside_down", "accepts with q / p instead of p / q",
        "openvino.genai: validate_candidate has the likelihood ratio inverted (by reading; no public report found)",
        "https://github.com/openvinotoolkit/openvino.genai/issues/4490"),
    ZooEntry("M04", "accept_rule:uniform_in_hundredths", "the uniform is a whole number of hundredths",
        "openvino.genai: validate_candidate draws its uniform as an integer from 0 to 100, divided by 100",
        "https://github.com/openvinotoolkit/openvino.genai/issues/4490"),
    ZooEntry("M05", "accept_rule:measured_against_own_sample", "tests q(x) against p of the target's own sample",
        "openvino.genai: validate_candidate compares two tokens' probabilities, and keeps the target's own sample",
        "https://github.com/openvinotoolkit/openvino.genai/issues/4490"),
    ZooEntry("M06", "accept_rule:accept_if_sampled_too", "accepts also what the target's own sample equals",
        "rtp-llm: a same-token shortcut before the test of the ratio accepts too often",
        "https://github.com/alibaba/rtp-llm/issues/1295"),
    ZooEntry("M07", "accept_rule:measured_against_mode", "accepts with p(x) / max p",
        "1bit-MONSTER: the probability of the target's best token stood in for the draft's",
        "https://github.com/1bit-MONSTER/1bit-MONSTER/issues/637"),
    ZooEntry("M08", "accept_rule:argmax_instead_of_test", "verifies by argmax at temperature > 0",
        "sglang: where the sampling kernel is missing, sampled requests are verified by argmax",
        "https://github.com/sgl-project/sglang/issues/39253"),
    ZooEntry("M09", "accept_rule:coin_of_zero_passes", "accepts an impossible token at u = 0",
        "sglang: coin <= p / q accepts a token with p = 0 where the coin is 0, which torch.rand includes",
        "https://github.com/sgl-project/sglang/issues/35771", refutes=("support",)),
    # the residual: acceptance is right, the token that replaces a rejected one is not
    ZooEntry("M10", "residual:softmax_of_residual", "softmax of the residual",
        "transformers: the residual went through softmax where it had to be divided by its sum",
        "https://github.com/huggingface/transformers/issues/28508"),
    ZooEntry("M11", "residual:replacement_from_target", "replacement drawn from the target, not the residual",
        "Spec-RL: at the first rejection the token is drawn from p (by design, for training)",
        "https://github.com/ShopeeLLM/Spec-RL/issues/14"),
    ZooEntry("M12", "residual:only_rejected_token_removed", "residual that only zeroes the rejected token",
        "EAGLE: the target was adjusted at the rejected token alone (later also xllm#2175)",
        "https://github.com/SafeAILab/EAGLE/issues/20"),
    ZooEntry("M13", "residual:mode_of_residual", "argmax of the residual",
        "mistral.rs: the token after a rejection was the argmax where it had to be a sample",
        "https://github.com/EricLBuehler/mistral.rs/issues/2424"),
    ZooEntry("M14", "residual:nan_wins_argmax", "a NaN wins the residual's argmax",
        "vllm: a NaN or zero row in the argmax over the residual yields a token that cannot be",
        "https://github.com/vllm-project/vllm/issues/45060"),
    ZooEntry("M15", "residual:paired_by_place_in_list", "residual of rows in different order",
        "llama.cpp, examples/speculative: candidate lists subtracted by array index (by reading; no public report)",
        "https://github.com/ggml-org/llama.cpp/blob/master/examples/speculative/speculative.cpp"),
    ZooEntry("M16", "residual:stale_buffer_subtracted", "stale memory in the residual of a point-mass draft",
        "sglang: draft_probs was allocated and never written, and the residual read it",
        "https://github.com/sgl-project/sglang/issues/12561"),
    # q is not the law that the draft tokens were drawn from
    ZooEntry("M17", "wrong_draft_rows:softmax_for_greedy_draft", "softmax q for tokens drawn otherwise",
        "transformers: the assistant picked greedily and the test used its softmax (likewise speculative-sampling#3)",
        "https://github.com/huggingface/transformers/issues/32867"),
    ZooEntry("M18", "wrong_draft_rows:q_before_truncation", "raw q for tokens drawn after top-k",
        "transformers: tokens drawn from processed logits, the raw ones returned for the test",
        "https://github.com/huggingface/transformers/issues/47932"),
    ZooEntry("M19", "wrong_draft_rows:q_at_another_temperature", "q at another temperature than the draws",
        "dflash: the draft drew at its own temperature, and the test applied the request's",
        "https://github.com/z-lab/dflash/issues/74"),
    ZooEntry("M20", "wrong_draft_rows:q_of_the_best_beam", "q of a sampler for tokens of a beam search",
        "recurrent drafter: beam-search candidates tested with the drafter's probabilities as if sampled",
        "https://github.com/apple/ml-recurrent-drafter/issues/6"),
    # p is not the law that the text is to follow
    ZooEntry("M21", "wrong_target_rows:target_at_defaults", "target at default temperature",
        "vllm: temperature and top-p reached the draft model only, the target ran at defaults",
        "https://github.com/vllm-project/vllm/issues/9834"),
    ZooEntry("M22", "wrong_target_rows:penalty_counted_twice", "drafted tokens penalised twice",
        "vmlx-swift: drafting and verifying both recorded the tokens in the shared penalty counts",
        "https://github.com/osaurus-ai/vmlx-swift/issues/357"),
    ZooEntry("M23", "wrong_target_rows:target_zeroed_before_test", "target zeroed in place before the test",
        "vllm-ascend: for n-gram drafts the target row was zeroed in place ahead of the accept test",
        "https://github.com/vllm-project/vllm-ascend/issues/2881"),
    # the formulas are right, the random numbers are not independent
    ZooEntry("M24", "randomness:rejected_uniform_reused", "the rejecting uniform also draws the replacement",
        "vllm-ascend: the accept test's uniform was used again in the inverse CDF of the residual",
        "https://github.com/vllm-project/vllm-ascend/issues/16370"),
    ZooEntry("M25", "randomness:one_uniform_for_all", "one uniform for all positions",
        "flashinfer: uniform samples were shared where each test needs its own",
        "https://github.com/flashinfer-ai/flashinfer/issues/425"),
    ZooEntry("M26", "randomness:noise_shared_with_draft", "draft and replacement share their Gumbel noise",
        "vllm: the draft's Gumbel noise and the replacement's came from the same Philox seed and position",
        "https://github.com/vllm-project/vllm/issues/54282"),
    ZooEntry("M27", "randomness:same_state_as_draft_sampler", "draft sampler and verifier start from one state",
        "llama.cpp: the draft's sampler and the rejection sampler began with identical generator states",
        "https://github.com/ggml-org/llama.cpp/issues/27694"),
    ZooEntry("M28", "randomness:seeded_in_every_call", "generator seeded in every call",
        "TensorRT-LLM: an engine-wide seed in every call, so that requests share one stream and seeds are ignored",
        "https://github.com/NVIDIA/TensorRT-LLM/issues/17599"),
    ZooEntry("M29", "randomness:ranks_disagree", "two ranks with generators of their own",
        "vllm: tensor-parallel ranks drew their own uniforms and accepted different tokens",
        "https://github.com/vllm-project/vllm/issues/17498"),
    # the wrong position is read or written
    ZooEntry("M30", "wrong_index:first_token_unverified", "first draft token always accepted",
        "lattice: the verify loop was shifted by one, so that the first draft was never tested",
        "https://github.com/ohdearquant/lattice/issues/243"),
    ZooEntry("M31", "wrong_index:replacement_from_next_row", "replacement from the row after",
        "openvino.genai: a rejected token is replaced by a draw from its continuation's row",
        "https://github.com/openvinotoolkit/openvino.genai/issues/4190"),
    ZooEntry("M32", "wrong_index:target_rows_one_late", "target rows one position late",
        "TensorRT-LLM: verification of the dynamic tree sliced the wrong rows of logits",
        "https://github.com/NVIDIA/TensorRT-LLM/issues/15098"),
    ZooEntry("M33", "wrong_index:place_in_sorted_list_returned", "place in a sorted list returned as the token",
        "vllm-ascend: an index among reordered candidates was taken for a vocabulary id",
        "https://github.com/vllm-project/vllm-ascend/issues/16396"),
    ZooEntry("M34", "wrong_index:draft_rows_out_of_order", "draft rows out of order",
        "vllm: draft probabilities were not permuted along when the batch was reordered",
        "https://github.com/vllm-project/vllm/issues/41044"),
    ZooEntry("M35", "wrong_index:neighbour_overwrites", "a neighbour's replacement is written into this row",
        "flash-attention: an index over rows and columns wrote every row's token into all rows",
        "https://github.com/Dao-AILab/flash-attention/issues/2779"),
    # block verification
    ZooEntry("M36", "block_rule:products_of_uniforms", "cumulative ratios against cumulative uniforms",
        "vllm-ascend: cumprod(min(p/q, 1)) >= cumprod(u), with the residual of a single token",
        "https://github.com/vllm-project/vllm-ascend/issues/7807", driven="block_rule:products_of_uniforms_driven"),
    ZooEntry("M37", "block_rule:block_with_token_residual", "block acceptance with the token residual",
        "vllm-ascend: the recovered token came from the same residual whether or not the block rule was on",
        "https://github.com/vllm-project/vllm-ascend/issues/7808"),
    ZooEntry("M38", "block_rule:block_without_draft_probabilities", "block rule with q = 1",
        "vllm-ascend: the block rule ran on n-gram drafts, whose missing probabilities were set to 1",
        "https://github.com/vllm-project/vllm-ascend/issues/7603"),
    ZooEntry("M39", "block_rule:surplus_of_placeholder_row", "residual mass of a placeholder's row",
        "vllm: with placeholders in the draft, the block rule took the residual's mass from a placeholder's row",
        "https://github.com/vllm-project/vllm/issues/50939"),
    ZooEntry("M40", "block_rule:greedy_block_in_plain_loop", "greedy block verification in the plain loop",
        "the paper's own warning: Algorithm 4 in the loop of Algorithm 3 is not valid (Appendix C)",
        "https://arxiv.org/abs/2403.10444"),
    ZooEntry("M41", "block_rule:last_ratio_uncapped", "uncapped ratio for the whole block",
        "Hierarchical Speculative Decoding: the code's final joint ratio lacks the cap of its other steps",
        "https://github.com/ZhouYuxuanYX/Hierarchical-Speculative-Decoding"),
    ZooEntry("M42", "block_rule:token_rule_under_the_name_of_block", "token verification under the name of block",
        "vllm-ascend: use_block_verification was accepted and silently ignored",
        "https://github.com/vllm-project/vllm-ascend/issues/15673", refutes=("optimal",)),
    ZooEntry("M43", "block_rule:block_rule_from_three_tokens_on", "block rule only for three tokens and more",
        "vllm: the block rule is gated to blocks of three and more, the rest being held to be equal",
        "https://github.com/vllm-project/vllm/issues/40819", refutes=("optimal",)),
    # the formulas are right, the numbers have too few digits
    ZooEntry("M44", "precision:q_in_another_precision", "q in another precision than the draws",
        "DeepSpec: the draft sampled from a bfloat16 softmax and the test used float32 probabilities",
        "https://github.com/deepseek-ai/DeepSpec/issues/31"),
    ZooEntry("M45", "precision:half_precision_rows", "acceptance in half precision",
        "mlxcel: float16 probabilities below 6e-8 vanish, and a small ratio turns into certain acceptance",
        "https://github.com/lablup/mlxcel/issues/992"),
    # found later, in the order of their kinds above
    ZooEntry("M46", "residual:coin_of_one_falls_off", "a coin of exactly 1 takes the last token",
        "sglang: a hash of 32 bits became a float32 coin, whose top 129 values round to 1.0",
        "https://github.com/sgl-project/sglang/issues/30822", refutes=("support",)),
    ZooEntry("M47", "wrong_index:padding_accepted", "padding behind the block is accepted",
        "flashinfer: rows of zeros behind the draft were accepted, and more tokens came out than the most possible",
        "https://github.com/flashinfer-ai/flashinfer/issues/879"),
    ZooEntry("M48", "wrong_index:place_in_tile_returned", "place in a tile returned as the token",
        "vllm-ascend: the compiler broke the maximum with its index, and wrong token ids came back",
        "https://github.com/vllm-project/vllm-ascend/issues/15118"),
    ZooEntry("M49", "wrong_draft_rows:q_without_earlier_tokens", "one draw without replacement taken for independent ones",
        "LMFlow (review): several draft tokens from one multinomial call, which draws without replacement",
        "https://github.com/OptimalScale/LMFlow/pull/630"),
)  # fmt: skip

BATCH_MUTANTS = by_name(
    ZooEntry("B01", "batched_rows:one_set_of_uniforms", "all rows are tested with the first row's uniforms",
        "flashinfer: uniform samples were not unique to a request",
        "https://github.com/flashinfer-ai/flashinfer/issues/425", refutes=("batch",)),
    ZooEntry("B02", "batched_rows:offsets_of_padded_rows", "a ragged batch is read as a padded one",
        "vllm: a fancy index that wrote into a copy left rows of mixed batches with other rows' numbers",
        "https://github.com/vllm-project/vllm/issues/10863", refutes=("batch",)),
    ZooEntry("B03", "batched_rows:greedy_rows_sampled", "greedy rows are sampled in mixed batches",
        "vllm-ascend: the greedy flag was lost where a batch mixes greedy and sampled requests",
        "https://github.com/vllm-project/vllm-ascend/issues/5417", refutes=("batch",)),
    ZooEntry("B04", "batched_rows:draft_not_reordered", "draft rows stay behind when the batch is reordered",
        "vllm: draft probabilities were not permuted along when the batch was reordered",
        "https://github.com/vllm-project/vllm/issues/41044", refutes=("batch",)),
    ZooEntry("B05", "batched_rows:placeholder_as_index", "a placeholder -1 is taken for an index",
        "vllm: the block rule read a row at a placeholder's index",
        "https://github.com/vllm-project/vllm/issues/50939", refutes=("batch",)),
    ZooEntry("B06", "batched_rows:seed_of_the_slot", "the same seed has another stream in another slot",
        "TensorRT-LLM: the batch shares one stream, and a request's numbers depend on where it stands in it",
        "https://github.com/NVIDIA/TensorRT-LLM/issues/17599", refutes=("batch",)),
    ZooEntry("B07", "batched_rows:shifted_numbers", "rows without drafts shift the numbers of the rows behind",
        "vllm-ascend: random numbers were consumed for rows without drafts, so that results depend on batch mates",
        "https://github.com/vllm-project/vllm-ascend/issues/13755", refutes=("batch",)),
)  # fmt: skip
"""Verifiers of batches whose rows influence each other; alone, each row is verified rightly."""

CONTROLS = by_name(
    ZooEntry("C01", "controls:point_mass_rule", "point-mass rule with a sampled draft",
        "vllm: reported as wrong for sampled drafts; it accepts less, and any way to choose x is lossless",
        "https://github.com/vllm-project/vllm/issues/40149", refutes=()),
    ZooEntry("C02", "controls:sampler_match", "accepts what the target's own sample equals",
        "mlxcel proves it lossless, mlx-swift-lm#459 calls it biased",
        "https://github.com/lablup/mlxcel/issues/992", refutes=()),
    ZooEntry("C03", "controls:one_draw_for_both", "acceptance and replacement in one draw",
        "the maximal coupling that token verification is, written as one categorical law",
        "https://arxiv.org/abs/2403.10444", refutes=()),
    ZooEntry("C04", "controls:block_verification_in_floats", "block verification from the back",
        "sglang and vllm search the longest accepted sub-block in this order or the opposite one",
        "https://github.com/sgl-project/sglang/issues/36516", refutes=()),
    ZooEntry("C05", "controls:block_verification_as_a_stream", "block verification as a stream",
        "the second published form of block verification (Sun et al. 2025, Appendix A)",
        "https://arxiv.org/abs/2403.10444", refutes=()),
    ZooEntry("C06", "controls_randomness:exponential_race", "replacement by a race of exponentials",
        "vllm's V1 rejection sampler draws its recovered tokens in this way",
        "https://github.com/vllm-project/vllm/issues/13933", refutes=()),
    ZooEntry("C07", "controls_randomness:gumbel_race", "replacement by Gumbel-max",
        "vllm's model runner V2 draws the replacement in logarithms; right if the noise is not the draft's",
        "https://github.com/vllm-project/vllm/issues/54282", refutes=()),
    ZooEntry("C08", "controls_randomness:compared_in_logarithms", "accept test in logarithms",
        "vllm's model runner V2 compares log p with log u + log q",
        "https://github.com/vllm-project/vllm/issues/46781", refutes=()),
    ZooEntry("C09", "controls_randomness:everything_drawn_beforehand", "all random numbers drawn before the first test",
        "vllm: replacements drawn eagerly for every position, or lazily for the one that is used",
        "https://github.com/vllm-project/vllm/issues/41258", refutes=()),
    ZooEntry("C10", "controls_randomness:uniform_upside_down", "1 - u in place of u",
        "the safe reading of sglang's coin: 1 - u is never 0",
        "https://github.com/sgl-project/sglang/issues/35771", refutes=()),
    ZooEntry("C11", "controls_randomness:one_uniform_rescaled", "rejecting uniform reused after rescaling",
        "the right way to do what M24's ancestor did: the rest of the uniform is uniform again",
        "https://github.com/vllm-project/vllm-ascend/issues/16370", refutes=()),
    ZooEntry("C12", "controls_randomness:module_random", "global random module",
        "transformers draws from the global generator, with no argument for another",
        "https://github.com/huggingface/transformers/issues/34553", refutes=()),
    ZooEntry("C13", "controls_randomness:module_numpy_random", "global numpy.random",
        "transformers draws from the global generator, with no argument for another",
        "https://github.com/huggingface/transformers/issues/34553", refutes=()),
)  # fmt: skip
