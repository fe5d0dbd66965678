"""Record the verification steps of vLLM's model runner V2 in its own process, asked for as V1's (see ``vllm_v1``).

Its sampler applies the requests' settings to the logits and hands them to ``rejection_sample`` with the draft's logits,
which are of before temperature: the kernels divide by it. Without draft logits each drafted token is certain.
"""

from typing import Any

from draftproof.recording import Recorder

from .in_process import install_if_asked, note_failure, recorder_of_process, request_number
from .vllm_v1 import STEPS

WARMUP = ("_warmup_", "_v2_mixed_warmup")
"""How the names of the requests begin with which vLLM warms up."""


def register() -> None:
    """Record every process that vLLM starts, if it is asked for. Never raises into vLLM."""
    install_if_asked(install, "steps of vLLM's runner V2")


def install(folder: str, one_of: int = 1) -> None:
    """Put the recorder around the rejection sampler. folder: where its steps go. one_of: one step in so many."""
    from vllm.v1.worker.gpu.spec_decode.rejection_sampler import RejectionSampler

    called, verify = RejectionSampler.__call__, RejectionSampler._verify
    recorders, batches = list[Recorder](), list[Any]()

    def calling(self: Any, logits: Any, input_batch: Any, *more: Any, **named: Any) -> Any:
        batches[:] = [input_batch]
        return called(self, logits, input_batch, *more, **named)

    def verifying(self: Any, logits: Any, *given: Any) -> Any:
        result = verify(self, logits, *given)
        try:
            if not recorders:
                recorders.append(_made(self, folder, one_of, logits))
            _record(recorders[0], self, batches[0], logits, given, result)
        except Exception as error:
            note_failure(recorders[0] if recorders else None, STEPS, error)
        return result

    RejectionSampler.__call__, RejectionSampler._verify = calling, verifying


def _made(sampler: Any, folder: str, one_of: int, logits: Any) -> Recorder:
    import vllm

    synthetic = sampler.synthetic_conditional_rates is not None
    rule = "unknown" if synthetic else "block" if sampler.use_block_verification else "token"
    return recorder_of_process(
        folder, logits.shape[-1], rule=rule, engine="vllm", engine_version=f"{vllm.__version__}, model runner V2",
        device=str(logits.device), one_of=one_of,
    )  # fmt: skip


def _record(recorder: Recorder, sampler: Any, batch: Any, logits: Any, given: Any, result: Any) -> None:
    """Record the requests of a chunk. given: to ``_verify`` behind the logits. result: of it."""
    import torch

    draft_logits, _, _, ends, _, slots, _, _, _, drafted = given
    processed, sampled, count = result
    first = batch.idx_mapping_np.tolist().index(slots[0])
    names, lengths = (of[first : first + len(slots)] for of in (batch.req_ids, batch.num_computed_tokens_np))
    chosen = [k for k, name in enumerate(names) if not name.startswith(WARMUP) and recorder.chosen()]
    if not chosen:
        return
    if sampler.enable_adaptive_verification:  # the host knows the batch as it was before it was cut
        ends = ends.tolist()
    else:
        ends = (batch.cu_num_logits_np[first:] - batch.cu_num_logits_np[first]).tolist()
    emitted = torch.where(torch.arange(sampled.shape[1], device=sampled.device) < count[:, None], sampled, -1)
    for k in chosen:
        slot, rows = int(slots[k]), slice(ends[k], ends[k + 1])
        settings = _settings(sampler.sampler, slot)
        draft = None if draft_logits is None else draft_logits[slot, : ends[k + 1] - ends[k] - 1].float()
        recorder.step(
            processed[rows].float().softmax(-1), drafted[rows][1:], emitted[k],
            None if draft is None else (draft / (settings["temperature"] or 1)).softmax(-1), slot=k, settings=settings,
            request=request_number(names[k]), place=int(lengths[k]) + 1, logits=logits[rows].float(),
        )  # fmt: skip


def _settings(sampler: Any, slot: int) -> dict[str, Any]:
    """Return the settings of a request, as ``draftproof steps`` knows them."""
    states = sampler.sampling_states
    found = {"order": "vllm", "temperature": round(float(states.temperature.np[slot]), 7)}
    for name, off in (("top_k", states.vocab_size), ("top_p", 1.0), ("min_p", 0.0)):
        value = getattr(states, name).np[slot]
        if value != off:
            found[name] = int(value) if name == "top_k" else round(float(value), 7)
    for name, off in (("repetition", 1.0), ("presence", 0.0), ("frequency", 0.0)):
        value = float(getattr(sampler.penalties_state, f"{name}_penalty").np[slot])
        if value != off:
            found[f"{name}_penalty"] = round(value, 7)
    return found
