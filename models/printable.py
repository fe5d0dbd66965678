"""Third-party text made safe to show: a terminal obeys control characters, and a page can be reordered by some."""

from typing import Any


def printable(text: str) -> str:
    """The text with "?" for each character that is neither printable nor the end of a line."""
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


def printable_data(data: Any) -> Any:
    """Data as JSON gives it, with every text in it printable."""
    if isinstance(data, str):
        return printable(data)
    if isinstance(data, dict):
        return {printable_data(key): printable_data(value) for key, value in data.items()}
    return [printable_data(value) for value in data] if isinstance(data, (list, tuple)) else data
