"""For each refutation of an adapter or an engine the text of an issue for the maintainers, made from the report."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from draftproof.reports.audits.report import Report
from draftproof.reports.pages.plain_words import problem_rows
from draftproof.verifiers.claims import CLAIMS
from draftproof.verifiers.details import SamplesDetail
from draftproof.verifiers.evidence import Evidence

FOLDER = Path(__file__).with_name("engines")
"""Issue texts, and reproductions that need the engine and nothing of this project."""

GREEDY_TIES = (
    "A greedy request beside a sampled one is top-k 1, and `topk_mask` keeps every token that ties with the first, so "
    "that `top_k_renorm_prob` leaves several: where `top_k_values` is 1 the row has to be one-hot at its argmax, as a "
    "batch of greedy requests alone has it."
)

FIXES = {
    "vllm-ascend-block-lossless": "The rule compares cumprod(min(p/q, 1)) with cumprod(u). Block verification (Sun et "
    "al. 2025, Algorithm 2) keeps p_i = min(p_{i-1} p/q, 1), accepts the longest i with u_i <= h_i, where h_i = S_i / "
    "(S_i + 1 - p_i), S_i = sum_x max(p_i p(x) - q(x), 0), and h_i = p_i at the last position, with a uniform of its "
    "own for each i, and then draws from max(p_tau p - q, 0), normalised. `use_block_verify` has to reach the "
    "function that draws the recovered token.",
    "vllm-ascend-block-batch": "The choice of the rule by the longest request of the batch (`max_spec_len`) has to be "
    "made by each request's own number of draft tokens, or by the setting alone.",
    "vllm-ascend-v2-lossless": "`u` has to be a uniform random number of (0, 1), of its own for each position, as in "
    "vLLM's kernel. Where the device has no `tl_rand64`, `tl.rand` is one, as for the last token's noise in the same "
    "file.",
    "tpu-inference-batch": "`_compute_probs` divides by the temperature of each request, and `InputBatch` writes -1 "
    "for a greedy one: its row is turned over, so that the least likely token is the likeliest. `sample` passes over "
    "such rows by `is_greedy`; where `temperature < _SAMPLING_EPS`, `_compute_probs` has to give the argmax all mass. "
    "And rows of the padding are the last request's where no padded request stands behind it: one that is rejected "
    "takes its bonus token. Only those with `group_indices < num_draft_tokens[segment_ids]` are drafts.",
    "tpu-inference-settings-lossless": "`_compute_probs` cuts by top-p before it divides by the temperature, "
    "`_apply_sampling_transforms` afterwards: one function has to serve both.",
    "tpu-inference-support": "The test is `ratio >= uniform_probs`; with `>` the uniform 0 accepts nothing that is "
    "impossible.",
    "sglang-jax-support": "The test is `coins_r <= p_cand / threshold_acc`, and `coin <= prob_acc / threshold_acc` for "
    "trees; with `<` the uniform 0 accepts nothing that is impossible.",
    "sglang-jax-batch": GREEDY_TIES,
    "sglang-jax-tree-batch": GREEDY_TIES,
    "sglang-jax-plain-lossless": "Its masks cut a row before its temperature divides it, its verification afterwards: "
    "a request at another temperature than 1 with top-p has one law for its first token and another for those after a "
    "draft. The temperature has to come first.",
    "sglang-jax-tree-scheduled-lossless": "`resolve_spec_decode_token_ids` takes the first places of `predict`, which "
    "are those of the accepted tokens on a chain alone; of a tree they are at `accept_index`, and `verified_id` of "
    "`EagleVerifyInput.sample` has them in order.",
    "lmdeploy-settings-lossless": "Top-k, top-p and min-p are applied in `FusedLogitsProcessor.sampling` alone, which "
    "draws the bonus token: drafted tokens are verified against, and replaced from, the whole row. "
    "`RejectionSampler.forward` has to cut the rows of drafted positions likewise before their softmax. (Its "
    "`generation_config` has top-k 50 by default.) Repetition penalties look at the tokens before the block at every "
    "position of it, and a minimum length counts them: read, not examined.",
    "lmdeploy-support": "The test is `>= uniform_probs`; with `>` the uniform 0 accepts nothing that is impossible.",
    "lmdeploy-kernels-support": "The test is `>= uniform_prob`; with `>` the uniform 0 accepts nothing that is "
    "impossible.",
    "hsd-lossless": "The whole block is accepted with probability min(1, R), R the ratio of the two models' joint "
    "probabilities of all its tokens, where the branches before it are capped by the largest ratio so far. Capped in "
    "the same way, by R / max(1, largest ratio of a prefix, the whole block included), it is lossless, and accepts as "
    "much as block verification and no more: after `probability_ratio` is made, `probability_ratio = "
    "probability_ratio / probability_ratio.clamp(min=1).cummax(1)[0]`.",
    "hsd-support": "The test is `r_i <= probability_ratio`; with `<` the uniform 0 accepts nothing that is impossible.",
    "hsd-token-support": "The test is `r_i <= probability_ratio`; with `<` the uniform 0 accepts nothing that is "
    "impossible.",
    "openvino-genai-from-outside-lossless": "Accept the draft token x with probability min(1, p(x) / q(x)), p and q "
    "the two models' probabilities of x itself, against a uniform real number; after a rejection draw from max(p - q, "
    "0), normalised, of the same row.",
    "transformers-support": "`r_i <= probability_ratio` is true for r_i = 0 and a ratio of 0. With `<` the law is the "
    "same but for that point.",
    "vllm-support": "The test is `>=`; with a strict comparison the uniform 0 accepts nothing that is impossible.",
    "vllm-ascend-token-support": "The test is `>=`; with a strict comparison the uniform 0 accepts nothing that is "
    "impossible.",
    "vllm-ascend-block-support": "The test is `>=`; with a strict comparison the uniform 0 accepts nothing that is "
    "impossible.",
    "eagle-support": "The test is `r <= acp`; with `<` the uniform 0 accepts nothing that is impossible.",
    "tensorrt-llm-support": "The test is `torch.rand(..) > accept_probs`; with `>=` the uniform 0 accepts nothing "
    "that is impossible. (Padding is not tested either: where a block holds more tokens than "
    "`py_draft_logits` has rows, and all of those are accepted, `get_draft_token_length` counts the padding as "
    "accepted: TV 4/9 on the paper's example. Its drafters of two models are disabled since "
    "NVIDIA/TensorRT-LLM#17366, so that nothing was found that calls it so.)",
    "gpt-fast-support": "The test is `torch.rand_like(accept_draft_prob) > accept_draft_prob`, and `rand_like` has "
    "the type of the rows: bfloat16 by default, whose uniforms are multiples of 1/256, 0 among them. Uniforms in "
    "float32, and `>=`, accept nothing that is impossible: `(torch.rand(accept_draft_prob.shape, device=device) >= "
    "accept_draft_prob)`.",
    "litgpt-top-p-lossless": "`sample(adjusted_distribution, apply_softmax=False)` cuts what is left by the softmax of "
    "probabilities, as if they were logits, so that nothing remains. The rows have been cut and scaled already: "
    "`new_token = multinomial_num_samples_1(adjusted_distribution)`.",
    "ipex-llm-support": "The test is `random_probs > accept_draft_prob`, and `random_probs` are drawn in the model's "
    "type: in bfloat16 they are multiples of 1/256, in float16 of 1/2048, 0 among them. Uniforms in float32, and "
    "`>=`, accept nothing that is impossible.",
    "angelslim-support": "The test is `r <= acp`; with `<` the uniform 0 accepts nothing that is impossible.",
    "medusa-nucleus-lossless": "`get_nucleus_posterior_mask` draws a token and keeps the draft where they are equal; "
    "where they are not, the token that was drawn has to be the next one. The next step draws another one "
    "(`get_nucleus_one_token`), so that a drafted token x has two chances: p + (1 - p) p.",
    "vllm-mlx-beside-lossless": "In a batch a draft is kept where the drafts of all requests are accepted; where one "
    "is not, none is, and the next step draws every request's token from the target's whole row, as if nothing had "
    "been tested. That token has to come from max(p - q, 0) for a request whose draft was rejected, and to be the "
    "draft for one whose draft was accepted: each row's own choice, replayed for all rows as it is for one.",
}
"""What would make each right, by name and claim, where it is known."""


class RefutationRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of a refutation beside its text.

    found: the day on which it was found here. known: where it had been reported; empty where no report was found in
    the stored issues of public repositories. near: what was reported that is near it. mend: the test in which
    the fix was tried, or why it was not.
    """

    found: str
    known: str = ""
    near: str = ""
    mend: str = ""

    def __str__(self) -> str:
        """Whether it was reported, in words."""
        near = f" Near it: {self.near}." if self.near else ""
        if self.known:
            return f"It was reported: {self.known}.{near}"
        return (
            f"No report of it was found in the stored issues of public repositories (looked up {LOOKED_UP}), and we "
            f"reported it to nobody.{near}"
        )


