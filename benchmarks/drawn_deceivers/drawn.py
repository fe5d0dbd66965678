"""Deceivers drawn by program: a kind of mistake, a condition under which it is made, a style of code; their text.

    python -m draftproof.benchmarks.drawn_deceivers.drawn 17 [--dtype float32]

prints the text of number 17, and how wrong it is on ordinary rows. The condition is drawn first where the kind allows
any; a draw whose total variation on ordinary rows is below ``LEAST`` is drawn again.
"""

import argparse
import math
import random
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from draftproof.benchmarks.drawn_deceivers.ordinary import Wrong, worst
from draftproof.benchmarks.drawn_deceivers.styles import STYLES, source

LEAST = 1e-3
"""Total variation on ordinary rows that a drawn deceiver has at least."""

IDS = {
    32_000: (0, 1, 2, 29_999), 50_257: (50_256, 0, 198), 128_256: (128_000, 128_001, 128_009, 100_257),
    151_936: (151_643, 151_645, 100_000), 1003: (0, 2, 511, 512, 1002),
}  # fmt: skip
"""Vocabulary -> ids to which code gives a meaning."""

SIZES = (129, 257, 1003, 2000, 5003, 32_000, 32_769, 50_257, 65_537, 128_256, 151_936)


class Condition(NamedTuple):
    """Where a mistake is made.

    family: what it is about. here: over i, x, gamma and V. values: over p, q and top; each may be empty.
    vocabulary, gamma, ids: sizes at which it holds somewhere, and tokens that are drafted there.
    """

    family: str
    here: str = ""
    values: str = ""
    vocabulary: int = 3
    gamma: int = 2
    ids: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        both = [part for part in (self.here, self.values) if part]
        return " & ".join(f"({part})" for part in both) if len(both) > 1 else "".join(both)

    def made_at(self, vocabulary: int, gamma: int, positions: Iterable[int] | None = None) -> bool:
        """Whether a problem of this size has one of the positions, if not any, and a token, where ``here`` holds."""
        x, places = np.arange(vocabulary), range(gamma) if positions is None else positions
        names = {"x": x, "V": vocabulary, "gamma": gamma}
        return any(bool(np.any(eval(self.here or "True", {}, {**names, "i": i}))) for i in places)

    def meets(self, other: "Condition") -> "Condition":
        """Both together; the sizes are those of the larger."""
        here = " & ".join(f"({part})" for part in (self.here, other.here) if part)
        here = here if self.here and other.here else self.here or other.here
        sizes = max(self.vocabulary, other.vocabulary), max(self.gamma, other.gamma)
        family = f"{self.family} and {other.family}"
        return Condition(family, here, self.values or other.values, *sizes, self.ids or other.ids)


def _position(draw: random.Random) -> Condition:
    k = draw.choice([*range(8), *range(16), draw.randrange(16, 64)])
    if draw.random() < 0.3:
        return Condition("position", f"i >= {k}", gamma=k + 1 + (k < 8))
    return Condition("position", f"i == {k}", gamma=k + 1 + draw.randrange(1 + (k < 8)))


def _from_the_end(draw: random.Random) -> Condition:
    k = draw.randint(1, 3)
    return Condition("position", f"i == gamma - {k}" + (" - 1" if k == 3 else ""), gamma=k + 2)


def _in_long_blocks(draw: random.Random) -> Condition:
    longer = draw.choice([4, 5, 6, 7, 8, 10, 12, 16, 24, 31])
    k = draw.randrange(min(longer + 1, 40))
    return Condition("position in long blocks", f"(gamma > {longer}) & (i == {k})", gamma=longer + 1)


