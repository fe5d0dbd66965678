"""The requests that tell a right decoder from the known mistakes about the settings that are asked for."""

import random
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain, islice
from typing import Any

from ....models.decoders.mistakes import (
    OF_HISTORY,
    RANKED,
    SIDES,
    BonusOfTheTied,
    DraftsAnotherOfTheTied,
    in_order,
    mistakes_of,
)
from ....models.decoders.reference import Decoder
from ....models.decoding_settings import DRAFT, ORDERS, PLAIN, NoTextLaw, one_text_law, requests_of
from ....models.law import Markov, Model
from ....models.problem import Problem
from ....proofs.laws.known_decoders import ALIKE, law_of_decoder
from ....proofs.laws.text_masses import TextMasses, distance
from ....verifiers.adapters.registry import Engine
from ....verifiers.chance import NothingToDrawError
from .cells import TextCell

TOLD = 1e-3
"""Total variation of two laws of texts from which on a request tells them apart: fifty times what rounding excuses."""

MOST_PAIRS = 48
"""Number of drawn pairs among which requests are chosen."""

PARTS = 1000
"""Denominator of their probabilities."""

PEAKED = 1, 3, 6
"""Powers of uniform numbers that rows are drawn from, in turn: cut-offs near 0 or 1 need rows with a likely token."""

BATCH_TOKENS = 2
"""Tokens of each request of a batch that is chosen: one may be drafted, and the law of more takes many times the calls.
"""

TIED_DRAFTS = "drafts that keep another one of tokens as likely than they are verified by"
"""What the mistake of ``DraftsAnotherOfTheTied`` is called."""

TIED = "another of the tokens that are as likely where a cut falls between them"
"""What is said of mistakes about ties where no request is cut so: of batches, driven engines and pairs of the user."""

PROMPT = [1, 0, 0]
"""The prompt with which settings of the history are asked too."""


def drawn_pair(number: int) -> Problem:
    """Return a pair of three tokens, without ties and without zeros, that a number stands for; gamma is 2 or 1."""
    drawing = random.Random(number)

    def row() -> tuple[Fraction, ...]:
        while True:
            weights = [drawing.random() ** PEAKED[number % len(PEAKED)] + 2 / PARTS for _ in range(3)]
            first, second = (round(w * PARTS / sum(weights)) for w in weights[:2])
            parts = first, second, PARTS - first - second
            if min(parts) > 1 and len({*parts}) == len(parts):
                return tuple(Fraction(part, PARTS) for part in parts)

    target, draft = (Markov(row(), tuple(row() for _ in range(3))) for _ in range(2))
    gamma = 2 - number // len(PEAKED) % 2
    return Problem(3, gamma, target, draft, f"drawn-V3-gamma{gamma}-{number}")


def tied_pair(number: int) -> Problem:
    """Return a pair of three tokens that a number stands for: in each row of the target two tokens are as likely."""
    part = round(430 / 1.095**number)  # down to 6: a top_p of 0.99 cuts there
    row = [Fraction(n, PARTS) for n in (part, PARTS - 2 * part, part)]
    after = tuple((*row[-n:], *row[:-n]) for n in range(3))
    return Problem(3, 2, Markov(after[0], after), drawn_pair(number).draft, f"tied-V3-gamma2-{number}")


def tied_requests(cell: TextCell, order: Sequence[str]) -> list[TextCell]:
    """Return the request on pairs on which it cuts between tokens that are as likely, and nowhere within rounding.

    On the first pair the target's rows are cut so. Engines may differ there, but not with speculation and without. On
    the second one the draft's are, which changes no law: drafts that are cut in another way than the rows they are
    verified by would show. Where the largest score is taken, they change no text, and the second pair is left out; the
    first one has drafts that are accepted, if any are, so that bonus tokens are cut, too.
    """
    greedy = cell.settings.get("temperature") == 0
    if len(requests_of(cell.settings)) > 1 or not (greedy or {*RANKED} & {*cell.settings}):
        return []
    asked = cell._replace(settings=_cutting(cell))
    pairs = [pair for pair in map(tied_pair, range(MOST_PAIRS)) if _cut_by_ties(pair.target, asked, order)]
    of_target = [asked._replace(problem=pair) for pair in pairs if _defined(pair.draft, asked, order)]
    if greedy and cell.sampling == DRAFT:
        drafts = [one for request in of_target[:1] for one in _with_other_drafts(request, order)]
        of_target = sorted(drafts, key=lambda request: -_bonus_shown(request, order))
    drafted = pairs[:1] if cell.sampling == DRAFT and not greedy else []
    of_drafts = (request for pair in drafted for request in _on_tied_drafts(asked, pair) if _shows_tied(request, order))
    return [*of_target[:1], *islice(of_drafts, 1)]


