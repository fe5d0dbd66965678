"""The adapters by name."""

from importlib.util import find_spec
from typing import NamedTuple


class Adapter(NamedTuple):
    """target: where the adapted function is; requires: the distributions it needs; source: what is audited."""

    name: str
    target: str
    requires: tuple[str, ...]
    source: str

    def missing(self) -> list[str]:
        return [package for package in self.requires if find_spec(package) is None]


ADAPTERS = {
    a.name: a
    for a in (
        Adapter(
            "transformers",
            "draftproof.verifiers.adapters.hf_transformers:verify",
            ("torch", "transformers"),
            "transformers.generation.utils._speculative_sampling",
        ),
    )
}
