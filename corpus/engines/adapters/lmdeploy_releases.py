"""lmdeploy's rejection sampler of any release: greedy alone, then Triton kernels, then a backend's portable torch.

Driven: uniforms (float64) and one row of exponential noise a request; the bonus token comes from outside. As its agent
calls it no draft rows are handed in: a drafted token x is kept with probability p(x), and replaced from p without x.
"""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import torch

from draftproof.verifiers.adapters.calling_convention import on_demand
from draftproof.verifiers.adapters.protocol import Row, by_length
from draftproof_engines.adapters.vllm_rejection_sample import NOISE_DRIVEN, Torch
from draftproof_engines.lifted import LiftedAdapter, engine_file, lift, names_in, use_triton
from draftproof_engines.ragged import BONUS, NOISE, UNIFORM, emitted, ragged

FOLDER = "lmdeploy/pytorch/"
FILE, PORTABLE = FOLDER + "spec_decode/reject_sampler.py", FOLDER + "backends/default/rejection_sampling.py"


class RejectionSample(LiftedAdapter):
    """The function of the unpacked release, or the method of its portable backend."""

    random, mixes_greedy = (UNIFORM, NOISE, BONUS), True

    def __init__(self) -> None:
        self.driven: Any = SimpleNamespace()
        given = {
            "torch": Torch(self.driven), "DRIVEN": self.driven, "record_function": lambda _: lambda function: function,
            "SamplePolicy": SimpleNamespace(ALL_GREEDY=0), "PLACEHOLDER_TOKEN_ID": -1,
            "RejectionSamplingImpl": object, "RejectionSamplingBuilder": object,
        }  # fmt: skip
        text = engine_file("lmdeploy", FILE).read_text(encoding="utf-8")
        self.sampled, self.portable = "def greedy_reject_sampler" not in text, "def rejection_sample" not in text
        if self.portable:
            lifted = lift("lmdeploy", PORTABLE, (), given, [NOISE_DRIVEN], annotations=False)
            self.function = lifted.functions["DefaultRejectionSamplingImpl"]().forward
        else:
            if self.sampled:
                triton, self.batch = use_triton(), 32  # each program of a kernel is interpreted
                given |= {"triton": triton, "tl": triton.language}
            edits = [NOISE_DRIVEN] if self.sampled else []
            lifted = lift("lmdeploy", FILE, names_in("lmdeploy", FILE), given, edits, annotations=False)
            self.function = lifted.functions["rejection_sample"]
        self.describe(lifted, bonus="drawn outside")

    def together(self, rows: Sequence[Row]) -> list[Sequence[int]]:
        return by_length(rows, self._step)

    def _step(self, rows: Sequence[Row]) -> list[list[int]]:
        given, size = ragged(rows), len(rows)
        self.driven.uniforms, self.driven.noise = given.uniforms.view(size, -1), given.noise
        greedy = given.temperature == 0
        if self.portable:
            policy = {"is_greedy": greedy if greedy.any() else None}
        else:
            top_k = torch.where(greedy, 1, given.target.shape[-1])
            policy = {"sampling_inputs": SimpleNamespace(top_k=top_k, max_top_k=int(top_k.max()))}
        logits, tokens = given.target.log().view(size, -1, given.target.shape[-1]), given.tokens.view(size, -1).long()
        bonus = given.bonus.long()
        return emitted(self.function(logits, tokens, bonus.view(-1) if self.sampled else bonus,
                                     **(policy if self.sampled else {}))[0])  # fmt: skip


__getattr__ = on_demand(globals(), {"token": RejectionSample})
