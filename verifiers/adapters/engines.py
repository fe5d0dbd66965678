"""The engines by name: programs that generate text with a target and a draft, driven from outside."""

from typing import NamedTuple

from .registry import not_installed


class Engine(NamedTuple):
    """A program that generates text with a target and a draft.

    source: what is audited.
    sample: "module:function" or "file.py:function" of sample(target, draft, start, tokens, gamma, seeds, **settings),
        which yields, for each seed, the ``tokens`` ids that the engine emits after the prompt [start]; target and draft
        are folders with Llama checkpoints, draft is None for plain sampling, gamma is the length of a draft block.
    packages: what must be importable.
    extra: the extra of draftproof that installs them.
    samples: how many an audit takes of each problem.
    """

    name: str
    source: str
    sample: str
    packages: tuple[str, ...] = ()
    extra: str = ""
    samples: int = 2_000

    def missing(self) -> list[str]:
        return not_installed(self.packages)


ENGINES = {
    engine.name: engine
    for engine in (
        Engine(
            "transformers", "transformers: generate(assistant_model=...)",
            "draftproof.verifiers.adapters.hf_generation:sample",
            ("torch", "transformers"), "transformers", 4_000,
        ),
        Engine(
            "openvino-genai", "openvino_genai: LLMPipeline(draft_model=...)",
            "draftproof.verifiers.adapters.openvino_generation:sample",
            ("openvino", "openvino_genai", "openvino_tokenizers", "torch", "transformers"), "openvino", 10_000,
        ),
        Engine(
            "onnxruntime-genai", "onnxruntime_genai: Generator with a draft model",
            "draftproof.verifiers.adapters.onnxruntime_generation:sample",
            ("onnxruntime", "onnxruntime_genai", "onnx", "onnx_ir", "torch", "transformers"), "onnxruntime", 10_000,
        ),
    )
}  # fmt: skip
