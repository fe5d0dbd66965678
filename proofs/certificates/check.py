"""The checker of optimality certificates. It needs nothing but the file, and shares no code with what makes them.

Plain fractions, four facts: the verifier in the file is valid, no valid verifier exceeds the bound, both have the value
that is claimed, and prefix by prefix the verifier survives as often as any valid one can (Lemma 4).

The last rests on this. A valid verifier that stops before step j leaves the rest to the target, so from Eq. (7) at two
lengths Pr(O^i = x^i, tau >= j) = Pr(X^j = x^j, tau >= j) M_b(x^i | x^j) for every j <= i; and tau >= i with X^i = x^i
means O^i = x^i. Hence Pr(X^i = x^i, tau >= i) <= M_s(x^j) M_b(x^i | x^j), whichever j the file names.
"""

import json
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from math import prod
from typing import TypeVar

MOST_DIGITS = 18
"""Digits of a token at most: what a message shows can be written out."""

RATIONAL = re.compile(r"-?[0-9]+(/[1-9][0-9]*)?", re.ASCII)
TOKENS = re.compile(r"(0|[1-9][0-9]*)(,(0|[1-9][0-9]*))*|", re.ASCII)
LARGEST_GAMMA = 200
CERTIFICATE_FORMAT = "draftproof-certificate/2"
FIELDS = {"format", "problem", "expected_accepted", "verifier", "slack", "martingale", "survival"}
PAIR_FIELDS = {"name", "vocabulary", "gamma", "target", "draft"}
"""Fields of a problem of which a certificate speaks; anything else would be read by nobody."""

Read = TypeVar("Read")


class Rejected(ValueError):
    """A reason why a certificate proves nothing."""


def check(text: str, problem: dict | None = None) -> Fraction:
    """Return the value that a certificate proves: the largest E[tau] of all valid verifiers on its problem.

    problem: if given, the certificate must be one of this problem (in the JSON form of a table).
    Raises: Rejected, with the first thing that is wrong.
    """
    data = fields(text, CERTIFICATE_FORMAT, FIELDS)
    pair = given(data, problem, ProblemPair)
    claimed = rational_of(data["expected_accepted"], "expected_accepted")
    kernel = _kernel(data["verifier"])
    reached = _value_of_verifier(pair, kernel)
    if reached != claimed:
        raise Rejected(f"its verifier accepts {tokens(reached)}, not the {shown(claimed)} claimed")
    bound = _value_of_bound(pair, table_of(data["slack"], "slack"), table_of(data["martingale"], "martingale"))
    if bound != claimed:
        raise Rejected(f"its bound is {shown(bound)}, not the {shown(claimed)} claimed")
    _must_survive_most(pair, kernel, data["survival"])
    return claimed


def shown(value: Fraction) -> str:
    """Return a rational for a reader: whole, or its size if it has thousands of digits."""
    if max(abs(value.numerator), value.denominator) < 10**400:
        return str(value)
    if abs(value) > 10**300:
        return "(a number of hundreds of digits)"
    return f"(about {float(value):.6g})"


def tokens(value: Fraction) -> str:
    """Return a number of tokens in words."""
    return f"{shown(value)} token{'' if value == 1 else 's'}"


def form_of(text: str) -> str | None:
    """Return what form a file says it has; None if it does not say so."""
    form = _unchecked(text).get("format")
    return form if isinstance(form, str) else None


def size_of(text: str) -> tuple[str, str] | None:
    """Return the vocabulary and the gamma that a file gives its problem, as digits; None if it does not say so."""
    problem = _unchecked(text).get("problem")
    vocabulary, gamma = (problem.get("vocabulary"), problem.get("gamma")) if isinstance(problem, dict) else (None, None)
    return (vocabulary, gamma) if isinstance(vocabulary, str) and isinstance(gamma, str) else None


def _unchecked(text: str) -> dict:
    try:
        data = json.loads(text, parse_int=str)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def fields(text: str, form: str, expected: set[str]) -> dict:
    """Return the JSON object of a file of that form, with exactly those fields.

    Raises: Rejected.
    """
    try:
        data = json.loads(
            text, parse_float=_no_float, parse_constant=_no_float, parse_int=_short, object_pairs_hook=_once
        )
    except json.JSONDecodeError as error:
        raise Rejected(f"not JSON: the file may have been cut short ({error})") from None
    except RecursionError:
        raise Rejected("nested too deeply") from None
    if not isinstance(data, dict) or data.get("format") != form:
        raise Rejected(f"not a certificate of the form {form}")
    if set(data) != expected:
        raise Rejected(f"its fields are {sorted(data)}, expected {sorted(expected)}")
    return data


