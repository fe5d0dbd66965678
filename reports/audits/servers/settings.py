"""How a server is asked, and the rows that it samples from under temperature, top-k or top-p."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from ....models.errors import InputError
from ....models.forge import as_markov, forged_problem
from ....models.law import Markov
from ....models.problem import Problem
from ..engines.texts import text_length
from .kinds import KINDS

Row = tuple[Fraction, ...]

EDGE = Fraction(1, 1000)
"""How near to top_p the mass of the tokens that are kept may come: nearer, rounding decides whether one more is."""


def sampled_rows(law: Markov, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0) -> Markov:
    """The law with each row p replaced by p^(1/T), restricted to the k most probable, or the fewest that reach top_p.

    temperature: T; 0 is its limit, all mass on the most probable token. 1, top_k 0 and top_p 1 change nothing.
    Raises: InputError for a row in which equal probabilities, or rounding, would decide what is kept; and for top_p
    together with another of them, since engines differ in what comes first.
    """
    if top_p < 1 and (top_k or temperature != 1):
        raise InputError("top_p beside a temperature or top_k: engines differ in which comes first; give one of them")
    steps: list[Callable[[Row], Row]] = []
    if temperature == 0:
        steps.append(lambda row: _kept(row, 1))
    elif top_k:
        steps.append(lambda row: _kept(row, top_k))
    elif top_p < 1:
        steps.append(lambda row: _kept(row, _nucleus(row, Fraction(top_p))))
    if temperature not in (0, 1):
        steps.append(lambda row: tuple(Fraction(float(p) ** (1 / temperature)) for p in row))

    def sampled(row: Row) -> Row:
        for step in steps:
            row = step(row)
        return tuple(p / sum(row) for p in row)

    return Markov(sampled(law.start), tuple(map(sampled, law.after))) if steps else law


def _nucleus(row: Row, mass: Fraction) -> int:
    """How many of the most probable tokens reach the mass."""
    reached = Fraction(0)
    for count, p in enumerate(sorted(row, reverse=True), 1):
        reached += p
        if abs(reached - mass) < EDGE:
            raise InputError(
                f"top_p {float(mass):g}: rounding decides what a row keeps; expected one {float(EDGE):g} off"
            )
        if reached > mass:
            return count
    return len(row)


def _kept(row: Row, count: int) -> Row:
    """The row with the ``count`` most probable tokens alone."""
    order = sorted(row, reverse=True)
    if count >= len(row) or not order[count]:
        return row
    if order[count - 1] == order[count]:
        raise InputError(f"{count} most probable tokens: a row has two of probability {order[count]} at its edge")
    return tuple(p if p > order[count] else Fraction(0) for p in row)


NEUTRAL = {"temperature": 1.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0}
"""Sent with every request, since servers have other defaults; a field that a server does not know can be left out."""


OWN_OPTIONS = ("temperature", "top_k", "top_p", "model")
"""Fields that can be left out by hand, and not set."""


@dataclass(frozen=True)
class ServerSettings:
    """How a server is asked.

    model: its name in requests; None to leave that to the server.
    gamma: length of a window less one; None for the problem's.
    samples: texts of each kind of request.
    kinds: names of ``KINDS``.
    at_once: requests in flight.
    temperature, top_k, top_p: of the law; sent with every request.
    fields: further fields of every request; null leaves one out.
    timeout: seconds for the run; request_timeout: for one request; patience: for one that the server does not take.
    checkpoint: file that keeps what was counted.
    key: sent as a bearer token, and written nowhere.
    """

    model: str | None = None
    gamma: int | None = None
    samples: int = 1_000
    kinds: Sequence[str] = tuple(KINDS)
    at_once: int = 8
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    fields: Mapping[str, Any] = field(default_factory=dict)
    timeout: float = 600.0
    request_timeout: float = 60.0
    patience: float = 30.0
    checkpoint: str | None = None
    key: str | None = None

    def problem(self, target: str) -> Problem:
        """The pair as it is sampled. Raises: InputError."""
        problem = forged_problem(target)
        problem = replace(problem, gamma=self.gamma or problem.gamma)
        text_length(problem)
        law = as_markov(problem.target, problem.vocabulary, "target")
        return replace(problem, target=sampled_rows(law, self.temperature, self.top_k, self.top_p))

    @property
    def sent(self) -> dict[str, Any]:
        """The fields of every request. Raises: InputError for a field with an option of its own."""
        for name in OWN_OPTIONS:
            if self.fields.get(name) is not None:
                option = f"--{name.replace('_', '-')}"
                raise InputError(f"--set {name}: give {option}, so that the law judged is that of its rows")
        own = {name: value for name in OWN_OPTIONS if (value := getattr(self, name)) is not None}
        return {**NEUTRAL, **own, **self.fields}
