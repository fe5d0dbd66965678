"""Token ids as the texts that a server reads and writes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ....models.forge_gguf import CHARACTERS
from ....models.forge_llama import BOS, EOS
from ..engines.child import ENDED
from .completions import Lost


class Unreadable(Lost):
    """A text that no sequence of tokens, or more than one, is written as; or an entry of logprobs of no such form."""


class Words(NamedTuple):
    """A table of the words of the tokens 0..V-1, and the blank that stands between two of them in a prompt."""

    words: tuple[str, ...]
    blank: str

    def text(self, tokens: Sequence[int]) -> str:
        """Return the tokens as a prompt; the empty prefix is <s>."""
        return self.blank.join(self.words[t] for t in tokens) if tokens else BOS

    def tokens(self, text: str) -> list[int]:
        """Return the tokens of a text; <s> is V and </s> is V + 1. Raises: Unreadable."""
        special = {BOS: len(self.words), EOS: len(self.words) + 1}
        known = {word: token for token, word in enumerate(self.words)} | special
        for word in special:
            text = text.replace(word, f" {word} ")
        single = all(len(word) == 1 for word in self.words)
        pieces = [p for piece in text.split() for p in ([piece] if piece in special or not single else piece)]
        for piece in pieces:
            if piece not in known:
                words = f"{self.words[0]} to {self.words[-1]}"
                raise Unreadable(
                    f"an output that is not made of the target's tokens: {piece[:20]!r} is none of the words {words}"
                )
        return [known[piece] for piece in pieces]

    def token(self, named: Any) -> int:
        """Return the token that an entry of logprobs names: by its id if that is given, else by its text."""
        if isinstance(named, dict):
            named = named["id"] if "id" in named else named.get("token")
        if isinstance(named, int):
            return named
        tokens = self.tokens(str(named))
        return tokens[0] if len(tokens) == 1 else ENDED


def words_of(target: Path, vocabulary: int) -> Words:
    """Return the words of a forged target's own tokenizer: numbers, or characters in a GGUF file."""
    if target.suffix == ".gguf":
        return Words(tuple(CHARACTERS[:vocabulary]), "")
    return Words(tuple(map(str, range(vocabulary))), " ")