LOOKED_UP = "2026-11-26"
REPORTED = msgspec.json.decode(Path(__file__).with_name("reported.json").read_bytes(), type=dict[str, RefutationRecord])
"""By name and claim."""

PLATFORM = re.compile(r"(-(?:Linux|macOS|Windows))-\S*")
"""What platform.platform() says of a machine, which is no version of a server."""


def refuted(report: Report) -> dict[str, Evidence]:
    """Of each claim whose refutation is a bug the refutation to show: on the smallest problem."""
    shown: dict[str, Evidence] = {}
    for evidence in report.evidence:
        if evidence.refuted and evidence.witness and CLAIMS[evidence.claim].fault:
            known = shown.get(evidence.claim)
            if known is None or _size(evidence) < _size(known):
                shown[evidence.claim] = evidence
    return {claim: shown[claim] for claim in CLAIMS if claim in shown}


def _size(evidence: Evidence) -> int:
    return len(json.dumps(evidence.witness.problem)) if evidence.witness else 0


def version_of(name: str, report: Report) -> str:
    """The engine and its version, as far as the report has them; of a server what it says of itself."""
    if report.server:
        said = filter(None, (report.server["header"], *report.server["fingerprints"]))
        return ", ".join(PLATFORM.sub(r"\1", text) for text in said)
    lifted = report.subject.get("convention", {}).get("lifted", [])
    known = sorted({f"{one['engine']} {str(one['version'])[:12]}" for one in lifted})
    packages = sorted((package for package in report.environment if package in name), key=len)
    return ", ".join(known or [f"{package} {report.environment[package]}" for package in packages[-1:]])