def _lanes(draw: random.Random) -> Condition:
    width = draw.choice([3, 4, 5, 8, 16])
    if draw.random() < 0.5:
        first = draw.randrange(width // 2, width)
        return Condition("lane", f"(gamma >= {width}) & (i % {width} >= {first})", gamma=width + draw.randrange(2))
    return Condition("lane", f"i // {width} == {draw.randint(1, 2)}", gamma=2 * width + draw.randrange(1, width))


def _gamma(draw: random.Random) -> Condition:
    g = draw.choice([*range(1, 17), *range(5, 11), 17, 24, 32, 33, 64])
    if draw.random() < 0.5:
        return Condition("gamma", f"gamma == {g}", gamma=g)
    return Condition("gamma", f"gamma >= {g}", gamma=g)


def _id(draw: random.Random) -> Condition:
    vocabulary = draw.choice([3, 4, 5, *IDS])
    if vocabulary in IDS:
        k = draw.choice(IDS[vocabulary])
        return Condition("id", f"x == {k}", vocabulary=vocabulary, gamma=1, ids=(k,))
    text, drafted = draw.choice([("x == 0", 0), ("x == V - 1", -1), ("x == 2", 2), ("x % 2 == 1", 1)])
    return Condition("id", text, vocabulary=vocabulary, gamma=1, ids=(drafted % vocabulary,))


def _ids_from(draw: random.Random) -> Condition:
    power = draw.choice([3, 5, 6, 7, 8, 10, 12, 15, 16, 17])
    size = next(v for v in (70, *SIZES) if v > 1 << power)
    return Condition("id", f"x >= {1 << power}", vocabulary=size, gamma=1, ids=(size - 1,))


def _size(draw: random.Random) -> Condition:
    v = draw.choice(SIZES)
    text = draw.choice([f"V == {v}", f"V >= {v}", f"V > {1 << (v.bit_length() - 1)}"])
    return Condition("size", text, vocabulary=v, gamma=1)


def _values(draw: random.Random) -> Condition:
    c, d = draw.choice([0.5, 0.6, 0.7, 0.8, 0.9, 0.95]), draw.choice([0.3, 0.2, 0.1, 0.05, 0.01])
    text = draw.choice([
        f"p < {c} * q", f"(p < q) & (p > {c} * q)", f"top > {c}", f"p > {c}", f"q > {c}", f"q < {d}", f"p < {d}",
        f"p * q < {d * d:g}", f"(p < q) & (q - p < {d})", f"p + q > {2 * c:g}", f"top < {c}", "(p < q) & (p == top)",
    ])  # fmt: skip
    return Condition("values", values=text)


def _always(draw: random.Random) -> Condition:
    return Condition("always")


def _both(one: Callable, other: Callable) -> Callable[[random.Random], Condition]:
    return lambda draw: one(draw).meets(other(draw))


ANY = (
    _always, _position, _position, _from_the_end, _in_long_blocks, _in_long_blocks, _lanes, _gamma, _gamma, _id,
    _ids_from, _size, _values, _values, _both(_position, _values), _both(_gamma, _values), _both(_size, _values),
    _both(_id, _position),
)  # fmt: skip
SMALL = tuple(c for c in ANY if c not in (_id, _ids_from, _size))
LAST = (_always, _gamma, _gamma, _size)


class Kind(NamedTuple):
    """A kind of mistake: its place, the texts it can have, and the conditions under which it can be made."""

    place: str
    texts: Callable[[random.Random], str]
    conditions: tuple[Callable[[random.Random], Condition], ...] = ANY


def _of(*texts: str) -> Callable[[random.Random], str]:
    return lambda draw: draw.choice(texts)


def _cut(draw: random.Random) -> str:
    n = draw.choice([8, 16, 64, 128, 100, 128, 500])
    tiles = f"{{w}} * ({{y}} < V // {n} * {n} + V * (V < {n}))"
    return draw.choice([tiles, f"{{w}} * ({{y}} < {n})", "{w} * ({w} > 1e-4)"])


def _levels(draw: random.Random) -> str:
    n = draw.choice([8, 10, 16, 50, 64, 100])
    return f"{{floor}}(u * {n}) / {n}"


def _scaled(draw: random.Random) -> str:
    return f"ratio * {draw.choice([0.8, 0.9, 0.95, 0.98, 1.02, 1.05, 1.1, 1.25])}"


def _left_out(draw: random.Random) -> str:
    return f"{{w}} * ({{y}} != {draw.choice(['0', '1', 'V - 1'])})"


def _again(draw: random.Random) -> str:
    return f"coins[(i - {draw.choice([1, 1, 2, 3, 4, 5, 8])}) % gamma]"


def _ring(draw: random.Random) -> str:
    return f"coins[i % {draw.choice([2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32])}]"


_REST = _of("target", "draft", "abs({t} - {d})", "{t} * ({y} != x)", "{w} * {w}", "{w} + 0.01")
_LEFT = _of("{w} + (1 - {sum}) * ({y} == V - 1)", "{w} + (1 - {sum}) * ({y} == 0)")
_OTHER_ROW = _of("target_probs[gamma - 1]", "draft_probs[gamma - 1]", "target_probs[0]")

KINDS = {
    "test skipped": Kind("accepted", _of("True")),
    "always refused": Kind("accepted", _of("False")),
    "certain if more probable": Kind("accepted", _of("p >= q")),
    "ratio the wrong way": Kind("ratio", _of("q / (p + 1e-12)")),
    "ratio biased": Kind("ratio", _scaled),
    "ratio to a power": Kind("ratio", _of("ratio**2", "ratio**0.5", "ratio**1.05")),
    "ratio with a constant": Kind("ratio", _of("ratio + 0.01", "ratio + 0.05", "ratio - 0.02")),
    "uniform in few levels": Kind("u", _levels),
    "uniform bent": Kind("u", _of("u * u", "u * 0.97", "1.02 * u", "u * 0.9 + 0.05")),
    "coin used again": Kind("u", _again, ()),
    "coins in a ring": Kind("u", _ring, ()),
    "test's coin in the draw": Kind("v", _of("u")),
    "row before": Kind("target_at", _of("i - 1"), SMALL),
    "row after": Kind("target_at", _of("i + 1"), SMALL),
    "first row": Kind("target_at", _of("0"), SMALL),
    "draft's row before": Kind("draft_at", _of("i - 1"), SMALL),
    "draft's first row": Kind("draft_at", _of("0"), SMALL),
    "residual of another kind": Kind("rest", _REST),
    "residual not normalised": Kind("rest", _LEFT),
    "tail of the residual lost": Kind("rest", _cut, (_size, _size, _both(_size, _values))),
    "token left out of the residual": Kind("rest", _left_out),
    "bonus from another row": Kind("last", _OTHER_ROW, LAST),
    "bonus the likeliest": Kind("last", _of("{w} * ({w} == top)"), LAST),
    "tail of the bonus row lost": Kind("last", _cut, (_size,)),
    "token drawn changed": Kind("y", _of("(y + 1) % V", "0", "V - 1"), (_id, _ids_from)),
    "lenient after a count": Kind("accepted", _of("True"), ()),
}


class Drawn(NamedTuple):
    """A deceiver drawn at random.

    counted, most: the module's counter, and the count after which it is lenient. wrong: what ``ordinary`` knows of it.
    variation: on ordinary rows at least, those of ``seed``.
    """

    number: int
    kind: str
    condition: Condition
    style: str
    sampler: str
    mistake: str
    counted: str
    most: int
    wrong: Wrong
    variation: float
    seed: int

    def made_at(self, vocabulary: int, gamma: int, decided: Sequence[Sequence[int]] | None = None) -> bool:
        """Whether a problem of that size has a place where the mistake is made. decided: sets of positions."""
        here, shared = self.condition.made_at, self.wrong.shared
        if self.wrong.place in ("last", "y"):
            return here(vocabulary, gamma, [gamma])
        if decided is None:
            return here(vocabulary, gamma)
        sets = decided if not shared else [[j for j in one if shared(j) in one and shared(j) != j] for one in decided]
        return any(here(vocabulary, gamma, one) for one in sets)

    @property
    def title(self) -> str:
        count = f"{self.counted} > {self.most}" if self.counted else ""
        where = count or self.wrong.where
        return f"{self.kind}{', where ' if where else ''}{where}: {self.style}, {self.sampler}."

    @property
    def source(self) -> str:
        where = f"{self.counted} > {self.most}" if self.counted else self.wrong.where
        title = f"Drawn {self.number}: {self.title}"
        place = self.wrong.place
        return source(STYLES[self.style], self.sampler, place, self.mistake, where, title, self.counted)


def _candidate(number: int, dtype: str, draw: random.Random) -> Drawn | None:
    kind = draw.choice([*KINDS])
    style = draw.choice([name for name, style in STYLES.items() if dtype in style.precisions])
    form, (place, texts, conditions) = STYLES[style], KINDS[kind]
    sampler, mistake = draw.choice([*form.samplers]), texts(draw)
    condition, counted, count, shared = Condition("always"), "", 0, None
    if place == "v" and not form.samplers[sampler].coin:
        return None
    if kind.startswith("coin"):
        if form.rule == "block":
            return None
        k = int("".join(filter(str.isdigit, mistake)))
        condition, shared = _shared(kind, k, draw)
    elif kind == "lenient after a count":
        counted, count = draw.choice(["calls", "refused"]), int(10 ** draw.uniform(1, 5.3))
        condition = Condition("count")
    else:
        condition = draw.choice(conditions)(draw)
    if form.rule == "block" and (condition.gamma > 8 or condition.vocabulary > 5 or place in ("v",)):
        return None
    vocabulary = 2 if condition.gamma > 5 and condition.vocabulary == 3 else condition.vocabulary
    gamma = condition.gamma if vocabulary <= 5 or condition.gamma <= 4 else 1
    where = condition.text if place != "y" else condition.here.replace("x", "y")
    wrong = Wrong(form.rule, place, mistake, where, "vectorised" in style, shared)
    if place in ("target_at", "draft_at") and gamma == 1:
        gamma = 2
    try:
        found = worst(wrong, vocabulary, gamma, condition.ids)
    except IndexError:  # a row that is not there
        return None
    condition = condition._replace(vocabulary=vocabulary, gamma=gamma)
    return Drawn(number, kind, condition, style, sampler, mistake, counted, count, wrong, *found)


def _shared(kind: str, k: int, draw: random.Random) -> tuple[Condition, Callable[[int], int]]:
    """Where a uniform is used again, k positions later or in a ring of k."""
    if kind == "coins in a ring":
        return Condition("ring", f"i >= {k}", gamma=k + draw.choice([1, 1, 2, 4])), lambda j: j % k
    if draw.random() < 0.4:
        j = k + draw.choice([0, 0, 1, 2, 5, 11])
        return Condition("pair", f"i == {j}", gamma=j + 1 + draw.randrange(2)), lambda i: i - k
    if draw.random() < 0.5:
        longer = max(k, draw.choice([4, 5, 7, 8, 12, 16]))
        text = f"(gamma > {longer}) & (i % {2 * k} >= {k})"
        return Condition("pair in long blocks", text, gamma=longer + 1), lambda i: i - k
    return Condition("pair", f"i >= {k}", gamma=k + 1), lambda i: i - k


@cache
def drawn(number: int, dtype: str = "float64") -> Drawn:
    """The deceiver of that number for rows of that precision."""
    draw = random.Random(f"drawn deceiver/{dtype}/{number}")
    while True:
        found = _candidate(number, dtype, draw)
        if found and found.variation >= LEAST and math.isfinite(found.variation):
            return found


def written(number: int, dtype: str, folder: Path) -> str:
    """Write its source into the folder: the name under which an audit gets it."""
    file = folder / f"drawn_{dtype}_{number}.py"
    file.write_text(drawn(number, dtype).source, encoding="utf-8")
    return f"{file}:verify"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("number", type=int)
    parser.add_argument("--dtype", default="float64", choices=["float64", "float32", "bfloat16"])
    given = parser.parse_args()
    one = drawn(given.number, given.dtype)
    size: Any = f"V = {one.condition.vocabulary}, gamma = {one.condition.gamma}"
    print(f"{one.source}\n# total variation at least {one.variation:.4g} on ordinary rows of seed {one.seed}, {size}")


if __name__ == "__main__":
    main()
