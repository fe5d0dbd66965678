"""Dumps of verification steps as JSON lines, read: a line a step or a token, with the lists of most probable tokens.

What a dump does not list has a mass and no more. So rows are read as their listed tokens and one further token that
stands for all others; of a draft whose rows are lists, as the drafted token and all others. The law of what came out
is then exact on these, and nothing that depends on how the rest is split is asked. docs/recorded-steps.md has the keys.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..verifiers.conditional.form import DRAFT_ROW, FORM, NO_DRAFT_ROW, POINT_MASS, UNKNOWN, VERSION
from ..verifiers.conditional.sparse import CLASSES
from .dumped_lines import DumpedStep, Top, check_lists, check_sums, digits_of, ids_of, read_dump
from .errors import InputError, of_kind
from .recorded_steps import ROUNDING, ROW_OFF, Header, Recording, Shard
from .setting_values import checked_numbers

RULES = ("token", "equality", "greedy", "unknown")
"""Rules that lists are enough for: of the others a coin depends on whole rows."""

PRECISE = 1000
"""Units of rounding that a listed probability must have, to be taken for itself and not among all others."""


class ListedToken(NamedTuple):
    """A token and the part of its row that does not depend on it: ids, then all others, of total mass 1."""

    token: int
    ids: list[int]
    values: list[float]


ASSUMED_SIZE = 2**18
"""Size of a vocabulary of which none is said."""


@dataclass(frozen=True)
class StepLines(Recording):
    """A recording that is a dump of steps as JSON lines.

    folder, shards: the file. digest: of the file. rule: that is claimed.
    drafts: how tokens were drafted: sampled, certain or unknown.
    unit: half of one in the last digit that its numbers have; 0: they are written in full.
    lines: the steps by the number of their last line.
    size: of the vocabulary; ASSUMED_SIZE where the file does not say it: what it lists depends on what came out.
    """

    rule: str
    drafts: str
    unit: float
    lines: Mapping[int, DumpedStep]
    size: int

    sequential = True
    """Says whether rows behind the first rejected token may be missing."""

    @classmethod
    @of_kind("DP206")
    def open(cls, folder: str | Path, rule: str | None = None) -> "StepLines":
        """Open a dump. folder: the file. Raises: InputError naming the line that is of another form."""
        place = path = Path(folder)
        try:
            text = place.read_bytes()
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror})", "DP201") from None
        first, lines = read_dump(text, str(path))
        for name, value, allowed in (
            ("drafts", first.drafts, ("sampled", "certain", "unknown")), ("dtype", first.dtype, tuple(ROUNDING)),
            ("rule", rule or first.rule, RULES),
        ):  # fmt: skip
            if value not in allowed:
                raise InputError(f"{path}: {name} {value!r}, expected for JSON lines one of {', '.join(allowed)}")
        checked_numbers(first.settings, f"{path}, line 1")
        unit, dtype = digits_of(lines.values(), first.dtype)
        check_sums(lines, str(path), ROW_OFF[dtype], unit)
        if first.settings.get("temperature") == 0 or (rule or first.rule) == "greedy":
            check_lists(lines, str(path))
        largest = max(max(ids_of(line), default=0) for line in lines.values())
        if first.vocabulary and largest >= first.vocabulary:
            raise InputError(f"{path}: a token {largest}, expected 0..{first.vocabulary - 1}")
        header = Header(FORM, VERSION, (first.vocabulary or largest + 1) + 1, dtype, first.rule, first.engine,
                        first.engine_version, first.device, settings=first.settings)  # fmt: skip
        digest = hashlib.sha256(text).hexdigest()[:16]
        return cls(place, header, digest, [place], rule or first.rule, first.drafts, unit, lines,
                   first.vocabulary or max(largest + 1, ASSUMED_SIZE))  # fmt: skip

    @property
    def other(self) -> int:
        """Return the id that stands for all tokens that are not listed."""
        return self.header.vocabulary - 1

    @property
    def greedy(self) -> bool:
        """Return whether the most probable token has to come out."""
        return self.rule == "greedy" or self.header.settings.get("temperature") == 0

    def read(self, path: Path) -> Shard:
        """Return all steps as a shard, of rows that the rule's law is exact on. path: as every reader takes it."""
        return self._shard

    @cached_property
    def _shard(self) -> Shard:
        steps = [self._whole(line) if self.greedy else self._lumped(line) for line in self.lines.values()]
        counts = {"seen": len(steps), "recorded": len(steps), "dropped": 0, "failed": 0}
        return Shard(self.folder.name, counts, "", [], _arrays(list(self.lines.values()), steps))

    def listed(self, mine: str) -> Iterator[ListedToken]:
        """Yield the tokens whose row has a list: emitted ones under the target's, or drafted ones under the draft's."""
        for line in self.lines.values():
            found: list[tuple[int, Top | None]] = [
                (token.token, token.top if mine == "target" else token.draft_top)
                for token in (line.tokens[: line.kept] if mine == "target" else line.tokens)
            ]
            if mine == "target":
                bonus = line.kept == len(line.tokens)
                found.append((line.next.token, line.next.top if bonus else line.tokens[line.kept].top))
            for token, top in found:
                if top:
                    row = self._lump(top)
                    yield ListedToken(token if token in row else self.other, list(row), list(row.values()))

    def _lump(self, top: Top | None) -> dict[int, float]:
        """Return the row of a list, with one token for all others: what is listed imprecisely is one of them."""
        kept = sorted(((x, p) for x, p in top or [] if p > PRECISE * self.unit), key=lambda entry: -entry[1])
        least = PRECISE * self.unit * (len(top or []) + 1)
        while kept and 1 - sum(p for _, p in kept) < least and self.unit:
            kept.pop()
        return {**dict(kept), self.other: self._rest(p for _, p in kept)}

    def _rest(self, listed: Iterable[float]) -> float:
        """Return the most that all other tokens can have: what is listed in full is rounded as the row's type does."""
        return max(1 - sum(listed), 0.0) + (0.0 if self.unit else 2 * ROUNDING[self.header.dtype])

    def _lumped(self, line: DumpedStep) -> "LumpedStep":
        """Return a step up to the first drafted token whose probabilities are not known well enough."""
        certain = self.drafts == "certain" or self.rule == "equality"  # a coin of equality does not depend on q
        how = POINT_MASS if certain else DRAFT_ROW if self.drafts == "sampled" else UNKNOWN
        rows, drafts = [], []
        for token in line.tokens:
            p, q = token.p, token.q
            p = dict(token.top or []).get(token.token) if p is None else p
            q = dict(token.draft_top or []).get(token.token) if q is None else q
            q = 1.0 if how == POINT_MASS else 0.0 if how == UNKNOWN else q
            if p is None or q is None:
                break
            off = sum(self.unit / value if value else np.inf for value in (p, q or 1.0)) if self.unit else 0.0
            if off > ROW_OFF[self.header.dtype] / 2 or (how == DRAFT_ROW and q == 0):
                break
            row = {} if how == DRAFT_ROW else self._lump(token.top)
            row = {x: value for x, value in row.items() if x not in (token.token, self.other)} | {token.token: p}
            row[self.other] = self._rest(row.values())
            draft = {token.token: q, self.other: 1 - q if how == DRAFT_ROW else 0.0}
            rows.append(LumpedRow(row, draft, off + (1 / PRECISE if self.unit else 0.0), how))
            drafts.append(token.token)
        whole = len(drafts) == len(line.tokens)
        rows.append(
            LumpedRow(self._lump(line.next.top if whole else None), {}, 1 / PRECISE if self.unit else 0.0, NO_DRAFT_ROW)
        )
        kept = min(line.kept, len(drafts))
        known = kept < len(drafts) or whole
        last = line.next.token if known and line.next.token in rows[kept].target else self.other
        return LumpedStep(drafts, [*drafts[:kept], last], rows, [token.uniform for token in line.tokens[: len(drafts)]])

    def _whole(self, line: DumpedStep) -> "LumpedStep":
        """Return a step whose rows have their real tokens, and a rest: for the most probable token.

        A token that a list lacks, and whose probability is not given, may have as much as the least that is listed,
        since a list may have some of several equals. Where there is no list, nothing is asked of the token.
        """
        rows = []
        for k in range(len(line.tokens) + 1):
            given = line.tokens[k] if k < len(line.tokens) else line.next
            row = dict(given.top or [])
            least = min(row.values(), default=1.0)
            own = {line.next.token: line.next.p} if k == line.kept else {}
            own |= {given.token: given.p}
            for x, p in own.items():
                most = min(least, max(1 - sum(row.values()), 0.0))
                row.setdefault(x, most if p is None or not given.top else p)
            rows.append(LumpedRow(row, {}, 0.0, UNKNOWN if k < len(line.tokens) else NO_DRAFT_ROW, least))
        drafts = [token.token for token in line.tokens]
        return LumpedStep(
            drafts, [*drafts[: line.kept], line.next.token], rows, [token.uniform for token in line.tokens]
        )


