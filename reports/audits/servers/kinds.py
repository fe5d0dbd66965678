"""Token ids as texts, the kinds of requests that a server is sent, and the law of their texts if it is lossless."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ....models.forge_gguf import CHARACTERS
from ....models.forge_llama import BOS, EOS
from ....models.law import Markov, Prefix
from ....models.problem import Problem
from ..engines.child import ENDED
from ..engines.texts import text_length
from .completions import Completion, Lost


class Unreadable(ValueError):
    """A text that no sequence of tokens, or more than one, is written as."""


class Words(NamedTuple):
    """words: of the tokens 0..V-1; blank: what stands between two of them in a prompt."""

    words: tuple[str, ...]
    blank: str

    def text(self, tokens: Sequence[int]) -> str:
        """A prompt; that of the empty prefix is <s>."""
        return self.blank.join(self.words[t] for t in tokens) if tokens else BOS

    def tokens(self, text: str) -> list[int]:
        """The tokens of a text; <s> is V and </s> is V + 1. Raises: Unreadable."""
        special = {BOS: len(self.words), EOS: len(self.words) + 1}
        known = {word: token for token, word in enumerate(self.words)} | special
        for word in special:
            text = text.replace(word, f" {word} ")
        single = all(len(word) == 1 for word in self.words)
        pieces = [p for piece in text.split() for p in ([piece] if piece in special or not single else piece)]
        for piece in pieces:
            if piece not in known:
                raise Unreadable(f"{piece[:20]!r} is none of the words {self.words[0]} to {self.words[-1]}")
        return [known[piece] for piece in pieces]


def words_of(target: Path, vocabulary: int) -> Words:
    """The words that a forged target's own tokenizer has: numbers, or characters in a GGUF file."""
    if target.suffix == ".gguf":
        return Words(tuple(CHARACTERS[:vocabulary]), "")
    return Words(tuple(map(str, range(vocabulary))), " ")


CHOICES = 3
"""n of the requests for several choices: the first tokens of three make one text of a law of their own."""

LONGEST_PROMPT = 48


class Kind(NamedTuple):
    """One kind of request.

    what: in words.
    together: many at once, else one after the other.
    choices: n.
    """

    name: str
    what: str
    together: bool = True
    stream: bool = False
    choices: int = 1
    prompts: bool = False
    seeded: bool = False
    stops: bool = False


KINDS = {
    kind.name: kind
    for kind in (
        Kind("alone", "one request at a time", together=False),
        Kind("together", "many at once"),
        Kind("streamed", "streamed, many at once", stream=True),
        Kind("prompts", f"prompts of 1 to {LONGEST_PROMPT} tokens, many at once", prompts=True),
        Kind("choices", f"n = {CHOICES}, many at once", choices=CHOICES),
        Kind("seeds", "each with a seed of its own, many at once", seeded=True),
        Kind("stop", "with a stop string, many at once", stops=True),
    )
}


@dataclass(frozen=True)
class RequestPlan:
    """What is sent, slot by slot, from the seed alone.

    problem: the pair, its target as it is sampled, of order 1.
    words: of the server's tokenizer.
    settings: fields of every request; those that are None are left out.
    """

    problem: Problem
    words: Words
    seed: int
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def length(self) -> int:
        return text_length(self.problem)

    @property
    def target(self) -> Markov:
        assert isinstance(self.problem.target, Markov)
        return self.problem.target

    @property
    def stop(self) -> int:
        """The token that stops texts: the most probable one, first of all at the beginning.

        Guarantee: its word is part of no other, nor of two others, so that no text ends at another token.
        """
        words, target = self.words.words, self.target
        alone = [t for t, word in enumerate(words) if sum(word in other for other in words) == 1]
        return max(alone, key=lambda t: (target.start[t], sum(row[t] for row in target.after)))

    def prompt(self, kind: Kind, slot: int) -> Prefix:
        """The prompt of a slot: empty, or uniform tokens and a last one drawn from the target's first row.

        Guarantee: the last token of such a prompt and the text behind it together have the law of a text behind <s>.
        """
        if not kind.prompts:
            return ()
        rng = np.random.default_rng([self.seed, *kind.name.encode(), slot])
        before = rng.integers(self.problem.vocabulary, size=rng.integers(LONGEST_PROMPT))
        row = np.array([float(p) for p in self.target.start])
        return (*map(int, before), int(rng.choice(len(row), p=row / row.sum())))

    def body(self, kind: Kind, slot: int) -> dict[str, Any]:
        """The request of a slot."""
        prompt = self.prompt(kind, slot)
        body: dict[str, Any] = {"prompt": self.words.text(prompt), "max_tokens": self.length - bool(prompt)}
        if kind.stream:
            body["stream"] = True
        if kind.choices > 1:
            body["n"] = kind.choices
        if kind.seeded:
            body["seed"] = int(np.random.default_rng([self.seed, slot]).integers(2**31))
        if kind.stops:
            body["stop"] = [self.words.words[self.stop]]
        return {name: value for name, value in (body | dict(self.settings)).items() if value is not None}

    def texts(self, kind: Kind, slot: int, answer: Completion) -> list[Prefix]:
        """What was emitted, a text for each choice: with its prompt's last token, filled up behind its end.

        Raises: Lost if the answer does not show it.
        """
        if not answer.texts:
            raise Lost("no choice")
        last = self.prompt(kind, slot)[-1:]
        wanted = self.length - len(last)
        return [(*last, *self._tokens(kind, answer, k, wanted)) for k in range(len(answer.texts))]

    def _tokens(self, kind: Kind, answer: Completion, choice: int, wanted: int) -> list[int]:
        try:
            tokens, ended = self.words.tokens(answer.texts[choice]), answer.ended[choice]
        except Unreadable as error:
            raise Lost(f"a text that is not of the target's tokens: {error}") from None
        if ended == "stop" and len(tokens) < wanted:
            return tokens + [self.stop if kind.stops else ENDED] * (wanted - len(tokens))
        if len(tokens) < wanted:
            raise Lost(f"fewer tokens than asked for, with finish_reason {ended!r}")
        if answer.usage not in (None, len(tokens), sum(len(self.words.tokens(t)) for t in answer.texts)):
            raise Lost(f"a text of {len(tokens)} tokens, and a count that says {answer.usage}")
        return tokens

    def stopped(self) -> Problem:
        """The law of texts that end with the stop token: it follows itself."""
        row = tuple(Fraction(t == self.stop) for t in range(self.problem.vocabulary))
        after = tuple(row if t == self.stop else other for t, other in enumerate(self.target.after))
        return replace(self.problem, target=Markov(self.target.start, after))

    def first_tokens(self) -> Problem:
        """The law of the first tokens of three choices, as one text: independent, each from the first row."""
        start = self.target.start
        law = Markov(start, (start,) * self.problem.vocabulary)
        return Problem(self.problem.vocabulary, 1, law, law, self.problem.name)