def given(data: dict, problem: dict | None, read: Callable[[dict], Read]) -> Read:
    """Return what ``read`` makes of the file's problem. If a problem is given, it must make the same of that."""
    found = read(data["problem"])
    if problem is not None and read(problem) != found:
        raise Rejected("it belongs to another problem")
    return found


def _no_float(number: str):
    raise Rejected(f"{number} is a float; rationals are strings")


def _short(number: str) -> int:
    if len(number) > 18:
        raise Rejected(f"the whole number {number[:12]}... is too long; rationals are strings")
    return int(number)


def _once(pairs: list) -> dict:
    """Return a JSON object in which no name comes twice. A reader would see one value, the checker another."""
    table = dict(pairs)
    if len(table) != len(pairs):
        names = [name for name, _ in pairs]
        raise Rejected(f"the name {next(n for n in names if names.count(n) > 1)!r} comes twice")
    return table


def _whole(digits: str) -> int:
    """Return an int from any number of digits (Python's own int stops at 4300)."""
    if digits.startswith("-"):
        return -_whole(digits[1:])
    if len(digits) <= 4000:
        return int(digits)
    half = len(digits) // 2
    return _whole(digits[:half]) * 10 ** (len(digits) - half) + _whole(digits[half:])


def rational_of(value: object, where: str) -> Fraction:
    if not isinstance(value, str) or not RATIONAL.fullmatch(value):
        raise Rejected(f"{where}: {str(value)[:60]!r} is not a rational")
    above, _, below = value.partition("/")
    return Fraction(_whole(above), _whole(below or "1"))


def prefix_of(key: str, where: str) -> tuple[int, ...]:
    if not TOKENS.fullmatch(key):
        raise Rejected(f"{where}: {key!r} is not a sequence of tokens")
    if any(len(token) > MOST_DIGITS for token in key.split(",")):
        raise Rejected(f"{where}: a token of more than {MOST_DIGITS} digits")
    return tuple(map(_whole, key.split(","))) if key else ()


def table_of(data: object, where: str) -> dict[tuple[int, ...], Fraction]:
    if not isinstance(data, dict):
        raise Rejected(f"{where} is not a table")
    return {prefix_of(key, where): rational_of(value, f"{where}[{key}]") for key, value in data.items()}


class ProblemPair:
    """A pair of models from the file, as tables.

    beyond: tokens that they reach further than one iteration. also: fields of the problem that the caller reads.
    """

    def __init__(self, data: dict, beyond: int = 0, also: frozenset[str] = frozenset()):
        try:
            if unknown := data.keys() - PAIR_FIELDS - also:
                raise Rejected(f"its problem has {sorted(unknown)}, which this form of a certificate does not know")
            self.vocabulary, self.gamma = data["vocabulary"], data["gamma"]
            if {type(self.vocabulary), type(self.gamma)} != {int} or min(self.vocabulary, self.gamma) < 1:
                raise Rejected("its problem's vocabulary and gamma are not positive whole numbers")
            if self.gamma > LARGEST_GAMMA:
                raise Rejected(f"gamma is {self.gamma}, expected at most {LARGEST_GAMMA}")
            self.target = self._rows(data["target"], self.gamma + beyond, "target")
            self.draft = self._rows(data["draft"], self.gamma + beyond - 1, "draft")
        except (KeyError, TypeError, AttributeError):
            raise Rejected("its problem is not a pair of tables") from None

    def __eq__(self, other):
        return vars(self) == vars(other)

    def _rows(self, data, longest, where):
        if not all(isinstance(row, list) for row in data.values()):
            raise Rejected(f"{where} is not a table of rows")
        rows = {prefix_of(k, where): [rational_of(p, f"{where}[{k}]") for p in row] for k, row in data.items()}
        # Counted before they are written out: the sizes are the file's own word.
        few = all(sum(self.vocabulary**n for n in range(k)) <= len(rows) for k in range(longest + 2))
        if not few or set(rows) != {x for n in range(longest + 1) for x in product(range(self.vocabulary), repeat=n)}:
            raise Rejected(f"{where} does not have exactly the prefixes up to length {longest}")
        for prefix, row in rows.items():
            if len(row) != self.vocabulary or min(row) < 0 or sum(row) != 1:
                raise Rejected(f"{where}[{prefix}] is not a probability row")
        return rows

    def drafted(self) -> Iterator[tuple[tuple[int, ...], Fraction]]:
        """Yield every block that can be drafted, with its probability."""
        for block in product(range(self.vocabulary), repeat=self.gamma):
            if mass := mass_of(self.draft, block):
                yield block, mass


def mass_of(rows: dict[tuple[int, ...], list[Fraction]], block: tuple[int, ...]) -> Fraction:
    """Return the probability of a sequence of tokens under a table of rows."""
    return prod((rows[block[:i]][token] for i, token in enumerate(block)), start=Fraction(1))


