"""SGLang: the text of a request under EAGLE (NEXTN), and without speculation, from the functions of its scheduler.

SGLang's own: how a request's settings become tensors and penalties (``SamplingBatchInfo``, ``penaltylib``), the rows
that verification hands to its kernel (``eagle_sample``), which tokens enter the penalties
(``cumulate_penalty_output_tokens``), where a text ends (``Req.update_finish_state``), and plain sampling
(``Sampler.forward``). What stands in: the loop of the scheduler without overlap, the forged pair, cuts by the kernels
of CUDA, and the kernel itself: a chain of drafts that are the likeliest tokens, each kept with its probability. Tokens
are drawn by NumPy from the rows that SGLang makes.
"""

import abc
import builtins
import dataclasses
import re
import sys
import weakref
from array import array
from collections.abc import Iterator, Sequence
from functools import cache, partial
from http import HTTPStatus
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from draftproof.verifiers.adapters.hf_generation import _model
from draftproof_engines.lifted import lift

PENALTIES = ("orchestrator", "frequency_penalty", "presence_penalty", "min_new_tokens", "repetition_penalty")
ENDS = ("BaseFinishReason", "FINISH_MATCHED_TOKEN", "FINISH_MATCHED_STR", "FINISHED_MATCHED_REGEX", "FINISH_LENGTH",
        "FINISH_ABORT", "Req", "ScheduleBatch")  # fmt: skip
ALL = 1 << 30
NAMES = {"eos": "stop_token_ids", "min_tokens": "min_new_tokens"}
"""Settings of ours that have another name there."""


class _Batch:
    """A batch of one request, as far as what is lifted reads it."""

    device, forward_mode = "cpu", SimpleNamespace(is_idle=lambda: False)
    sampling_info: Any

    def __init__(self, request: Any):
        self.reqs, self.seq_lens = [request], torch.ones(1, dtype=torch.int64)


def decode(
    target: Path, draft: Path | None, start: int, tokens: int, gamma: int, seeds: Sequence[int], **settings: Any
) -> Iterator[list[int]]:
    """Yield for each seed the tokens that follow [start, *prompt]; without a draft those of its plain sampler."""
    made, prompt = _sglang(), [start, *settings.pop("prompt", ())]
    texts = ["".join(map(chr, stop)) for stop in settings.pop("stop", None) or ()]  # token t is the t-th character
    asked = {NAMES.get(name, name): value for name, value in settings.items()}
    for seed in seeds:
        made.rng = np.random.default_rng(seed)
        request = _request(made, prompt, tokens, texts, asked)
        batch = _Batch(request)
        info = batch.sampling_info = made.info.from_schedule_batch(batch, _model(target).config.vocab_size)
        while not request.finished():
            text = [*prompt, *request.output_ids]
            if request.output_ids and info.penalizer_orchestrator.is_required:
                made.cumulate(batch)
            info.update_penalties()
            # the first token is drawn by the plain sampler, as after every prefill
            run = _verified(made, batch, text, target, draft, gamma) if draft and request.output_ids else [
                _sampled(made, info, _rows(target, text)[-1:])]  # fmt: skip
            request.output_ids.extend(run)
            request.update_finish_state(len(run))
        yield list(request.output_ids_through_stop)


def _sampled(made: Any, info: Any, row: Tensor) -> int:
    """Sample one token as a step without speculation does."""
    output = SimpleNamespace(next_token_logits=row.clone())
    orchestrator, info.penalizer_orchestrator = info.penalizer_orchestrator, None  # as copy_for_forward has it
    info.apply_logits_bias(output.next_token_logits)
    info.penalizer_orchestrator = orchestrator
    return int(made.sampler.forward(output, info, False, [], [], torch.zeros(1)))


def _verified(made: Any, batch: Any, text: list[int], target: Path, draft: Path, gamma: int) -> list[int]:
    """Draft the likeliest tokens one by one, and verify them as an EAGLE worker does."""
    drafted = list[int]()
    for _ in range(gamma):
        drafted.append(int(_rows(draft, [*text, *drafted])[-1].argmax()))
    width = gamma + 1
    verify = SimpleNamespace(
        draft_token=torch.tensor([text[-1], *drafted]), draft_token_num=width, max_tree_depth=width, tree_topk=1,
        draft_probs=None, retrieve_index=torch.arange(width)[None], retrieve_next_token=None,
        retrieve_next_sibling=None,
    )  # fmt: skip
    output = SimpleNamespace(next_token_logits=_rows(target, [*text, *drafted])[-width:].clone())
    predicted, lengths, index = made.verify(verify, batch, output)
    return [int(predicted[k]) for k in index[0, : int(lengths[0])]]


