"""A badge as SVG: a verdict and its date, in words; the colour says nothing that the words do not."""

from ...verifiers.verdicts import ReportVerdict
from .page import rendered

COLOURS = {verdict: verdict.badge for verdict in ReportVerdict} | {
    "met": ReportVerdict.HOLDS.badge,
    "sampled only": ReportVerdict.INCONCLUSIVE.badge,
    "open": ReportVerdict.ERROR.badge,
}
OTHERS = "#55555a"
LONGEST = 60
"""Characters of a verdict that are shown."""


def badge(verdict: str, date: str, label: str = "draftproof", words: str = "") -> str:
    """The badge. Equal words give equal bytes. words: in place of the verdict."""
    words = words or verdict
    text = f"{words[:LONGEST]}, {date}" if date else words[:LONGEST]
    left, right = (7 * len(part) + 12 for part in (label, text))
    colour = COLOURS.get(verdict, OTHERS)
    return rendered("badge.svg.j2", label=label, text=text, colour=colour, left=left, right=right)
