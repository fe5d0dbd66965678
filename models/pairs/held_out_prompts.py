"""Prompts from text on which a pair was not trained."""

import json
from collections.abc import Iterator, Sequence
from itertools import chain, islice, zip_longest
from pathlib import Path

from .corpus import Document

MIN_CHARACTERS, MAX_CHARACTERS = 60, 240
"""Characters of a prompt."""


def write_prompts(documents: Sequence[Document], count: int, file: Path) -> int:
    """Write up to ``count`` prompts, a JSON object a line with the fields prompt and source; how many there were.

    Each is the beginning of a paragraph, up to the end of a line; the documents take turns.
    """
    turns = zip_longest(*map(_of_document, documents))
    lines = [json.dumps(given) for given in islice(filter(None, chain.from_iterable(turns)), count)]
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return len(lines)


def _of_document(document: Document) -> Iterator[dict[str, str]]:
    """Every paragraph in turn, but none that begins within the prompt before."""
    at = 0
    while at < len(document.text):
        prompt = document.text[at : at + MAX_CHARACTERS]
        if len(prompt) == MAX_CHARACTERS and "\n" in prompt:
            prompt = prompt[: prompt.rindex("\n") + 1]
        prompt = prompt.rstrip()
        if len(prompt) >= MIN_CHARACTERS:
            yield {"prompt": prompt, "source": document.name}
        following = document.text.find("\n\n", at + len(prompt))
        if following < 0:
            return
        at = following + 2
