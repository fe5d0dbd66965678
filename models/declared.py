"""The law that a problem asks for, where that is not the target's: a stated function of the rows of both models."""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Annotated, Any, Literal

import msgspec

from ..verifiers.arithmetic import normalised
from .errors import InputError
from .law import Model, Prefix, prefix_key, prefix_of_key
from .rationals import parse_rational


class CascadeForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A speculative cascade: the target's row where the draft's is to be deferred from, else the draft's.

    defer: "chow": max q < 1 - alpha; "difference": max q < max p - alpha; "optimal": max q < max p - alpha TV(p, q).
    Source: Narasimhan et al. 2024, "Faster Cascades via Speculative Decoding", from memory.
    """

    defer: Literal["chow", "difference", "optimal"]
    alpha: Any


class GrammarForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A grammar: which tokens may follow which texts. Any token may follow a text that is not named.

    law: "projected": each row without the tokens that may not follow; "conditional": the law of gamma + 1 tokens given
        that all of them may follow. They differ where the target goes where the grammar ends.
    Source: arXiv 2605.07698 for the distinction.
    """

    allowed: dict[str, list[int]]
    law: Literal["projected", "conditional"]


class DeclaredLaw(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A law that a problem declares: what is done to the target's row, in this order.

    temperature: 1 / n: its probabilities to the power n. top_k: the k likeliest tokens alone, ties to the smaller id.
    top_p: the fewest likeliest tokens that have so much together, ties likewise.
    mixture: the target's share; the rest is the draft's row. cascade: the one or the other.
    grammar: see there.
    The two that read the draft's rows have none after a whole block: there the row is the target's.
    """

    temperature: Any = None
    top_k: Annotated[int, msgspec.Meta(ge=1)] | None = None
    top_p: Any = None
    mixture: Any = None
    cascade: CascadeForm | None = None
    grammar: GrammarForm | None = None

    @property
    def reads_the_draft(self) -> bool:
        """Return whether the law depends on the draft's rows."""
        return self.mixture is not None or self.cascade is not None

    @property
    def says(self) -> str:
        """Return the law in words."""
        named: list[Any] = [("temperature", self.temperature), ("top_k", self.top_k), ("top_p", self.top_p)]
        named += [("mixture with the target's share", self.mixture)]
        named += [(f"cascade, {self.cascade.defer}, alpha", self.cascade.alpha)] if self.cascade else []
        named += [("grammar's law", self.grammar.law)] if self.grammar else []
        return ", ".join(f"{name} {value}" for name, value in named if value is not None)

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form, rationals as strings."""
        return msgspec.to_builtins(self, enc_hook=str)

    def checked(self, vocabulary: int, where: str) -> "DeclaredLaw":
        """Return the law itself, if it means something on V tokens. Raises: InputError that names the field."""
        if not self.says:
            raise InputError(f"{where}: expected at least one of {', '.join(self.__struct_fields__)}")
        if self.mixture is not None and self.cascade is not None:
            raise InputError(f"{where}: expected a mixture or a cascade, got both")
        for name, value in (("top_p", self.top_p), ("mixture", self.mixture)):
            if value is not None and not 0 <= parse_rational(value, f"{where}: {name}") <= 1:
                raise InputError(f"{where}: {name}: expected a number in [0, 1], got {value}")
        if self.temperature is not None:
            temperature = parse_rational(self.temperature, f"{where}: temperature")
            if temperature <= 0 or temperature.numerator != 1:
                raise InputError(f"{where}: temperature: expected 1 / n, whose rows are rational, got {temperature}")
        if self.cascade:
            parse_rational(self.cascade.alpha, f"{where}: cascade: alpha")
        for key, tokens in self.grammar.allowed.items() if self.grammar else ():
            try:
                texts = prefix_of_key(key)
            except ValueError:
                raise InputError(
                    f'{where}: grammar: "{key}" is not a prefix; expected tokens joined by commas'
                ) from None
            if not tokens or not all(0 <= t < vocabulary for t in (*texts, *tokens)):
                raise InputError(f'{where}: grammar: "{key}": expected tokens of 0..{vocabulary - 1}, at least one')
        return self


class DeclaredModel:
    """A law that a problem asks for, as a model: its rows are made of those of both models."""

    def __init__(self, law: DeclaredLaw, target: Model, draft: Model, gamma: int):
        self.law, self.target, self.draft, self.gamma = law, target, draft, gamma
        self._rows: dict[Prefix, tuple] = {}
        self._staying: dict[Prefix, Any] = {}

    def row(self, prefix: Prefix) -> Sequence[Any]:
        """Return the row after a text. Raises: InputError where nothing is left of it."""
        if prefix not in self._rows:
            row = self._made(prefix)
            if self.law.grammar and self.law.grammar.law == "conditional":
                row = [p * self._stays((*prefix, t)) if p != 0 else p for t, p in enumerate(row)]
            if sum(row) == 0:
                raise InputError(f'law: no token may follow "{prefix_key(prefix)}"')
            self._rows[prefix] = tuple(normalised(row))
        return self._rows[prefix]

    def state(self, prefix: Prefix) -> Prefix:
        """Return the text itself: each text has a future of its own."""
        return prefix

    def _made(self, prefix: Prefix) -> list[Any]:
        """Return the row, not normalised where a grammar takes tokens away."""
        law, row = self.law, list(self.target.row(prefix))
        if law.temperature is not None:
            power = Fraction(law.temperature).denominator
            row = normalised([p**power for p in row])
        best = sorted(range(len(row)), key=lambda t: (-row[t], t))
        if law.top_k is not None:
            row = normalised([p if t in best[: law.top_k] else 0 * p for t, p in enumerate(row)])
        if law.top_p is not None:
            before = dict(zip(best, [0, *accumulate(row[t] for t in best)]))
            row = normalised([p if before[t] < _share(law.top_p, row) or t == best[0] else 0 * p
                              for t, p in enumerate(row)])  # fmt: skip
        if law.reads_the_draft and len(prefix) < self.gamma:
            row = self._with_the_draft(row, list(self.draft.row(prefix)))
        allowed = self._allowed.get(prefix)
        return row if allowed is None else [p if t in allowed else 0 * p for t, p in enumerate(row)]

    def _with_the_draft(self, row: list[Any], draft: list[Any]) -> list[Any]:
        if self.law.mixture is not None:
            share = _share(self.law.mixture, row)
            return [share * p + (sum(row) - share) * q for p, q in zip(row, draft, strict=True)]
        assert self.law.cascade
        alpha, rule = _share(self.law.cascade.alpha, row), self.law.cascade.defer
        apart = sum(abs(p - q) for p, q in zip(row, draft, strict=True)) / 2
        least = {"chow": sum(row) - alpha, "difference": max(row) - alpha, "optimal": max(row) - alpha * apart}[rule]
        return row if max(draft) < least else draft

    @cached_property
    def _allowed(self) -> dict[Prefix, list[int]]:
        grammar = self.law.grammar
        return {prefix_of_key(key): tokens for key, tokens in grammar.allowed.items()} if grammar else {}

    def _stays(self, prefix: Prefix) -> Any:
        """Return Pr(all tokens up to gamma + 1 may follow), from a text on."""
        if len(prefix) > self.gamma:
            return sum(self.target.row(()))
        if prefix not in self._staying:
            row = self._made(prefix)
            self._staying[prefix] = sum((p * self._stays((*prefix, t)) for t, p in enumerate(row) if p != 0), 0)
        return self._staying[prefix]


def _share(written: Any, row: Sequence[Any]) -> Any:
    """Return a number of a file as a number of a row's kind."""
    share = Fraction(written)
    return sum(row) * share.numerator / share.denominator
