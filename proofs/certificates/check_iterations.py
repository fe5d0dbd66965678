"""The checker of certificates over several iterations. It needs nothing but the file, and none of the maker's code.

Plain fractions. Write W_n(t) for the value that the file gives to the text t with n iterations to come, W_0(t) = |t|,
and for one n and t, U(s) = W_{n-1}(t s) and g(x) = E U(x Y) - U(x), Y from the target. For every text two facts:

1. the reaches lie in the polytope, r(()) = 1 and 0 <= r(x y) <= min(r(x) M_b(y | x), M_s(x y)), so some valid verifier
has them, and what it is worth, E U(Y) + sum r(x) g(x), is W_n(t);
2. the prices are nonnegative, g(x) + sum_y M_b(y | x) parent(x y) <= parent(x) + drafted(x), and the bound that
follows, E U(Y) + sum_y M_b(y) parent(y) + sum M_s(x) drafted(x), is W_n(t) too.

That this makes W_n(t) the optimum of all strategies is ``certified_optimum`` of mechanized/Strategies.v.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import product

from .check import ProblemPair, Rejected, fields, given, rational_of, shown, table_of, tokens

ITERATIONS_FORMAT = "draftproof-iterations/1"
FIELDS = {"format", "problem", "iterations", "expected_tokens", "texts"}
OF_A_TEXT = {"value", "reach", "parent", "drafted"}
MOST_TEXTS = 4096
"""Largest number of texts that iterations may begin with: each has a linear program."""

Text = tuple[int, ...]


def texts_of(vocabulary: int, gamma: int, iterations: int) -> Iterator[Text]:
    """Yield every text that so many iterations may emit."""
    for length in range(iterations, iterations * (gamma + 1) + 1):
        yield from product(range(vocabulary), repeat=length)


def texts_to_check(vocabulary: int, gamma: int, iterations: int) -> int:
    """Return how many texts have a linear program, each with the number of iterations to come."""
    total = 0
    for length in (length for done in range(iterations) for length in range(done, done * (gamma + 1) + 1)):
        total += vocabulary ** min(length, 100)
        if total > MOST_TEXTS:
            break
    return total


def check(text: str, problem: dict | None = None) -> Fraction:
    """Return the value that a certificate proves: the largest E[N(iterations)] of all strategies of valid verifiers.

    problem: if given, the certificate must be one of this problem (in JSON form, with all rows that it needs).
    Raises: Rejected, with the first thing that is wrong.
    """
    data = fields(text, ITERATIONS_FORMAT, FIELDS)
    iterations, gamma = iterations_of(text), data["problem"]["gamma"]
    pair = given(data, problem, partial(ProblemPair, beyond=(iterations - 1) * (gamma + 1)))
    values: Callable[[Text], Fraction] = _length
    if not isinstance(data["texts"], dict) or set(data["texts"]) != {str(n) for n in range(1, iterations + 1)}:
        raise Rejected("its texts are not given for exactly the iterations to come")
    for n in range(1, iterations + 1):
        values = _values(pair, data["texts"][str(n)], iterations - n, values).__getitem__
    claimed = rational_of(data["expected_tokens"], "expected_tokens")
    if claimed != values(()):
        raise Rejected(f"its texts show {tokens(values(()))}, not the {shown(claimed)} claimed")
    return claimed


def iterations_of(text: str) -> int:
    """Return how many iterations a certificate is about.

    Raises: Rejected, also for more texts than are checked.
    """
    data = fields(text, ITERATIONS_FORMAT, FIELDS)
    iterations = data["iterations"]
    if type(iterations) is not int or not 1 <= iterations <= MOST_TEXTS:
        raise Rejected(f"iterations: {iterations!r} is not a whole number from 1 to {MOST_TEXTS}")
    size = data["problem"] if isinstance(data["problem"], dict) else {}
    vocabulary, gamma = size.get("vocabulary"), size.get("gamma")
    if type(vocabulary) is not int or type(gamma) is not int or min(vocabulary, gamma) < 1:
        raise Rejected("its problem's vocabulary and gamma are not positive whole numbers")
    if texts_to_check(vocabulary, gamma, iterations) > MOST_TEXTS:
        raise Rejected(f"it has too many texts, expected at most {MOST_TEXTS:,}")
    return iterations


def _length(text: Text) -> Fraction:
    return Fraction(len(text))


def _values(pair: ProblemPair, data: object, done: int, after: Callable[[Text], Fraction]) -> dict[Text, Fraction]:
    """Return the values of all texts that ``done`` iterations may emit, each after both facts were seen."""
    if not isinstance(data, dict):
        raise Rejected("texts is not a table")
    keys = {_key(text): text for text in texts_of(pair.vocabulary, pair.gamma, done)}
    if set(data) != set(keys):
        raise Rejected(f"its texts are not exactly those that {done} of its iterations may emit")
    return {text: _value(pair, text, data[key], after) for key, text in keys.items()}


def _key(text: Text) -> str:
    return ",".join(map(str, text))


def _value(pair: ProblemPair, text: Text, data: object, after: Callable[[Text], Fraction]) -> Fraction:
    """Return the value of one text, shown to be reached and not to be exceeded."""
    where = f"the text {text}"
    if not isinstance(data, dict) or set(data) != OF_A_TEXT:
        raise Rejected(f"{where} does not have exactly {sorted(OF_A_TEXT)}")
    reach, parent, drafted = (table_of(data[name], name) for name in ("reach", "parent", "drafted"))
    value = rational_of(data["value"], f"the value of {where}")
    prefixes = [x for n in range(1, pair.gamma + 1) for x in product(range(pair.vocabulary), repeat=n)]
    if not set(reach) == set(parent) == set(drafted) == set(prefixes):
        raise Rejected(f"{where} has numbers for other prefixes than those of 1 to gamma tokens")

    def ahead(x: Text) -> Fraction:
        return sum((p * after((*text, *x, y)) for y, p in enumerate(pair.target[text + x])), Fraction(0))

    def priced(x: Text) -> Fraction:
        if len(x) == pair.gamma:
            return Fraction(0)
        return sum((p * parent[(*x, y)] for y, p in enumerate(pair.target[text + x])), Fraction(0))

    kept: dict[Text, Fraction] = {(): Fraction(1), **reach}
    mass: dict[Text, Fraction] = {(): Fraction(1)}
    reached, bound = ahead(()), ahead(()) + priced(())
    for x in prefixes:
        before, token = x[:-1], x[-1]
        mass[x] = mass[before] * pair.draft[text + before][token]
        gain = ahead(x) - after(text + x)
        if not 0 <= kept[x] <= min(kept[before] * pair.target[text + before][token], mass[x]):
            raise Rejected(f"{where}: no valid verifier keeps {x} with {shown(kept[x])}")
        if min(parent[x], drafted[x]) < 0:
            raise Rejected(f"{where}: a price of {x} is negative")
        if gain + priced(x) > parent[x] + drafted[x]:
            raise Rejected(f"{where}: the prices of {x} do not cover what it gains")
        reached += kept[x] * gain
        bound += mass[x] * drafted[x]
    if reached != value:
        raise Rejected(f"{where}: its reaches are worth {shown(reached)}, not the {shown(value)} claimed")
    if bound != value:
        raise Rejected(f"{where}: its bound is {shown(bound)}, not the {shown(value)} claimed")
    return value
