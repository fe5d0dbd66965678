"""lmdeploy: a decoding step of its speculative agent, from the requests' settings to the tokens that are emitted.

Driven: uniforms (float64) and one row of exponential noise a request, one uniform for the bonus token, in place of its
generator by seeds. What drafts here hands in no draft rows and drafts by argmax: a drafted token x is kept with
probability p(x), and replaced from p without x. Requests are its scheduler's, all of a batch with as many drafts.
"""

from collections.abc import Callable, Coroutine, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from draftproof.verifiers.adapters.calling_convention import on_demand
from draftproof.verifiers.adapters.protocol import Row, by_length
from draftproof_engines.lifted import Edit, Lifted, LiftedAdapter, lift, use_triton
from draftproof_engines.ragged import NOISE, UNIFORM, emitted

ENGINE = "lmdeploy"
FOLDER = "lmdeploy/pytorch"
NOISE_DRIVEN = Edit("q.exponential_()", "q.copy_(DRIVEN.noise)", "the noise is an input, one row a request")
UNIFORMS_DRIVEN = Edit(
    """torch.rand(
            (batch_size, num_spec_tokens),
            dtype=torch.float64,
            device=target_logits.device,
        )""",
    "DRIVEN.uniforms",
    "the uniforms are an input",
)
A_TUPLE = Edit("grid = [batch_size]", "grid = (batch_size,)", "Triton's interpreter takes a tuple")
SEED_DRIVEN = Edit("tl.rand(seed, offset)", "seed", "the bonus token's uniform is an input, in place of its seed")
REQUEST = {
    "repetition_penalty": 1.0, "min_p": 0.0, "random_seed": None, "response_format": None, "bad_words": [],
    "stop_words": [], "ignore_eos": False, "min_new_tokens": 0, "logits_processors": None, "num_logprobs": -1,
    "repetition_ngram_size": 0, "repetition_ngram_threshold": 0,
}  # fmt: skip
"""What its SamplingParam holds of a request that asks for nothing else."""


class Decorated:
    """In place of a module's context managers that are written as decorators."""

    def __call__(self, *_: Any) -> Callable[[Callable], Callable]:
        return lambda function: function