def _kept(made: Any, predicts: Tensor, accept_index: Tensor, accept_token_num: Tensor, **given: Any) -> None:
    """Stand in for the kernel on a chain: a drafted token is kept with its probability, or replaced by another one."""
    tokens, rows = given["candidates"][0, 1:].tolist(), given["target_probs"][0].double().numpy()
    for i, token in enumerate([*tokens, None]):
        row = rows[i] / rows[i].sum()
        if token is not None and made.rng.random() >= row[token]:
            row[token], token = 0, None
        if token is not None:
            predicts[i] = token
            continue
        predicts[i] = int(made.rng.choice(len(row), p=row / row.sum()))
        accept_index[0, : i + 1], accept_token_num[0] = torch.arange(i + 1), i
        return


def _request(made: Any, prompt: list[int], tokens: int, stop: list[str], asked: dict[str, Any]) -> Any:
    bias = {str(token): by for token, by in (asked.get("logit_bias") or {}).items()}
    given = {"temperature": 1.0, "top_k": ALL, "top_p": 1.0, "min_p": 0.0, "sampling_seed": None,
             "frequency_penalty": 0.0, "presence_penalty": 0.0, "repetition_penalty": 1.0, "min_new_tokens": 0,
             "ignore_eos": False, "custom_params": None, **asked, "logit_bias": bias or None}  # fmt: skip
    if not given["temperature"]:
        given |= {"temperature": 1.0, "top_k": 1}  # as SamplingParams writes greedy requests
    given |= {
        "stop_token_ids": set(asked.get("stop_token_ids") or ()),
        "max_new_tokens": tokens,
        "stop_strs": stop,
        "stop_regex_strs": [],
        "stop_str_max_len": max(map(len, stop), default=0),
        "stop_regex_max_len": 0,
    }
    request = made.request.__new__(made.request)
    vars(request).update(
        sampling_params=SimpleNamespace(**given), origin_input_ids=array("q", prompt), output_ids=array("q"),
        finished_reason=None, finished_len=None, to_finish=None, grammar=None, eos_token_ids=set(), vocab_size=None,
        decoded_text="", custom_logit_processor=None, return_sampling_mask=False, sampling_logprobs_mode=None,
        tokenizer=SimpleNamespace(decode=lambda ids: "".join(map(chr, ids)), eos_token_id=None,
                                  additional_stop_token_ids=None),
    )  # fmt: skip
    return request


@cache
def _known(folder: Path, text: tuple[int, ...]) -> Tensor:
    with torch.no_grad():
        return _model(folder)(torch.tensor([text])).logits[0].float()


def _rows(folder: Path, text: Sequence[int]) -> Tensor:
    return _known(folder, tuple(text))


def _top_k(probs: Tensor, top_ks: Tensor) -> Tensor:
    """Stand in for ``top_k_renorm_prob``."""
    ranks = probs.argsort(dim=-1, descending=True, stable=True).argsort(-1)
    kept = probs * (ranks < top_ks[:, None])
    return kept / kept.sum(-1, keepdim=True)


def _top_p(probs: Tensor, top_ps: Tensor) -> Tensor:
    """Stand in for ``top_p_renorm_prob``."""
    scores, order = probs.sort(dim=-1, descending=True, stable=True)
    scores[scores.cumsum(-1) - scores >= top_ps[:, None]] = 0
    kept = torch.zeros_like(probs).scatter_(-1, order, scores)
    return kept / kept.sum(-1, keepdim=True)


def _argmaxes(predicts: Tensor, accept_index: Tensor, accept_token_num: Tensor, **given: Any) -> Any:
    """Stand in for the kernel of greedy requests, on a chain."""
    best, drafted = given["target_predict"][0], given["candidates"][0, 1:]
    kept = int((best[:-1] == drafted).cumprod(0).sum())
    predicts[:] = best.to(predicts)
    accept_index[0, : kept + 1], accept_token_num[0] = torch.arange(kept + 1), kept
    return predicts, accept_index, accept_token_num


class _Torch:
    """torch, whose ``multinomial`` is drawn by NumPy."""

    def __init__(self, made: Any):
        self.made = made

    def multinomial(self, rows: Tensor, num_samples: int) -> Tensor:
        row = rows[0].double().numpy()
        return torch.tensor([[int(self.made.rng.choice(len(row), p=row / row.sum()))]])

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


def _settled(**values: Any) -> Any:
    """Return a function of the server's settings, with these."""
    return lambda: SimpleNamespace(**values)


