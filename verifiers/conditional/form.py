"""The form of recorded steps that their writer and their reader share (docs/recorded-steps.md)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

FORM, VERSION = "draftproof-recorded-steps", 1

NO_DRAFT_ROW, DRAFT_ROW, POINT_MASS, UNKNOWN = range(4)
"""What is known of the draft at a row: nothing is drafted there, its row, that it is the drafted token, nothing."""


def joined(parts: Sequence[np.ndarray], kind: Any) -> np.ndarray:
    """Return arrays in one, of this type; an empty one of none."""
    return np.concatenate([np.zeros(0, dtype=kind), *parts]).astype(kind)