def issue(name: str, report: Report, evidence: Evidence) -> str:
    """The text of an issue, in Markdown.

    name: on the page. evidence: a refutation (see ``refuted``).
    """
    key = f"{name}-{evidence.claim}"
    script = FOLDER / f"{key}.py"
    code = script.read_text(encoding="utf-8").strip() if script.is_file() else "# none yet"
    parts = [
        f"# {version_of(name, report) or name}: {CLAIMS[evidence.claim].fault}",
        f"{report.subject['source']}.",
        "## What happens",
        CLAIMS[evidence.claim].refuted,
        *_by_hand(evidence),
        "## To see it",
        f"```python\n{code}\n```",
        advice(key),
        "## How it was found",
        *_how(report, evidence),
    ]
    return "\n\n".join(parts) + "\n"


def advice(key: str) -> str:
    """What would fix it, whether that was tried, and whether it was reported: of an issue by name and claim."""
    parts, said = ["## What would fix it", FIXES.get(key, "Not known.")], REPORTED.get(key)
    if said:
        untried = said.mend.startswith("not tried")
        parts.append(
            f"{said.mend[0].upper()}{said.mend[1:]}." if untried else f"Tried, and not refuted: `{said.mend}`."
        )
        parts += ["## Reported", str(said)]
    return "\n\n".join(parts)


def _by_hand(evidence: Evidence) -> Iterator[str]:
    """The problem and the two laws, small enough to be checked by hand."""
    witness = evidence.witness
    assert witness
    yield "## By hand"
    rows = problem_rows(witness.problem)
    if rows:
        lines = [f"| {model} | {when} | {', '.join(row)} |" for model, when, row in rows]
        yield f"Probabilities of the tokens 0, 1, ..; {witness.problem['gamma']} draft tokens a block."
        yield "\n".join(["| model | when | row |", "|---|---|---|", *lines])
    elif witness.problem:
        yield f"The pair, as JSON: `{json.dumps(witness.problem, separators=(',', ':'))}`"
    if witness.draft_block is not None:
        yield f"Drafted: {witness.draft_block}."
    outcome = "row with draft tokens" if evidence.claim == "batch" else "emitted"
    lines = [f"| {e.sequence} | {e.expected} | {e.observed} |" for e in witness.entries[:8]]
    yield "\n".join([f"| {outcome} | expected | observed |", "|---|---|---|", *lines])
    if witness.why:
        yield f"{witness.why[0].upper()}{witness.why[1:]}."
    if evidence.total_variation is not None and evidence.claim == "lossless":
        limit = (
            f", where {float(evidence.bound):.2g} is within rounding or chance" if evidence.bound is not None else ""
        )
        yield f"Total variation between the two laws: {float(evidence.total_variation):.3g}{limit}."


def _how(report: Report, evidence: Evidence) -> Iterator[str]:
    convention = report.subject.get("convention", {})
    for one in convention.get("lifted", []):
        edits = [{**edit, "old": edit["old"].replace("\t", "\\t")} for edit in one["edits"]]
        yield (
            f"- `{one['file']}`, {one['digest'][:23]}.., run unmodified but for {len(edits)} recorded "
            f"edit{'s' * (len(edits) != 1)}"
            + "".join(f"\n  - `{edit['old']}` -> `{edit['new']}`: {edit['why']}" for edit in edits)
        )
    samples = evidence.detail.samples if isinstance(evidence.detail, SamplesDetail) else None
    yield f"By {evidence.method}{f', {samples:,} samples' if samples else ''}; " + (
        "the numbers observed are estimates." if samples else "the numbers observed are exact up to the stated limit."
    )
    if evidence.replay:
        yield f"```console\n$ {evidence.replay}\n```"
