"""Wide problems: few live draft tokens, a whole vocabulary behind them; rows are made from a line of specification.

The draft gives its mass to the live tokens of each position, so that a block's law stays small (m^gamma blocks), while
the target's rows are as wide as a production vocabulary. Rows differ by position and by the token before them. Those
that decide every position of a long block are in ``long_blocks``.
"""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import msgspec

from .errors import InputError
from .json_files import convert, read_file
from .law import Prefix

if TYPE_CHECKING:
    from numpy import ndarray

MOST_ENTRIES = 8_000_000
"""Entries of all rows of a problem, V (gamma + 1) m: 64 MB."""

MOST_VOCABULARY, MOST_GAMMA, MOST_BLOCKS = 1_000_000, 64, 512

MOST_IN_SHORT = 3
"""Longest block whose rows may be any numbers. Over few tokens rows of longer ones are multiples of 1/256: else the
rounding of rows adds up over the block, and hides a mistake at one position."""

FEW_TOKENS = 8
"""Largest vocabulary of which rows of long blocks are multiples of 1/256."""

ALL_CALLED = 1100
"""Entries of a row up to which an audit calls a verifier with every index of positive weight."""

BACKWARDS = "-backwards"
"""Suffix of the name of a problem with its ids in the opposite order."""

EXCHANGED = "-exchanged"
"""Suffix of the name of a problem with entries of its target's rows in each other's place."""

LEAST_EXCHANGED = 127
"""The smallest vocabulary of which an audit has such a problem: of smaller ones every entry is looked at."""

DRAFTED_IDS = (0, 1, 2, 3, 198, 32_000, 50_256, 100_257, *range(128_000, 128_010), 151_643, 151_644, 151_645)
"""Ids that published vocabularies give to the beginning and end of texts, of turns and to padding."""

