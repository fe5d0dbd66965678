"""How a server is asked, and the rows that it samples from under temperature, top-k or top-p."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from ....models.decoding_settings import Row, TextRequest, modified
from ....models.errors import InputError
from ....models.forge import as_markov, forged_problem
from ....models.law import Markov
from ....models.problem import Problem
from ..engines.texts import text_length
from .completions import Completions, api_base, asks_chat
from .requests import KINDS

EDGE = 1e-3
"""Least distance of top_p to the mass of the kept tokens: nearer, rounding decides whether one more is kept."""

NEUTRAL = {"temperature": 1.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0}
"""Fields of every request, since servers have other defaults. --set NAME=null leaves one out."""


def sampled_rows(law: Markov, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0) -> Markov:
    """Return the law with each row cut to the k most probable tokens or a nucleus, and raised to 1 / temperature.

    temperature: 0 puts all mass on the most probable token. 1, top_k 0 and top_p 1 change nothing.
    Raises: InputError if equal probabilities, or rounding, would decide what is kept in a row; and for top_p together
    with one of the others, since engines differ in what comes first.
    """
    if (temperature, top_k, top_p) == (1, 0, 1):
        return law
    if top_p < 1 and (top_k or temperature != 1):
        raise InputError("top_p with a temperature or top_k: engines differ in which comes first; give one of them")

    def row_under(row: Sequence[Fraction], p: float) -> Row:
        settings = {"temperature": temperature, "top_k": top_k, "top_p": p}
        return modified(row, TextRequest((), (), 1, settings), ("top_k", "top_p", "temperature"))

    def sampled(row: Sequence[Fraction]) -> tuple[Fraction, ...]:
        made = row_under(row, top_p)
        if top_p < 1:
            near = [[bool(q) for q in row_under(row, p)] for p in (max(1e-9, top_p - EDGE), min(1.0, top_p + EDGE))]
            if near[0] != near[1]:
                raise InputError(f"top_p {top_p:g}: rounding decides what a row keeps; expected one {EDGE:g} off")
        weights = [p if temperature == 1 else Fraction(q) for p, q in zip(row, made)]
        kept = [weight if q else Fraction(0) for weight, q in zip(weights, made)]
        return tuple(weight / sum(kept) for weight in kept)

    return Markov(sampled(law.start), tuple(map(sampled, law.after)))


@dataclass(frozen=True)
class AskedServer:
    """A way in which any server is asked.

    model: its name in requests; None to leave that to the server.
    samples: texts of each kind of request.
    at_once: requests in flight.
    fields: further fields of every request; None leaves one out.
    timeout: seconds for the run.
    request_timeout: seconds for one request.
    patience: seconds for which a refused request is sent again.
    key: sent as a bearer token, and written nowhere.
    Raises: InputError for a seed among the fields: outputs of one seed repeat each other, and right ones would refute.
    """

    model: str | None = None
    samples: int = 1_000
    at_once: int = 8
    fields: Mapping[str, Any] = field(default_factory=dict)
    timeout: float = 600.0
    request_timeout: float = 60.0
    patience: float = 30.0
    key: str | None = None

    def __post_init__(self) -> None:
        if self.fields.get("seed") is not None:
            raise InputError("--set seed: outputs of one seed repeat each other; give --seed, from which others follow")

    @property
    def sent(self) -> dict[str, Any]:
        """Return the fields of every request. Raises: InputError for a field that has an option of its own."""
        own = {}
        for name in ("temperature", "top_k", "top_p", "model"):
            if hasattr(self, name):
                if self.fields.get(name) is not None:
                    option = f"--{name.replace('_', '-')}"
                    raise InputError(f"--set {name}: give {option}, so that its rows are judged by it")
                own[name] = getattr(self, name)
        return NEUTRAL | {name: value for name, value in own.items() if value is not None} | dict(self.fields)

    @contextmanager
    def connected(self, *urls: str | None) -> Iterator[list[Completions]]:
        """Yield a connection to each server named. Raises: InputError for an address that is none of the API."""
        named = [(api_base(url), asks_chat(url)) for url in urls if url]
        clients = [Completions(base, self.request_timeout, self.at_once, self.key, chat) for base, chat in named]
        try:
            yield clients
        finally:
            for client in clients:
                client.close()


@dataclass(frozen=True)
class ServerSettings(AskedServer):
    """A way to ask a server of a forged target by kinds of requests.

    gamma: length of a window less one; None for the problem's.
    kinds: names of ``KINDS``.
    temperature, top_k, top_p: of the law; sent with every request.
    checkpoint: file that keeps each answer.
    """

    gamma: int | None = None
    kinds: Sequence[str] = tuple(KINDS)
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    checkpoint: str | None = None

    def problem(self, target: str) -> Problem:
        """Return the pair as it is sampled. Raises: InputError."""
        problem = forged_problem(target)
        problem = replace(problem, gamma=self.gamma or problem.gamma)
        text_length(problem)
        law = as_markov(problem.target, problem.vocabulary, "target")
        return replace(problem, target=sampled_rows(law, self.temperature, self.top_k, self.top_p))


@dataclass(frozen=True)
class SweepSettings(AskedServer):
    """A way to ask a server of a forged target with more and more requests in flight.

    at_once: most requests in flight.
    words: name of its dialect; None to tell by its Server header.
    checkpoint: file that keeps each answer.
    """

    at_once: int = 64
    words: str | None = None
    checkpoint: str | None = None

    def problem(self, target: str) -> Problem:
        """Return the forged pair, its target of order 1. Raises: InputError."""
        problem = forged_problem(target)
        return replace(problem, target=as_markov(problem.target, problem.vocabulary, "target"))


@dataclass(frozen=True)
class GridSettings(SweepSettings):
    """A way to ask a server of a forged target for the grid of settings.

    without: address of the same server without speculation, if there is one.
    rows: names of rows; all if empty.
    """

    samples: int = 4_000
    at_once: int = 8
    without: str | None = None
    rows: Sequence[str] = ()


@dataclass(frozen=True)
class ReferenceSettings(AskedServer):
    """A way to ask a server of real weights.

    without: address of the same server without speculation, on which drift is measured; None for the server itself.
    draft: the draft's weights, whose share in what is emitted is then bet on.
    device: where the reference computes its rows: cpu, cuda or cuda:N.
    temperature, top_k, top_p: of the reference's rows; sent with every request.
    """

    samples: int = 64
    without: str | None = None
    draft: str | None = None
    device: str = "cpu"
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
