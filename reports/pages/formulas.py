"""Formulas in plain text, as the claims have them, set as formulas: indices, powers, Greek letters, relations."""

import re

from markupsafe import Markup, escape

INDEX = re.compile(r"(?<!\w)([A-Za-z]|sum)_(?:\{([^{}]+)\}|(\w)(?!\w))")
POWER = re.compile(r"(?<=[\w\)>])\^(?:\{([^{}]+)\}|(-?\w+))")
SIGNS = (("&lt;=", "≤"), ("&gt;=", "≥"), (r"\btau\b", "τ"), (r"\bgamma\b", "γ"), (r"\balpha\b", "α"))


def formulas(text: str) -> Markup:
    """The text, escaped, with x_i, x^i and x^{i+1} as indices and powers. Names such as lemma_2 stay as they are."""
    said = str(escape(text))
    said = INDEX.sub(lambda m: f"{'Σ' if m[1] == 'sum' else f'<i>{m[1]}</i>'}<sub>{m[2] or m[3]}</sub>", said)
    said = POWER.sub(lambda m: f"<sup>{m[1] or m[2]}</sup>", said)
    for word, sign in SIGNS:
        said = re.sub(word, sign, said)
    return Markup(said)
