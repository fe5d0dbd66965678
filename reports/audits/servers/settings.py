"""How a server is asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ....models.errors import InputError
from ....models.forge import as_markov, forged_problem
from ....models.problem import Problem
from ..engines.texts import text_length
from .kinds import KINDS
from .rows import sampled_rows

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
                raise InputError(
                    f"--set {name}: give --{name.replace('_', '-')}, so that the law judged is that of its rows"
                )
        law = {"temperature": self.temperature, "top_k": self.top_k, "top_p": self.top_p}
        model = {} if self.model is None else {"model": self.model}
        return {**NEUTRAL, **law, **model, **self.fields}