@cache
def _sglang() -> Any:
    """Return what is lifted, with the stand-ins; ``rng`` is of the text that is being made."""
    made = SimpleNamespace(rng=None)
    features = SimpleNamespace(enable_custom_logit_processor=False, enable_watermark=False)
    given: dict[str, Any] = {
        "torch": _Torch(made), "abc": abc, "weakref": weakref, "re": re, "dataclasses": dataclasses, "logger": None,
        "TOP_K_ALL": ALL, "SIMULATE_ACC_LEN": -1, "SIMULATE_ACC_TOKEN_MODE": "",
        "generate_simulated_accept_index": None,
        "is_npu": lambda: True, "get_compiler_backend": lambda: "eager",  # so that nothing is compiled
        "is_pin_memory_available": lambda *_: False, "is_dp_attention_enabled": lambda: False,
        "maybe_detect_nan": lambda *_: None, "sanitize_nan_logits": lambda *_: None, "Set": set, "Optional": None,
        "get_exec": _settled(deterministic=SimpleNamespace(enable_deterministic_inference=False), features=features,
                             kernel=SimpleNamespace(sampling_backend="pytorch")),
        "get_spec": _settled(speculative_use_rejection_sampling=False, speculative_accept_threshold_single=1.0,
                             speculative_accept_threshold_acc=1.0),
        "get_parallel": _settled(tp_group=SimpleNamespace(world_size=1)),
        "_is_cpu": False, "_is_hip": False, "_is_xpu": False, "_is_cuda": True, "NamedTuple": NamedTuple,
        "nn": torch.nn, "sampler_softmax": lambda logits: torch.softmax(logits, -1),
        "sampling_softmax": lambda logits, temperatures: torch.softmax(logits / temperatures, -1),
        "top_k_renorm_prob": _top_k, "top_p_renorm_prob": _top_p, "verify_tree_greedy_func": _argmaxes,
        "tree_speculative_sampling_target_only": partial(_kept, made), "_trace_e2e_sampler": lambda *_, **__: None,
        "SGLANG_RETURN_ORIGINAL_LOGPROB": False, "SYNC_TOKEN_IDS_ACROSS_TP": False, "_use_aiter": False,
        "envs": SimpleNamespace(SGLANG_OPT_USE_GUMBEL_SAMPLE=SimpleNamespace(get=lambda: False)),
        "HTTPStatus": HTTPStatus, "CaptureHiddenMode": SimpleNamespace(NULL=0), "ReqDllmMixin": object,
        "ScheduleBatchDisaggregationDecodeMixin": object,
    }  # fmt: skip

    def imported(name: str, *rest: Any) -> Any:
        return SimpleNamespace(**given) if name.startswith("sglang") else __import__(name, *rest)

    sys.modules.setdefault("lifted_from_sglang", ModuleType("lifted"))  # dataclasses look a class's module up
    given["__builtins__"] = {**vars(builtins), "__import__": imported}
    for name in PENALTIES:
        found = _lifted(f"sampling/penaltylib/{name}.py", (), given)
        given |= {key: value for key, value in found.items() if "Penal" in key or "penalties" in key}
    given["penaltylib"] = SimpleNamespace(**given)
    infos = _lifted("sampling/sampling_batch_info.py", ("_rows_to_device_indices", "SamplingBatchInfo"), given)
    requests = _lifted("managers/schedule_batch.py", ENDS, given)
    made.info, made.request = infos["SamplingBatchInfo"], requests["Req"]
    given["ScheduleBatch"] = requests["ScheduleBatch"]
    made.cumulate = requests["ScheduleBatch"].cumulate_penalty_output_tokens
    verifies = ("_verify_coins", "_verify_uses_greedy", "_can_use_sparse_uno_tree_target_sampling", "eagle_sample")
    made.verify = _lifted("speculative/eagle_utils.py", verifies, given)["eagle_sample"]
    samples = ("Sampler", "top_k_top_p_min_p_sampling_from_probs_torch", "sampling_from_probs_torch")
    sampler = made.sampler = torch.nn.Module.__new__(_lifted("layers/sampler.py", samples, given)["Sampler"])
    torch.nn.Module.__init__(sampler)
    vars(sampler).update(rl_on_policy_target=None, enable_deterministic=False, use_log_softmax_logprob=False,
                         use_ascend_backend=False)  # fmt: skip
    return made


def _lifted(path: str, names: Sequence[str], given: dict[str, Any]) -> dict[str, Any]:
    return lift("sglang", f"sglang/srt/{path}", names, given, annotations=False).functions
