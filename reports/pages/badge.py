"""A badge as SVG: a verdict and its date, in words; the colour says nothing that the words do not."""

from collections.abc import Mapping
from typing import Any

from .page import rendered

COLOURS = {
    "lossless": "#1d7a3a", "holds": "#1d7a3a", "met": "#1d7a3a", "refuted": "#b3261e", "inconclusive": "#8a5600",
    "sampled only": "#8a5600", "open": "#7a2d91", "error": "#7a2d91",
}  # fmt: skip
OTHERS = "#55555a"
LONGEST = 60
"""Characters of a verdict that are shown."""


def badge(verdict: str, date: str, label: str = "draftproof") -> str:
    """The badge. Equal words give equal bytes."""
    text = f"{verdict[:LONGEST]}, {date}" if date else verdict[:LONGEST]
    widths: Mapping[str, Any] = {"left": 7 * len(label) + 12, "right": 7 * len(text) + 12}
    return rendered("badge.svg.j2", label=label, text=text, colour=COLOURS.get(verdict, OTHERS), **widths)