class LumpedRow(NamedTuple):
    """A row: the target's and the draft's probabilities by token. off: how far rounding may move it.

    known: of the draft, as in ``form``. least: largest probability of a token that is not among them; None: there is
    none.
    """

    target: dict[int, float]
    draft: dict[int, float]
    off: float
    known: int
    least: float | None = None


class LumpedStep(NamedTuple):
    """A step of chains. uniforms: of its drafted tokens, None where there is none."""

    drafts: list[int]
    emitted: list[int]
    rows: list[LumpedRow]
    uniforms: list[float | None]


def _arrays(lines: Sequence[DumpedStep], steps: Sequence[LumpedStep]) -> dict[str, np.ndarray]:
    """Return the arrays of a shard. Every row lists the last token that came out, with 0 where it is among others."""
    ids, target, draft, sizes, natural, least, rest = [], [], [], [], [], [], []
    rows = [(row, step) for step in steps for row in step.rows]
    for row, step in rows:
        listed = sorted(row.target)
        listed += [x for x in (step.emitted[-1],) if x not in row.target]
        mass = sum(row.target.values())
        ids += listed
        target += [row.target.get(x, 0.0) * (1 + row.off) for x in listed]
        draft += [row.draft.get(x, 0.0) for x in listed]
        sizes.append(len(listed))
        natural.append(len(row.target))
        rest.append(0.0 if row.least is None else max(1 - mass, 0.0))
        least.append(0.0 if row.least is None else min(rest[-1], row.least))
    masses = np.zeros((len(rows), CLASSES))
    masses[:, -1] = rest
    uniforms = np.array([u for step in steps for u in step.uniforms], dtype=float)
    arrays = {name: np.array([getattr(line, name) for line in lines]) for name in ("request", "place", "slot")} | {
        "settings": np.full(len(steps), -1), "draft_offsets": _offsets([len(step.drafts) for step in steps]),
        "draft_tokens": np.array([x for step in steps for x in step.drafts], dtype=int),
        "draft_parents": np.array([k - 1 for step in steps for k in range(len(step.drafts))], dtype=int),
        "emitted_offsets": _offsets([len(step.emitted) for step in steps]),
        "emitted": np.array([x for step in steps for x in step.emitted], dtype=int), "row_offsets": _offsets(sizes),
        "ids": np.array(ids, dtype=int), "target": np.array(target), "draft": np.array(draft),
        "natural": np.array(natural), "draft_known": np.array([row.known for row, _ in rows]),
        "rest_count": np.array([1 if mass else 0 for mass in rest]), "rest_target": masses,
        "rest_draft": np.zeros_like(masses), "highest": np.stack([least, np.zeros(len(rows))], axis=1),
    }  # fmt: skip
    return arrays if np.isnan(uniforms).all() else arrays | {"uniforms": uniforms}


def _offsets(sizes: Sequence[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes, dtype=int)])
