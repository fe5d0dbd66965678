"""Record the verification steps of vLLM's V1 rejection sampler in its own process.

vLLM finds it by the entry point ``vllm.general_plugins``. It does nothing unless DRAFTPROOF_STEPS names a folder:

    DRAFTPROOF_STEPS=steps DRAFTPROOF_ONE_OF=20 vllm serve ...

It imports ``draftproof.recording``, NumPy and safetensors, and nothing else of this project.
"""

from itertools import accumulate
from typing import Any

from draftproof.recording import Recorder

from .in_process import install_if_asked, recorder_of_process, request_number, warn

STEPS = "vLLM's steps"
"""What is recorded, for warnings."""


def register() -> None:
    """Record every process that vLLM starts, if it is asked for. Never raises into vLLM."""
    install_if_asked(install, STEPS)


def install(folder: str, one_of: int = 1) -> None:
    """Put the recorder around the rejection sampler. folder: where its steps go. one_of: one step in so many."""
    import torch
    import vllm
    from vllm.v1.sample import rejection_sampler as module
    from vllm.v1.worker.gpu_model_runner import GPUModelRunner as Runner

    sampler, own = module.RejectionSampler, module.rejection_sample
    forward, recorders, seen = sampler.forward, [], {}

    def recorder_for(vocabulary: int, device: str) -> Recorder:
        if not recorders:
            about = {"engine": "vllm", "engine_version": vllm.__version__, "device": device, "rule": "token"}
            recorders.append(recorder_of_process(folder, vocabulary, one_of=one_of, **about))
        return recorders[0]

    runner_sample = Runner._sample

    def sample(self: Any, *given: Any, **named: Any) -> Any:
        seen["batch"] = self.input_batch
        try:
            return runner_sample(self, *given, **named)
        finally:
            del seen["batch"]

    def rejection_sample(*given: Any, **named: Any) -> Any:
        seen["target"] = given[5] if len(given) > 5 else named["target_logits"]
        return own(*given, **named)

    def recorded(self: Any, metadata: Any, draft_probs: Any, logits: Any, sampling: Any) -> Any:
        if "batch" not in seen:  # vLLM warms up, on drafts that nothing drew
            return forward(self, metadata, draft_probs, logits, sampling)
        recorder, chosen = None, []
        try:
            recorder = recorder_for(logits.shape[-1], str(logits.device))
            chosen = [k for k in range(len(metadata.num_draft_tokens)) if recorder.chosen()]
        except Exception as error:
            warn(STEPS, error)
        if recorder is None or not chosen:
            return forward(self, metadata, draft_probs, logits, sampling)
        ends = [0, *accumulate(metadata.num_draft_tokens)]
        raw = {k: logits[ends[k] + k : ends[k + 1] + k + 1].float().clone() for k in chosen}  # forward may write to it
        bonus = _watched(self.sampler, seen, chosen)
        try:
            output = forward(self, metadata, draft_probs, logits, sampling)
        finally:
            bonus()
        try:
            batch, last = seen["batch"], seen.pop("bonus", None)
            for n, k in enumerate(chosen):
                mine = slice(ends[k], ends[k + 1])
                rows = [seen["target"][mine], raw[k][-1:] if last is None else last[n : n + 1]]
                request, place = request_number(batch.req_ids[k]), int(batch.num_tokens_no_spec[k])
                recorder.step(
                    torch.softmax(torch.cat(rows), -1, dtype=torch.float32), metadata.draft_token_ids[mine],
                    output.sampled_token_ids[k], None if draft_probs is None else draft_probs[mine], request=request,
                    place=place, slot=k, settings=_settings(sampling, batch, k), logits=raw[k],
                )  # fmt: skip
        except Exception as error:
            recorder.count_failure(error)
        return output

    module.rejection_sample, sampler.forward, Runner._sample = rejection_sample, recorded, sample


def _watched(sampler: Any, seen: dict[str, Any], chosen: list[int]) -> Any:
    """Keep the scores from which the chosen requests' bonus tokens are drawn. Returns a function that ends it."""
    top = sampler.topk_topp_sampler
    own = top.forward

    def forward(logits: Any, generators: Any, k: Any, p: Any) -> Any:
        from vllm.v1.sample.ops.topk_topp_sampler import apply_top_k_top_p

        cuts = (None if limit is None else limit[chosen] for limit in (k, p))
        seen["bonus"] = apply_top_k_top_p(logits[chosen], *cuts)  # which indexing has copied
        return own(logits, generators, k, p)

    top.forward = forward

    def end() -> None:
        top.forward = own

    return end


def _settings(sampling: Any, batch: Any, k: int) -> dict[str, Any]:
    """Return the settings of a request, as ``draftproof steps`` knows them. batch: has them on the host."""

    def value(name: str) -> float | None:
        on_device = getattr(sampling, name, None)
        return None if on_device is None else round(float(getattr(batch, f"{name}_cpu", on_device)[k]), 7)

    found: dict[str, Any] = {"order": "vllm"}
    found |= {name: value(name) for name in ("temperature", "top_k", "top_p") if value(name) is not None}
    if "top_k" in found:
        found["top_k"] = int(found["top_k"])
    if sampling.all_greedy or found.get("temperature", 1) <= 0:
        found["temperature"] = 0
    if not sampling.no_penalties:
        for name in ("presence", "frequency", "repetition"):
            penalty = value(f"{name}_penalties")
            if penalty != (1.0 if name == "repetition" else 0.0):
                found[f"{name}_penalty"] = penalty
    return found