Kind = Literal["dense", "tails", "zeros", "ties", "peaked", "near", "few", "likely", "single", "ends"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""What the target's rows can be like (``wide_rows``)."""

Token = Annotated[int, msgspec.Meta(ge=0)]


@dataclass(frozen=True)
class WideProblem:
    """A draft/target pair given by a specification.

    vocabulary: V; gamma: the length of a draft block.
    kind: of the target's rows, a key of KINDS.
    live: for each position the tokens that can be drafted, one or more.
    seed: of the rows.
    agree: positions at which both models are sure of the live token: nothing is decided there.
    few_ids: whether few ids of a row are called: another problem of the vocabulary has them called.
    backwards: whether the rows are made for ids in the opposite order: token t has what V - 1 - t has without.
    exchanged: whether entries of each of the target's rows are in each other's place (``wide_rows.exchanged``): a cache
      that knows rows by their ends, sum, largest entries or every s-th one takes them for those without.
    departures: if there are any, for each position the later ones that are decided once the second of its live tokens
      has been drafted. That happens once in a block at most: after it the first live tokens alone are drafted, and
      elsewhere both models are sure of them. So gamma + 1 blocks decide every position with two live tokens.
    """

    vocabulary: int
    gamma: int
    kind: str
    live: tuple[tuple[int, ...], ...]
    seed: int = 0
    agree: tuple[int, ...] = ()
    name: str = "problem"
    backwards: bool = False
    exchanged: bool = False
    departures: tuple[tuple[int, ...], ...] = ()
    few_ids: bool = False

    def target_row(self, prefix: Prefix) -> "ndarray":
        """Return M_b(. | prefix), V floats that sum to 1 but for rounding: a function of its length and last token,
        and of where it departed.

        The live tokens share 1/8 to 3/4 of it, the others the rest.
        """
        from .wide_rows import departing_rows, exchanged, target_row

        i = len(prefix)
        live = self._ids(self.drafted(prefix))
        if self._agrees(prefix):
            return self.draft_row(prefix)
        if self.departures and len(live) == 2:
            return self._row(departing_rows(self.vocabulary, self.gamma, self.seed, i, live)[0])
        row = target_row(self.vocabulary, self.kind, self.seed, self._ids(prefix), live, self.gamma)
        return self._row(exchanged(row, live) if self.exchanged else row)

    def draft_row(self, prefix: Prefix) -> "ndarray":
        """Return M_s(. | prefix): V floats, 0 but for the live tokens."""
        from .wide_rows import departing_rows, draft_row, one_token

        drafted = self.drafted(prefix)
        if len(drafted) == 1:
            return one_token(self.vocabulary, drafted[0])
        live = self._ids(drafted)
        if self.departures and len(live) == 2:
            return self._row(departing_rows(self.vocabulary, self.gamma, self.seed, len(prefix), live)[1])
        return self._row(draft_row(self.vocabulary, self.kind, self.seed, self._ids(prefix), live))

    def drafted(self, prefix: Prefix) -> tuple[int, ...]:
        """Return the tokens that can be drafted after a prefix that can be drafted; none after a whole block."""
        if len(prefix) == self.gamma:
            return ()
        live = self.live[len(prefix)]
        return live[:1] if self._departed(prefix) is not None else live

    def _departed(self, prefix: Prefix) -> int | None:
        """Return where the prefix departed, if it did."""
        if not self.departures:
            return None
        return next((k for k, token in enumerate(prefix) if token != self.live[k][0]), None)

    def _agrees(self, prefix: Prefix) -> bool:
        """Return whether both models have the same row after it."""
        i = len(prefix)
        if not self.departures or i == self.gamma:
            return i in self.agree
        departed = self._departed(prefix)
        return len(self.live[i]) == 1 if departed is None else i not in self.departures[departed]

    def _ids(self, tokens: Prefix) -> Prefix:
        return tuple(self.vocabulary - 1 - t for t in tokens) if self.backwards else tokens

    def _row(self, row: "ndarray") -> "ndarray":
        from .wide_rows import in_256ths

        row = in_256ths(row) if self.gamma > MOST_IN_SHORT and self.vocabulary <= FEW_TOKENS else row
        return row[::-1].copy() if self.backwards else row

    def prefixes(self, length: int) -> Iterator[Prefix]:
        """Yield the prefixes of that length that can be drafted."""
        if not self.departures:
            yield from product(*self.live[:length])
            return
        stays = tuple(tokens[0] for tokens in self.live[:length])
        yield stays
        yield from ((*stays[:k], self.live[k][1], *stays[k + 1 :]) for k in range(length) if len(self.live[k]) == 2)

    def count(self, length: int) -> int:
        """Return how many prefixes of that length can be drafted."""
        sizes = [*map(len, self.live[:length])]
        return 1 + sum(sizes) - length if self.departures else math.prod(sizes)

    def as_json(self) -> dict[str, Any]:
        """Return the specification. ``wide_from`` gives the same problem back."""
        optional = {name: getattr(self, name) for name in ("agree", "backwards", "exchanged", "departures", "few_ids")}
        spec = {"kind": self.kind, "live": self.live, "seed": self.seed} | {k: v for k, v in optional.items() if v}
        return {"name": self.name, "vocabulary": self.vocabulary, "gamma": self.gamma, "wide": spec}


class WideSpecification(msgspec.Struct, forbid_unknown_fields=True):
    """A specification of the rows, by the fields of ``WideProblem``."""

    kind: Kind
    live: tuple[Annotated[tuple[Token, ...], msgspec.Meta(min_length=1)], ...]
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**32)] = 0
    agree: tuple[Token, ...] = ()
    backwards: bool = False
    exchanged: bool = False
    departures: tuple[tuple[Token, ...], ...] = ()
    few_ids: bool = False


class WideForm(msgspec.Struct, forbid_unknown_fields=True):
    """A wide problem in its JSON form."""

    vocabulary: Annotated[int, msgspec.Meta(ge=2, le=MOST_VOCABULARY)]
    gamma: Annotated[int, msgspec.Meta(ge=1, le=MOST_GAMMA)]
    wide: WideSpecification
    name: str | None = None


