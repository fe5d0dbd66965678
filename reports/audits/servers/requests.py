"""The requests that a server is sent, slot by slot, and the law of their texts if it is lossless."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ....models.law import Markov, Prefix
from ....models.problem import Problem
from ..engines.child import ENDED
from ..engines.texts import text_length
from .completions import Completion, Lost
from .reported import Entries
from .words import Words

CHOICES = 3
"""Texts of a request for several choices: the first tokens of three make one text of a law of their own."""

LONGEST_PROMPT = 48
"""Tokens of the longest prompt."""


class Kind(NamedTuple):
    """A kind of request.

    what: in words.
    together: whether many are sent at once.
    choices: n, the texts of one request.
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
"""The kinds of requests that an audit of a server's law sends."""


class SentRequests(ABC):
    """A series of requests of one kind. They depend on the slot's number and the seed alone."""

    kind: Kind

    @property
    @abstractmethod
    def length(self) -> int:
        """Return how many tokens of a text are kept."""

    @abstractmethod
    def body(self, slot: int) -> dict[str, Any]:
        """Return the request of a slot."""

    @abstractmethod
    def texts(self, slot: int, answer: Completion) -> list[Prefix]:
        """Return what was emitted, a text for each choice. Raises: Lost if the answer does not show it."""

    def reported(self, slot: int, answer: Completion) -> list[Entries]:
        """Return the logprobs of each choice, if the requests ask for them. Raises: Lost if they cannot be read."""
        return []


@dataclass
class ForgedRequests(SentRequests):
    """A ``SentRequests`` to a server of a forged target.

    problem: the pair, its target as it is sampled, of order 1.
    words: of the server's tokenizer.
    fields: of every request; those that are None are left out.
    """

    kind: Kind
    problem: Problem
    words: Words
    seed: int
    fields: Mapping[str, Any]

    @property
    def target(self) -> Markov:
        assert isinstance(self.problem.target, Markov)
        return self.problem.target

    @abstractmethod
    def prompt(self, slot: int) -> Prefix:
        """Return the tokens before the text."""

    @abstractmethod
    def tokens(self, slot: int) -> int:
        """Return the cap of a slot's text."""

    @abstractmethod
    def settings(self, slot: int) -> dict[str, Any]:
        """Return the fields of a slot's request that say its settings."""

    def drawn(self, slot: int, what: str) -> np.random.Generator:
        """Return the generator of one thing that is drawn for a slot."""
        return np.random.default_rng([self.seed, *self.kind.what.encode(), *what.encode(), slot])

    def body(self, slot: int) -> dict[str, Any]:
        body: dict[str, Any] = {"prompt": self.words.text(self.prompt(slot)), "max_tokens": self.tokens(slot)}
        if self.kind.stream:
            body["stream"] = True
        if self.kind.choices > 1:
            body["n"] = self.kind.choices
        if self.kind.seeded:
            body["seed"] = int(self.drawn(slot, "seed").integers(2**31))
        fields = self.settings(slot) | body | dict(self.fields)
        return {name: value for name, value in fields.items() if value is not None}


@dataclass
class KindRequests(ForgedRequests):
    """A ``SentRequests`` of one of KINDS, whose texts are counted as windows of gamma + 1 tokens."""

    @property
    def length(self) -> int:
        return text_length(self.problem)

    @property
    def stop(self) -> int:
        """Return the token that stops texts: the most probable one, at the beginning first of all.

        Guarantee: its word is part of no other, nor of two others, so that no text ends at another token.
        """
        words, target = self.words.words, self.target
        alone = [t for t, word in enumerate(words) if sum(word in other for other in words) == 1]
        return max(alone, key=lambda t: (target.start[t], sum(row[t] for row in target.after)))

    def prompt(self, slot: int) -> Prefix:
        """Return the prompt: empty, or uniform tokens and a last one drawn from the target's first row.

        Guarantee: the last token of such a prompt and the text after it together have the law of a text after <s>.
        """
        if not self.kind.prompts:
            return ()
        rng = self.drawn(slot, "prompt")
        before = rng.integers(self.problem.vocabulary, size=rng.integers(LONGEST_PROMPT))
        row = np.array([float(p) for p in self.target.start])
        return (*map(int, before), int(rng.choice(len(row), p=row / row.sum())))

    def tokens(self, slot: int) -> int:
        return self.length - bool(self.kind.prompts)

    def settings(self, slot: int) -> dict[str, Any]:
        return {"stop": [self.words.words[self.stop]]} if self.kind.stops else {}

    def texts(self, slot: int, answer: Completion) -> list[Prefix]:
        """Return the texts, each with its prompt's last token, and filled up after its end."""
        if not answer.texts:
            raise Lost("no choice")
        last = self.prompt(slot)[-1:]
        return [(*last, *self._tokens(answer, k, self.tokens(slot))) for k in range(len(answer.texts))]

    def _tokens(self, answer: Completion, choice: int, wanted: int) -> list[int]:
        tokens, ended = self.words.tokens(answer.texts[choice]), answer.ended[choice]
        if ended == "stop" and len(tokens) < wanted:
            return tokens + [self.stop if self.kind.stops else ENDED] * (wanted - len(tokens))
        if len(tokens) < wanted:
            raise Lost(f"fewer tokens than asked for, with finish_reason {ended!r}")
        if answer.usage not in (None, len(tokens), sum(len(self.words.tokens(t)) for t in answer.texts)):
            raise Lost(f"an output of {len(tokens)} tokens, but usage says {answer.usage}")
        return tokens

    @property
    def judged_problem(self) -> Problem:
        """Return the problem that has the law of these texts: after a stop token only that token follows."""
        if not self.kind.stops:
            return self.problem
        row = tuple(Fraction(t == self.stop) for t in range(self.problem.vocabulary))
        after = tuple(row if t == self.stop else other for t, other in enumerate(self.target.after))
        return replace(self.problem, target=Markov(self.target.start, after))

    @property
    def first_tokens_problem(self) -> Problem:
        """Return the problem whose texts have the law of the choices' first tokens: independent, of the first row."""
        start = self.target.start
        law = Markov(start, (start,) * self.problem.vocabulary)
        return Problem(self.problem.vocabulary, 1, law, law, self.problem.name)