class Agent(LiftedAdapter):
    """triton: whether its kernels for CUDA verify, under Triton's interpreter, or its portable torch.

    temperature, top_k, top_p: of every sampled request.
    """

    random = (UNIFORM, NOISE, {"name": "bonus", "kind": "uniform", "shape": [1], "bits": 24})
    mixes_greedy, placeholders, seeded = True, False, False

    def __init__(self, triton: bool, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0):
        self.batch = 32 if triton else 256
        self.asked = {"temperature": temperature, "top_k": top_k, "top_p": top_p, **REQUEST}
        self.driven: Any = SimpleNamespace()
        self.lifted: list[Lifted] = []
        inputs = self._lift("engine/logits_process.py", (
            "_process_temperature_", "_filter_topk_sorted_", "_filter_topp_sorted_", "_filter_minp_sorted_",
            "SamplingInputsDelta", "SamplingInputs", "_torch_topk", "FusedLogitsProcessor",
        ), annotations=True, dataclass=dataclass, Any=Any, np=np, LogitsProcessor=object, GuidedDecodingManager=object,
            _multinomial_sampling=self._bonus(triton))  # fmt: skip
        made = {name: inputs[name] for name in ("SamplingInputs", "FusedLogitsProcessor", "_torch_topk")}
        strategy = self._lift("strategies/ar/sampling.py", (
            "_gather_all_ids", "_gather_generated_ids", "_get_num_ignore_eos", "ARSamplingStrategy"
        ), **made, np=np, SamplingStrategy=object)  # fmt: skip
        backend = self._backend(triton)
        sampler = self._lift("spec_decode/reject_sampler.py", ("RejectionSampler",), **made, nn=torch.nn,
                             RejectionSamplingBuildSpec=object, get_backend=lambda _: backend)  # fmt: skip
        helper = self._lift("spec_decode/guided_spec_helper.py", ("GuidedSpecHelper",))
        agent = self._lift("spec_decode/spec_agent.py", (
            "_SCALAR_FIELDS", "_GLOBAL_FIELDS", "_expand_sampling_inputs", "SpecModelAgent"
        ), **made, np=np, BaseSpecModelAgent=object, contextmanager=contextmanager)  # fmt: skip
        self.strategy = strategy["ARSamplingStrategy"](0)
        self.helper, self.sampler = helper["GuidedSpecHelper"](), sampler["RejectionSampler"]()
        self.step = agent["SpecModelAgent"]._rejection_sampling
        self.describe(*self.lifted, kernels="triton" if triton else "torch", bonus="drawn inside")

    def _lift(
        self, file: str, names: Sequence[str], edits: Sequence[Edit] = (), annotations: bool = False, **given: Any
    ) -> dict[str, Any]:
        given = {"torch": torch, "record_function": Decorated(), "DRIVEN": self.driven, **given}
        self.lifted.append(lift(ENGINE, f"{FOLDER}/{file}", names, given, edits, annotations=annotations))
        return self.lifted[-1].functions

    def _bonus(self, triton: bool) -> Callable[..., Tensor]:
        """Return what draws the bonus token of each request from its sorted probabilities, by ``DRIVEN.bonus``."""
        if triton:
            language = use_triton()
            kernel = self._lift("kernels/cuda/multinomial_sampling.py", (), [SEED_DRIVEN, A_TUPLE], triton=language,
                                tl=language.language)["multinomial_sampling"]  # fmt: skip
            return lambda scores, seeds, offsets, indices: kernel(scores, self.driven.bonus, offsets, indices)

        def drawn(scores: Tensor, _: Tensor, __: Tensor, indices: Tensor) -> Tensor:  # as torch.multinomial has it
            below = scores.cumsum(1) <= self.driven.bonus[:, None]
            return indices.gather(1, below.sum(1, keepdim=True).clamp(max=scores.shape[1] - 1)).view(-1)

        return drawn

    def _backend(self, triton: bool) -> Any:
        given: dict[str, Any] = {"PLACEHOLDER_TOKEN_ID": -1, "RejectionSamplingImpl": object}
        edits, file, names = [NOISE_DRIVEN, UNIFORMS_DRIVEN], "backends/default/rejection_sampling.py", ()
        if triton:
            language = use_triton()
            given |= {"triton": language, "tl": language.language}
            kernels = self._lift("kernels/cuda/rejection_sampling.py", (), **given)
            named = ("greedy_rejection_sample", "random_rejection_sample", "sample_recovered_tokens")
            given |= {name: kernels[name] for name in named}
            file = "backends/cuda/rejection_sampling.py"
        made = self._lift(file, names, edits, **given)
        verifier = made["CudaRejectionSamplingImpl" if triton else "DefaultRejectionSamplingImpl"]()
        return SimpleNamespace(build_op=lambda _: verifier)

    def together(self, rows: Sequence[Row]) -> list[list[int]]:
        return [[*tokens] for tokens in by_length(rows, self._together)]

    def _together(self, rows: Sequence[Row]) -> list[list[int]]:
        gamma = len(rows[0].tokens)
        for name, number in (("uniforms", "accept"), ("noise", "noise"), ("bonus", "bonus")):
            setattr(self.driven, name, torch.stack([row.random[number] for row in rows]))
        self.driven.bonus = self.driven.bonus.float().view(-1)
        logits = torch.cat([row.target for row in rows]).float().log()
        lengths = torch.full((len(rows),), gamma + 1)
        model = SimpleNamespace(is_decoding=True, is_dummy=False, seq_length=lengths)
        extra = SimpleNamespace(target_logits=logits, output_draft_token_ids=torch.stack([row.tokens for row in rows]),
                                clone=lambda **given: SimpleNamespace(**given))  # fmt: skip
        greedy = {"temperature": 1.0, "top_k": 1}  # of a request with temperature 0
        requests = [
            SimpleNamespace(
                sampling_param=SimpleNamespace(**self.asked | (greedy if row.greedy else {})),
                num_valid_ids=gamma, num_new_tokens=1, session=SimpleNamespace(session_id=k), seq_id=k,
            )
            for k, row in enumerate(rows)
        ]  # fmt: skip
        agent = SimpleNamespace(num_spec_tokens=gamma, guided_helper=self.helper, rejection_sampler=self.sampler,
                                misc_config=SimpleNamespace(logprobs_mode=None))  # fmt: skip
        sampling = self.strategy.make_sampling_inputs(requests)
        return emitted(_result(self.step(agent, model, extra, sampling)).output_token_ids)


def _result(step: Coroutine[Any, Any, Any]) -> Any:
    """Return what a coroutine returns that waits for nothing."""
    try:
        step.send(None)
    except StopIteration as done:
        return done.value
    raise RuntimeError("lmdeploy's step waits for something; expected a step without a grammar")


__getattr__ = on_demand(globals(), {
    "kernels": lambda: Agent(True), "portable": lambda: Agent(False), "settings": lambda: Agent(False, 0.5, 0, 0.75),
})  # fmt: skip