def wide_from(data: dict[str, Any], name: str = "problem") -> WideProblem:
    """Read a wide problem from its JSON form. Raises: InputError in one line if it is none."""
    form = convert(WideForm, data, name)
    spec, vocabulary, gamma = form.wide, form.vocabulary, form.gamma
    if len(spec.live) != gamma or max(spec.agree, default=0) >= gamma:
        raise InputError(
            f"{name}: live must be a list of {gamma} lists of tokens, and agree a list of positions below {gamma}"
        )
    for i, tokens in enumerate(map(list, spec.live)):
        if len(set(tokens)) < len(tokens) or max(tokens) >= vocabulary:
            raise InputError(f"{name}: live[{i}] must be a list of different tokens below {vocabulary}, got {tokens}")
    if spec.departures and (
        len(spec.departures) != gamma
        or any(len(tokens) > 2 for tokens in spec.live)
        or any(not k < i < gamma for k, after in enumerate(spec.departures) for i in after)
    ):
        raise InputError(
            f"{name}: departures must be a list of {gamma} lists of later positions, and live one or two tokens each"
        )
    problem = WideProblem(vocabulary, gamma, name=form.name or name, **msgspec.structs.asdict(spec))
    blocks, rows = problem.count(gamma), sum(map(problem.count, range(gamma + 1)))
    if blocks > MOST_BLOCKS or rows * vocabulary > MOST_ENTRIES * 4:
        raise InputError(
            f"{name}: {blocks} draft blocks and {rows} rows of {vocabulary} entries are too many; "
            f"expected at most {MOST_BLOCKS} blocks and {MOST_ENTRIES * 4:,} entries"
        )
    return problem


def wide(vocabulary: int, gamma: int, kind: str = "dense", seed: int = 0) -> WideProblem:
    """Return a wide problem whose live tokens are at both ends and astride powers of two.

    gamma up to 3: two live tokens a position, but for the largest vocabularies; beyond, one, and both models agree
    except at the ends and, of more than 9, in the middle.
    """
    top = vocabulary - 1
    power = 1 << (top.bit_length() - 1)
    pairs = [(0, top), (power - 1, power), (top // 2, top)]
    if gamma <= 3:
        m = 2 if vocabulary <= 40_000 else 1
        live = tuple(tuple(sorted({*pairs[(i + seed) % 3][::-1][:m]})) for i in range(gamma))
        return WideProblem(vocabulary, gamma, kind, live, seed, name=f"wide-{kind}-V{vocabulary}-gamma{gamma}")
    decided = {0, gamma - 1} | ({gamma // 2} if gamma > 9 else set())
    live = tuple((pairs[i % 3][1],) for i in range(gamma))
    agree = tuple(i for i in range(gamma) if i not in decided)
    return WideProblem(vocabulary, gamma, kind, live, seed, agree, f"wide-{kind}-V{vocabulary}-gamma{gamma}")


def backwards(problem: WideProblem) -> WideProblem:
    """Return the problem with its ids in the opposite order, V - 1 - t for t. Twice, it is the problem again."""
    live = tuple(tuple(problem.vocabulary - 1 - t for t in tokens) for tokens in problem.live)
    name = problem.name.removesuffix(BACKWARDS) if problem.backwards else problem.name + BACKWARDS
    return replace(problem, live=live, backwards=not problem.backwards, name=name)


def exchanged(problem: WideProblem) -> WideProblem:
    """Return the problem with entries of the target's rows in each other's place."""
    return replace(problem, exchanged=True, name=problem.name + EXCHANGED)


def wide_battery() -> list[WideProblem]:
    """Return the wide problems of an audit, smallest vocabulary first."""
    return [wide_from(given) for given in read_file(list[dict[str, Any]], Path(__file__).with_suffix(".json"))]


def own_wide_problem(seed: int) -> WideProblem:
    """Draw an audit's own wide problem from its seed: V, and a live token in each quarter of the ids."""
    draw = random.Random(f"wide/{seed}")
    v = draw.randrange(10_000, 30_000)
    live = tuple(v * k // 4 + draw.randrange(v // 4) for k in range(4))
    return WideProblem(v, 1, "dense", (live,), seed, name=f"own-wide-V{v}-gamma1-seed{seed}")