def _of_ties(request: TextCell, tied: Sequence[TextCell]) -> list[str]:
    """Return the mistake about ties that no request shows. tied: those that are cut between equally likely tokens."""
    requests = requests_of(request.settings)
    cut = any("top_k" in one or one.get("top_p", 1) < 1 or one.get("temperature") == 0 for one in requests)
    return [TIED] if cut and not tied else []


def _cut_by_ties(model: Model, request: TextCell, order: Sequence[str]) -> bool:
    ties: list[bool] = []
    try:
        one_text_law(model, request.tokens, request.settings, order, ties)
    except NoTextLaw:
        return False
    return bool(ties) and all(ties)


def _on_tied_drafts(request: TextCell, pair: Problem) -> Iterator[TextCell]:
    """Yield the request with the pair's target as the draft of drawn targets."""
    for number in range(MOST_PAIRS):
        target, name = drawn_pair(number).target, pair.name.replace("tied", f"tied-drafts-{number}")
        yield request._replace(problem=Problem(3, 2, target, pair.target, name))


def _with_other_drafts(request: TextCell, order: Sequence[str]) -> Iterator[TextCell]:
    """Yield a request on a tied pair, then with the drafts of drawn pairs."""
    pair = request.problem
    yield request
    for number in range(MOST_PAIRS):
        other = request._replace(problem=Problem(3, 2, pair.target, drawn_pair(number).draft, f"{pair.name}-{number}"))
        if _defined(other.problem.draft, other, order):
            yield other


def _bonus_shown(request: TextCell, order: Sequence[str]) -> int:
    """Return in how many of two engines another bonus token would show: they take the first or the last of the tied."""
    shown = 0
    for last in (False, True):
        kinds = [type("", (BonusOfTheTied,), {"keeps_last": last, "same_bonus": same}) for same in (True, False)]
        right, wrong = (_law(in_order(kind, order), request, clear=False) for kind in kinds)
        shown += right is not None and wrong is not None and distance(right, wrong) >= TOLD
    return shown


def _shows_tied(request: TextCell, order: Sequence[str]) -> bool:
    right = _law(in_order(Decoder, order), request.plain)
    wrong = _law(in_order(DraftsAnotherOfTheTied, order), request, clear=False)
    return right is not None and wrong is not None and distance(right, wrong) >= TOLD


def _cutting(cell: TextCell) -> dict[str, Any]:
    """Return the settings of a request, a top-k of all tokens made one of two."""
    all_stay = cell.settings.get("top_k", 0) >= cell.problem.vocabulary
    return {**cell.settings, **({"top_k": 2} if all_stay else {})}


def told_by(request: TextCell, order: Sequence[str]) -> set[str] | None:
    """Return the known mistakes about its settings that a request tells apart: TV(right law, wrong law) >= TOLD.

    order: of the engine's settings. None: they cut within rounding there, so that it has no law. Of several requests of
    one call each is looked at alone, and None is of the first; another one without a law tells nothing.
    """
    found: set[str] = set()
    for k, (named, one, mistakes) in enumerate(mistakes_by_request(request, order)):
        apart = _told_alone(one, order, mistakes)
        if apart is None and not k:
            return None
        found |= {named + name for name in apart or ()}
    return found


def mistakes_by_request(
    request: TextCell, order: Sequence[str]
) -> Iterator[tuple[str, TextCell, dict[str, type[Decoder]]]]:
    """Yield each request of a call alone, with what its mistakes are called, and the known mistakes about it."""
    requests: dict[str, dict[str, Any]] = {}
    for k, settings in enumerate(requests_of(request.settings), 1):
        if settings not in requests.values():
            requests[f"request {k}"] = settings
    for name, settings in requests.items():
        others = {other: theirs for other, theirs in requests.items() if other != name}
        tokens = min(request.tokens, BATCH_TOKENS) if others else request.tokens
        found = mistakes_of(settings, order, request.sampling, tokens, others)
        yield f"{name}: " if others else "", request._replace(settings=settings), found


def _names(request: TextCell, order: Sequence[str]) -> list[str]:
    """Return what the known mistakes about all requests of a call are called."""
    return [named + name for named, _, mistakes in mistakes_by_request(request, order) for name in mistakes]


def _told_alone(request: TextCell, order: Sequence[str], mistakes: Mapping[str, type[Decoder]]) -> set[str] | None:
    right = _law(in_order(Decoder, order), request)
    if right is None:
        return None
    told: set[str] = set()
    same: set[str] = set()
    for name, kind in mistakes.items():
        if any(name == whole + side for whole in same for side in SIDES):
            continue  # a mistake that moves no row moves none on one side
        wrong = _law(kind, request)
        if wrong is not None:
            apart = distance(right, wrong)
            told |= {name} if apart >= TOLD else set()
            same |= {name} if apart < ALIKE else set()
    return told


