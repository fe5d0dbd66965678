"""The lines of a dump of verification steps, parsed and checked: what ``step_lines`` reads rows from."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import groupby
from typing import Annotated, Any

import msgspec

from .errors import InputError
from .json_files import convert, parse
from .recorded_steps import ROUNDING

Probability = Annotated[float, msgspec.Meta(ge=0, le=1 + 1e-4)]
Token = Annotated[int, msgspec.Meta(ge=0, lt=2**31 - 1)]
Top = list[tuple[Token, Probability]]
Number = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]

SHORT = 9
"""Significant digits from which numbers count as written in full."""


class DumpHead(msgspec.Struct, forbid_unknown_fields=True):
    """The first line of a dump, if it is about all others. drafts: how tokens were drafted."""

    vocabulary: Annotated[int, msgspec.Meta(ge=1, lt=2**31 - 1)] = 0
    rule: str = "unknown"
    drafts: str = "unknown"
    dtype: str = "float32"
    engine: str = ""
    engine_version: str = ""
    device: str = ""
    settings: dict[str, Any] = {}


class DumpedNext(msgspec.Struct, forbid_unknown_fields=True):
    """A token that came out behind those that were kept. p: the target's; top: the target's row, in part."""

    token: Token
    p: Probability | None = None
    top: Top | None = None


class DumpedToken(msgspec.Struct, forbid_unknown_fields=True):
    """A drafted token. p, q: of the target and the draft. top, draft_top: their rows, in part."""

    token: Token
    accepted: bool
    p: Probability | None = None
    q: Probability | None = None
    top: Top | None = None
    draft_top: Top | None = None
    uniform: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None


class DumpedStep(msgspec.Struct, forbid_unknown_fields=True):
    """A step on a line."""

    tokens: list[DumpedToken]
    next: DumpedNext
    request: Number = 0
    place: Number = 0
    slot: Number = -1

    @property
    def kept(self) -> int:
        """Return how many drafted tokens were kept."""
        return sum(token.accepted for token in self.tokens)


def read_dump(text: bytes, name: str) -> tuple[DumpHead, dict[int, DumpedStep]]:
    """Return what a dump says of all its steps, and the steps by the number of their last line."""
    first, lines = DumpHead(), dict[int, DumpedStep]()
    parts: list[tuple[Any, int, dict[str, Any]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{name}, line {number}"
        if not line.strip():
            continue
        data = parse(line, where)
        if not isinstance(data, dict):
            raise InputError(f"{where}: expected an object")
        if "tokens" in data:
            lines[number] = convert(DumpedStep, data, where)
        elif "token" in data:
            if "step" not in data:
                raise InputError(f"{where}: the field 'step' is missing")
            parts.append(((data.get("request", 0), data.pop("step")), number, data))
        elif not lines and not parts:
            first = convert(DumpHead, data, where)
        else:
            raise InputError(f"{where}: neither 'tokens' of a step nor a 'token'")
    for (request, step), group in groupby(parts, key=lambda part: part[0]):
        *tokens, (_, number, last) = group
        where = f"{name}, line {number}"
        if "accepted" in last:
            raise InputError(
                f"{where}: step {step!r} ends with a drafted token, expected the token that was emitted after it"
            )
        common = {key: last.pop(key) for key in ("request", "place", "slot") if key in last}
        drafted = [convert(DumpedToken, _without(data, common), f"{name}, line {at}") for _, at, data in tokens]
        lines[number] = convert(DumpedStep, {"tokens": [], "next": last, **common, "request": request}, where)
        lines[number].tokens = drafted
    if not lines:
        raise InputError(f"{name}: no step in it; expected JSON lines with 'tokens', or with a 'token' each")
    for number, line in lines.items():
        where = f"{name}, line {number}"
        flags = [token.accepted for token in line.tokens]
        if flags != sorted(flags, reverse=True):
            raise InputError(f"{where}: token {flags.index(False) + 2} is accepted after a rejected one")
        for one in (*line.tokens, line.next):
            for top in (one.top, getattr(one, "draft_top", None)):
                if top and len(dict(top)) < len(top):
                    raise InputError(f"{where}: a list with a token twice")
    _check_keys(lines, name, first.drafts)
    return first, dict(sorted(lines.items()))


def _check_keys(lines: Mapping[int, DumpedStep], name: str, drafts: str) -> None:
    """Check that tokens up to the first rejected one have the same keys: a key that only some have may say what came
    out, and a right engine would be refuted.
    """
    given = {key: set[bool]() for key in ("p", "q", "top", "draft_top")}
    for number, line in lines.items():
        for k, token in enumerate(line.tokens[: line.kept + 1]):
            for key, found in given.items():
                found.add(getattr(token, key) is not None)
                if len(found) > 1:
                    raise InputError(f"{name}, line {number}: {key!r} of some drafted tokens and not of others")
            if token.p is None and token.top is None:
                raise InputError(f"{name}, line {number}: tokens[{k}]: expected 'p' or 'top', of the target")
            if drafts == "sampled" and token.q is None and token.draft_top is None:
                raise InputError(f"{name}, line {number}: tokens[{k}]: expected 'q' or 'draft_top' of a sampled draft")


def check_sums(lines: Mapping[int, DumpedStep], name: str, allowed: float, unit: float) -> None:
    """Check that no list has more than a row. allowed: what rounding of the row's type explains; unit: of digits."""
    for number, line in lines.items():
        for one in (*line.tokens, line.next):
            for top in (one.top, getattr(one, "draft_top", None)):
                if top and (total := sum(p for _, p in top)) > 1 + max(1e-3, allowed) + len(top) * unit:
                    raise InputError(
                        f"{name}, line {number}: probabilities that sum to {total:.6g}, expected at most 1"
                    )


def check_lists(lines: Mapping[int, DumpedStep], name: str) -> None:
    """Check that drafted tokens up to the first rejected one have the target's list, as greedy steps need it."""
    for number, line in lines.items():
        for k, token in enumerate(line.tokens[: line.kept + 1]):
            if not token.top:
                raise InputError(f"{name}, line {number}: tokens[{k}]: expected 'top', of the target: steps are greedy")


def _without(data: dict[str, Any], common: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in common}


def ids_of(line: DumpedStep) -> Iterator[int]:
    """Return the tokens that a step names."""
    for one in (*line.tokens, line.next):
        yield one.token
        for top in (one.top, getattr(one, "draft_top", None)):
            yield from (x for x, _ in top or [])


def digits_of(lines: Iterator[DumpedStep] | Any, dtype: str) -> tuple[float, str]:
    """Return half a unit of the last digit of the numbers (0 where they are in full), and the type that rounds so."""
    decimals = figures = 0
    for line in lines:
        for one in (*line.tokens, line.next):
            numbers = [one.p, getattr(one, "q", None)]
            numbers += [p for top in (one.top, getattr(one, "draft_top", None)) for _, p in top or []]
            for value in filter(None, numbers):
                _, digits, exponent = Decimal(repr(float(value))).as_tuple()
                decimals, figures = max(decimals, -int(exponent)), max(figures, len(digits))
    if figures >= SHORT or not figures:
        return 0.0, dtype
    return 0.5 * 10.0**-decimals, max((dtype, "float16"), key=ROUNDING.__getitem__)
