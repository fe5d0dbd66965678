"""The closed forms derived from the code, as identities of rational functions."""

from ..proving import Proof
from ..symbolic.derivations import DERIVATIONS


def proofs() -> list[Proof]:
    """Return one proof for each closed form."""
    return DERIVATIONS
