"""The adapters by name."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import NamedTuple


def not_installed(packages: Sequence[str]) -> list[str]:
    """Those of the packages that cannot be imported."""
    return [package for package in packages if find_spec(package) is None]


class Adapter(NamedTuple):
    """A third-party verifier, adapted to the plain calling convention.

    target: "module:function" of the adapted function.
    packages: what must be importable.
    extra: the extra of draftproof that installs them.
    source: what is audited.
    modifies_target: True if what it emits has to be followed by the modified target of Algorithm 5.
    """

    name: str
    target: str
    packages: tuple[str, ...]
    extra: str
    source: str
    modifies_target: bool = False

    def missing(self) -> list[str]:
        return not_installed(self.packages)


def _batched(algorithm: str, modifies_target: bool = False) -> Adapter:
    name = algorithm.replace("-", "_")
    return Adapter(
        f"batched-{algorithm}", f"draftproof.verifiers.adapters.batched_tensors:{name}", ("torch",), "torch",
        f"draftproof.verifiers.batched.{name}_verification, from logits", modifies_target,
    )  # fmt: skip


ADAPTERS = {
    a.name: a
    for a in (
        Adapter(
            "transformers", "draftproof.verifiers.adapters.hf_transformers:verify", ("torch", "transformers"),
            "transformers", "transformers.generation.utils._speculative_sampling",
        ),
        _batched("token"),
        _batched("block"),
        _batched("greedy-block", modifies_target=True),
    )
}  # fmt: skip
