"""The reference verifiers by name."""

from typing import NamedTuple

from . import block_verification as block
from . import greedy_block_verification as greedy
from .draft_block import Verify
from .sub_block import SubBlockRule
from .token_verification import token_verification


class Reference(NamedTuple):
    """A reference verifier.

    rule: its formulas, if it keeps the longest accepted sub-block (proofs use them for a faster exact law).
    modifies_target: True if its loop is Algorithm 6, which modifies the target, and not Algorithm 3.
    """

    name: str
    verify: Verify
    source: str
    rule: SubBlockRule | None = None
    modifies_target: bool = False

    def as_run(self) -> "Reference":
        """Return the same without its rule, so that its law is computed from ``verify`` itself."""
        return self._replace(rule=None)


REFERENCES = {
    r.name: r
    for r in (
        Reference("token", token_verification, "Sun et al. 2025, Algorithm 1"),
        Reference("block", block.block_verification, "Sun et al. 2025, Algorithm 2", rule=block.RULE),
        Reference("block-stream", block.block_stream, "Leviathan 2024 (blog post); Sun et al. 2025, Appendix A"),
        Reference(
            "greedy-block", greedy.greedy_block_verification, "Sun et al. 2025, Algorithms 4-6", greedy.RULE, True
        ),
    )
}


def reference(name: str) -> Reference:
    """Return the reference verifier of that name. Raises: KeyError with the known names."""
    try:
        return REFERENCES[name]
    except KeyError:
        raise KeyError(f"no reference verifier {name!r}; known: {', '.join(REFERENCES)}") from None