def telling_requests(
    cell: TextCell, order: Sequence[str], has: Sequence[str], *, alone: bool = False
) -> tuple[list[TextCell], list[str]]:
    """Return requests to ask in place of one, and the known mistakes about its settings that none of them tells apart.

    The request itself is the first, unless its settings cut within rounding on its pair. The others are on drawn pairs;
    of a batch one at most, of BATCH_TOKENS, since its law takes many calls.
    order: of the engine's settings. has: the settings that are known to be its. alone: whether one request has to do.
    """
    every = _names(cell, order)
    if not every:
        return [cell], []
    useful: list[tuple[TextCell, set[str]]] = []  # each with the mistakes that it tells apart
    left = {*every}
    batch = len(requests_of(cell.settings)) > 1
    short = cell._replace(tokens=min(cell.tokens, BATCH_TOKENS)) if batch else cell
    for request in chain([cell], _on_drawn_pairs(short, order, has)):
        apart = told_by(request, order)
        if apart or (request is cell and apart is not None):
            useful.append((request, apart))
            left -= apart
        if not left:
            break
    if alone and useful:
        best, apart = max(useful, key=lambda one: len(one[1]))
        return [best], [name for name in every if name not in apart]
    chosen = [request for request, _ in useful[:1] if request is cell]
    missing = {*every} - left - (useful[0][1] if chosen else set())
    while missing and not (batch and chosen[1:]):
        best, apart = max(useful, key=lambda one: len(one[1] & missing))
        chosen.append(best)
        missing -= apart
    return chosen or [cell], [name for name in every if name in left | missing]


def told_apart(engine: Engine, cells: Sequence[TextCell], own: bool) -> list[TextCell]:
    """Return the requests with those that tell mistakes about their settings apart, for the first that was asked for.

    cells: the first one is as it was asked for. own: whether all pairs are the user's own; then none is added.
    """
    first, *others = cells
    order = ORDERS[engine.order]
    if first.sampling == PLAIN:
        return [*cells]
    if own:
        apart = {name for cell in cells for name in told_by(cell, order) or ()}
        left = [name for name in _names(first, order) if name not in apart]
        tied = [cell for cell in cells if _cut_by_ties(cell.problem.target, cell, order)]
        return [first._replace(untold=(*left, *_of_ties(first, tied))), *others]
    chosen, left = telling_requests(first, order, engine.settings or (), alone=bool(engine.driver))
    tied = [] if engine.driver else tied_requests(first, order)
    left += _of_ties(first, tied)
    if tied and first.sampling == DRAFT and first.settings.get("temperature") != 0 and len(tied) < 2:
        left = [*left, TIED_DRAFTS]
    return [chosen[0]._replace(untold=tuple(left)), *chosen[1:], *tied, *others]


def _on_drawn_pairs(cell: TextCell, order: Sequence[str], has: Sequence[str]) -> Iterator[TextCell]:
    """Yield the request on drawn pairs, each also with a change without which no pair may tell.

    A top-k of all tokens becomes one of two, a minimum near the cap becomes smaller, a history gets a prompt.
    """
    changes: list[dict[str, Any]] = [{}]
    if _cutting(cell) != cell.settings:
        changes.append(_cutting(cell))
    shorter = [n for n in (cell.tokens - 2, cell.tokens - 1) if cell.settings.get("min_tokens", 0) > n > 0]
    changes += [{"min_tokens": n} for n in shorter]
    if {*OF_HISTORY} & {*cell.settings} and "prompt" in has and "prompt" not in cell.settings:
        changes.append({"prompt": PROMPT})
    for number in range(MOST_PAIRS):
        for change in changes:
            request = cell._replace(settings={**cell.settings, **change}, problem=drawn_pair(number))
            if all(_defined(model, request, order) for model in (request.problem.target, request.problem.draft)):
                yield request


def _defined(model: Model, request: TextCell, order: Sequence[str]) -> bool:
    try:
        return bool(one_text_law(model, request.tokens, request.settings, order))
    except NoTextLaw:
        return False


def _law(kind: type[Decoder], request: TextCell, clear: bool = True) -> TextMasses | None:
    """Return the law of a known decoder; None where settings cut within rounding, or rounding leaves no residual."""
    try:
        return law_of_decoder(kind, request.problem, request.settings, request.tokens, request.sampling, clear)
    except (NoTextLaw, NothingToDrawError):
        return None
