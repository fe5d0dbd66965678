"""Record the verification steps of SGLang in its own process.

SGLang finds it by the entry point ``sglang.srt.plugins``. It does nothing unless DRAFTPROOF_STEPS names a folder:

    DRAFTPROOF_STEPS=steps DRAFTPROOF_ONE_OF=20 python -m sglang.launch_server ...

The rule is its callers': with ``--speculative-use-rejection-sampling`` token or block verification of a chain with the
draft's rows, else drafts that are certain, a chain or a tree. Rows come after temperature, top-k and top-p. The
recorder waits for the pointers of a tree, and for nothing else.
"""

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from draftproof.recording import Recorder

from .in_process import install_if_asked, note_failure, recorder_of_process, request_number, warn
from .sibling_trees import parents_of

STEPS = "SGLang's steps"
"""What is recorded, for warnings."""

CHAIN, TREE, GREEDY = (
    "chain_speculative_sampling_triton", "tree_speculative_sampling_target_only", "verify_tree_greedy_func",
)  # fmt: skip
"""SGLang's verifiers: of chains with the draft's rows, of trees of certain drafts, of batches of greedy requests."""

PENALTIES = {"repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}
"""Settings of a request, and what they are where they do nothing."""


class Caller(NamedTuple):
    """What ``eagle_sample`` was called with. logits: before any setting, [requests, slots, V]."""

    batch: Any
    output: Any
    logits: Any
    chain: bool


def register() -> None:
    """Record every process that SGLang starts, if it is asked for. Never raises into SGLang."""
    install_if_asked(install, STEPS)


def install(folder: str, one_of: int = 1) -> "SglangRecording":
    """Put the recorder around SGLang's verifiers, wherever they were or will be imported."""
    from sglang.srt.speculative import eagle_utils

    recording = SglangRecording(folder, one_of)
    own = eagle_utils.eagle_sample

    def eagle_sample(verify_input: Any, batch: Any, logits_output: Any, *more: Any, **named: Any) -> Any:
        try:
            slots = verify_input.draft_token_num
            raw = (
                logits_output.next_token_logits.float()
                .clone()
                .view(-1, slots, logits_output.next_token_logits.shape[-1])
            )
            recording.caller = Caller(batch, logits_output, raw, verify_input.tree_topk == 1)
        except Exception as error:
            warn("SGLang's logits", error)
        try:
            return own(verify_input, batch, logits_output, *more, **named)
        finally:
            recording.caller = None

    _replaced("eagle_sample", own, eagle_sample)
    for name in (CHAIN, TREE, GREEDY):
        verify = getattr(eagle_utils, name, None)
        if verify is not None:  # a platform may lack a kernel
            _replaced(name, verify, recording.around(name, verify))
    return recording


def _replaced(name: str, own: Any, new: Any) -> None:
    """Replace a function in every module of SGLang that has imported it."""
    for module in [module for where, module in sys.modules.items() if where.startswith("sglang")]:
        if vars(module).get(name) is own:
            setattr(module, name, new)


class SglangRecording:
    """A writer of the steps of SGLang. caller: what ``eagle_sample`` was called with, while it runs."""

    def __init__(self, folder: str, one_of: int):
        self.folder, self.one_of = folder, one_of
        self.recorder: Recorder | None = None
        self.caller: Caller | None = None

    def around(self, name: str, verify: Callable[..., Any]) -> Callable[..., Any]:
        """Return a verifier that records what it verifies and what comes out."""

        def recorded(*given: Any, **named: Any) -> Any:
            result = verify(*given, **named)
            try:
                if not given:  # its own callers name every argument
                    self._record(name, named, result)
            except Exception as error:
                note_failure(self.recorder, STEPS, error)
            return result

        return recorded

    def _record(self, name: str, named: dict[str, Any], result: Any) -> None:
        candidates, caller = named["candidates"], self.caller
        if name == GREEDY:
            if caller is None:
                return
            rows = caller.output.next_token_logits.float().softmax(-1).view(*candidates.shape, -1)
            predicted, index, count = result
        else:
            rows = named["target_probs"].view(*candidates.shape, -1)
            predicted, index, count = (named[name] for name in ("predicts", "accept_index", "accept_token_num"))
        recorder = self.recorder = self.recorder or self._made(name, named, rows)
        drafted = named["draft_probs"] if name == CHAIN else None
        chain = name == CHAIN or (caller is not None and caller.chain)
        names = ("retrieve", "retrive")
        pointers = [
            next(named[f"{n}_next_{to}"] for n in names if f"{n}_next_{to}" in named) for to in ("token", "sibling")
        ]
        inside = torch.arange(index.shape[1], device=index.device) <= count[:, None]
        emitted = torch.where(inside, predicted.view(-1)[index.clamp(min=0).long()].to(torch.int64), -1)
        for k in range(len(candidates)):
            if not recorder.chosen():
                continue
            drafts = candidates[k, 1:]
            parents = None if chain else parents_of(*(pointer[k].tolist() for pointer in pointers))
            settings = {"temperature": 0} if name == GREEDY else _settings(caller, k)
            greedy = settings is not None and settings.get("temperature") == 0
            recorder.step(
                rows[k], drafts, emitted[k], None if drafted is None or greedy else drafted[k, : len(drafts)],
                draft_known=drafted is None or not greedy, parents=parents, slot=k, settings=settings,
                logits=None if caller is None or greedy else caller.logits[k], **_whose(caller, k, recorder),
            )  # fmt: skip

    def _made(self, name: str, named: dict[str, Any], rows: torch.Tensor) -> Recorder:
        import sglang

        lenient = min(named.get("threshold_single", 1.0), named.get("threshold_acc", 1.0)) < 1 and name == TREE
        rule = "block" if named.get("block_verification") else "unknown" if lenient else "token"
        return recorder_of_process(
            self.folder, rows.shape[-1], rule=rule, engine="sglang", one_of=self.one_of,
            engine_version=sglang.__version__, device=str(rows.device),
        )  # fmt: skip


def _whose(caller: Caller | None, k: int, recorder: Recorder) -> dict[str, int]:
    """Return the request's number and the length of its text, where the caller has them."""
    if caller is None:
        return {"request": k, "place": recorder.seen}
    place = int(caller.batch.seq_lens_cpu[k]) if caller.batch.seq_lens_cpu is not None else recorder.seen
    return {"request": request_number(caller.batch.reqs[k].rid), "place": place}


def _settings(caller: Caller | None, k: int) -> dict[str, Any] | None:
    """Return the settings of a request. Its SamplingParams say temperature 0 by top_k = 1."""
    if caller is None:
        return None
    asked = caller.batch.reqs[k].sampling_params
    if asked.top_k == 1:
        return {"temperature": 0}
    found = {"order": "vllm", "temperature": asked.temperature}
    if asked.top_k < 1 << 30:
        found["top_k"] = asked.top_k
    if asked.top_p < 1:
        found["top_p"] = asked.top_p
    if getattr(asked, "min_p", 0) > 0:
        found["min_p"] = asked.min_p
    found |= {name: getattr(asked, name) for name, none in PENALTIES.items() if getattr(asked, name, none) != none}
    return found