def _kernel(data) -> dict:
    if not isinstance(data, dict):
        raise Rejected("verifier is not a table")
    return {prefix_of(key, "verifier"): table_of(law, f"verifier[{key}]") for key, law in data.items()}


def _value_of_verifier(pair: ProblemPair, kernel: dict) -> Fraction:
    """Return E[tau] of the verifier in the file, after seeing that it is a valid one."""
    drafted = dict(pair.drafted())
    if set(kernel) != set(drafted):
        raise Rejected("its verifier is not given for exactly the blocks that can be drafted")
    emitted: dict[tuple[int, ...], Fraction] = {}
    for block, law in kernel.items():
        if sum(law.values()) != drafted[block]:
            raise Rejected(f"its verifier's law on block {block} does not add up to the block's probability")
        for output, mass in law.items():
            tokens_known = all(0 <= t < pair.vocabulary for t in output)
            if not 1 <= len(output) <= pair.gamma + 1 or not tokens_known or output[:-1] != block[: len(output) - 1]:
                raise Rejected(f"its verifier emits {output} on block {block}")
            if mass < 0:
                raise Rejected(f"its verifier has the negative probability {shown(mass)} on block {block}")
            emitted[output] = emitted.get(output, Fraction(0)) + mass
    _must_follow_target(pair, emitted, (), Fraction(0), Fraction(1))
    return sum(((len(o) - 1) * mass for o, mass in emitted.items()), Fraction(0))


def _must_follow_target(
    pair: ProblemPair, emitted: dict, prefix: tuple[int, ...], completed: Fraction, expected: Fraction
):
    """Check Eq. (7): what is emitted, completed by the target, has the target's law on gamma + 1 tokens.

    completed: the mass of outputs that end at a prefix of this one, carried on by the target.
    """
    here = completed + emitted.get(prefix, Fraction(0))
    if len(prefix) == pair.gamma + 1:
        if here != expected:
            reached = f"{prefix} comes out with {shown(here)}, expected {shown(expected)}"
            raise Rejected(f"its verifier is not lossless: {reached}")
        return
    for token, p in enumerate(pair.target[prefix]):
        _must_follow_target(pair, emitted, (*prefix, token), here * p, expected * p)


def _value_of_bound(pair: ProblemPair, slack: dict, martingale: dict) -> Fraction:
    """Return sum M_s(x^gamma) slack(x^gamma), after seeing that it bounds E[tau] of every valid verifier."""
    vocabulary, gamma = range(pair.vocabulary), pair.gamma
    if set(martingale) != {o for n in range(1, gamma + 2) for o in product(vocabulary, repeat=n)}:
        raise Rejected("its martingale is not given for exactly the outputs of 1 to gamma + 1 tokens")
    for length in range(gamma + 1):
        for prefix in product(vocabulary, repeat=length):
            mean = sum(p * martingale[(*prefix, t)] for t, p in enumerate(pair.target[prefix]))
            if mean != martingale.get(prefix, 0):
                raise Rejected(f"its martingale drifts at {prefix}")
    value = Fraction(0)
    for block, mass in pair.drafted():
        if block not in slack:
            raise Rejected(f"its bound has no slack for block {block}")
        for accepted in range(gamma + 1):
            for token in vocabulary:
                if accepted > slack[block] + martingale[(*block[:accepted], token)]:
                    raise Rejected(
                        f"its bound fails on block {block} where {accepted} of its tokens are accepted, then {token}"
                    )
        value += mass * slack[block]
    return value


def _must_survive_most(pair: ProblemPair, kernel: dict, data) -> None:
    """Check Lemma 4 pointwise: the verifier keeps x^i with M_s(x^j) M_b(x^i | x^j), for the j that is named."""
    survived: dict[tuple[int, ...], Fraction] = {}
    for law in kernel.values():
        for output, mass in law.items():
            for i in range(1, len(output)):
                survived[output[:i]] = survived.get(output[:i], Fraction(0)) + mass
    expected = {x for n in range(1, pair.gamma + 1) for x in product(range(pair.vocabulary), repeat=n)}
    if not isinstance(data, dict) or {prefix_of(key, "survival") for key in data} != expected:
        raise Rejected("its survival is not given for exactly the prefixes of 1 to gamma tokens")
    for key, last in data.items():
        x = prefix_of(key, "survival")
        if type(last) is not int or not 0 <= last <= len(x):
            raise Rejected(f"survival[{key}]: {last!r} is not a length from 0 to {len(x)}")
        steps = ((pair.draft if i < last else pair.target)[x[:i]][token] for i, token in enumerate(x))
        most = prod(steps, start=Fraction(1))
        own = survived.get(x, Fraction(0))
        if own != most:
            raise Rejected(f"its verifier keeps {x} with {shown(own)}, not with the {shown(most)} of its bound")
