"""Recorded verification steps, read: a folder of one header and numbered shards (docs/recorded-steps.md)."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np

from ..verifiers.conditional.form import FORM, POINT_MASS, UNKNOWN, VERSION
from ..verifiers.conditional.sparse import CLASSES, EDGES
from ..verifiers.conditional.steps import PairRows, Steps
from ..verifiers.conditional.tree_steps import TreeSteps, firsts, follow, found
from ..verifiers.trees.draft_tree import TOP, WAYS
from .errors import InputError, of_kind
from .json_files import read_file
from .libraries import require
from .setting_values import checked_numbers

ROUNDING = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
"""Unit roundoff of the types that engines compute rows in."""

ROW_OFF = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2, "bfloat16": 2e-2}
"""Most that rounding explains, by the type of the engine's rows: of a row's sum from 1, and of its total variation from
what its settings give."""

SIBLINGS = ("", *WAYS)
"""How siblings of a tree are drawn, as a header says it; "" if it does not."""

AT_ONCE = 128
"""Steps that are judged together: their rows are in memory, padded."""


class HowChosen(msgspec.Struct):
    """How steps were chosen. one_of: one in so many. seed, by: of the hash that chose them."""

    one_of: Annotated[int, msgspec.Meta(ge=1)] = 1
    seed: int = 0
    by: str = ""


class Header(msgspec.Struct):
    """The header of a recording. Fields as in ``draftproof.recording.Recorder``."""

    form: str
    version: int
    vocabulary: Annotated[int, msgspec.Meta(ge=1)]
    dtype: str = "float32"
    rule: str = "unknown"
    engine: str = ""
    engine_version: str = ""
    device: str = ""
    siblings: str = ""
    settings: dict[str, Any] = {}
    chosen: HowChosen = msgspec.field(default_factory=HowChosen)
    listed: int = 0
    edges: list[float] = []

    @property
    def epsilon(self) -> float:
        """Return the unit roundoff of the engine's rows."""
        return ROUNDING[self.dtype]


class Shard(NamedTuple):
    """A shard.

    name: of its file. counts: seen, recorded, dropped and failed until it was written. error: why the first one failed.
    settings: of requests, by their number. arrays: by name.
    """

    name: str
    counts: dict[str, int]
    error: str
    settings: list[dict[str, Any]]
    arrays: dict[str, np.ndarray]

    @property
    def steps(self) -> int:
        """Return how many steps it has."""
        return len(self.arrays["request"])

    def cut(self, name: str, step: int) -> np.ndarray:
        """Return the part of a ragged array that belongs to a step: draft_tokens, emitted or history."""
        offsets = self.arrays[{"emitted": "emitted_offsets", "history": "history_offsets"}.get(name, "draft_offsets")]
        return self.arrays[name][offsets[step] : offsets[step + 1]]


@dataclass(frozen=True)
class Recording:
    """A folder of recorded steps.

    digest: of its header; each shard repeats it, or the header's text. shards: its files, in order.
    """

    folder: Path
    header: Header
    digest: str
    shards: Sequence[Path]

    sequential = False
    """Says whether rows behind the first rejected token may be missing."""

    other = -1
    """Id that stands for all tokens that are not listed; -1 where each has its own."""

    @classmethod
    @of_kind("DP206")
    def open(cls, folder: str | Path) -> "Recording":
        """Open a folder. Raises: InputError if it is no recording, or one of a later version."""
        place = Path(folder)
        if not (place / "header.json").is_file():
            raise InputError(f"{folder}: no header.json in it; expected recorded steps, or a file of JSON lines")
        header = read_file(Header, place / "header.json")
        if header.form != FORM:
            raise InputError(f"{place / 'header.json'}: form {header.form!r}, expected {FORM!r}")
        if header.version != VERSION:
            raise InputError(f"{place / 'header.json'}: version {header.version}, expected {VERSION}")
        if header.dtype not in ROUNDING:
            raise InputError(f"{place / 'header.json'}: dtype {header.dtype!r}, expected one of {', '.join(ROUNDING)}")
        if header.edges and not np.allclose(header.edges, EDGES):
            raise InputError(f"{place / 'header.json'}: other edges of classes than version {VERSION} has")
        if header.siblings not in SIBLINGS:
            expected = ", ".join(filter(None, SIBLINGS))
            raise InputError(f"{place / 'header.json'}: siblings {header.siblings!r}, expected one of {expected}")
        checked_numbers(header.settings, str(place / "header.json"))
        digest = _digest((place / "header.json").read_bytes())
        return cls(place, header, digest, sorted(place.glob("steps-*.safetensors")))

    def read(self, path: Path) -> Shard:
        """Return a shard, checked. Raises: InputError for one that is cut short, or is no part of this recording."""
        require("safetensors", extra="steps")
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, "numpy") as file:
                about = file.metadata() or {}
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # no mapping
        except (SafetensorError, OSError, TypeError) as error:  # TypeError: a type that NumPy lacks
            raise InputError(f"{path.name}: cannot be read ({error}); expected a whole shard") from None
        arrays = {name: _signed(values, f"{path.name}: {name}") for name, values in arrays.items()}
        recording = about.get("recording", "")
        if self.digest not in (recording, _digest(recording.encode())):
            raise InputError(f"{path.name}: of another recording than header.json")
        try:
            counts = {name: int(about.get(name, 0)) for name in ("seen", "recorded", "dropped", "failed")}
            settings = json.loads(about.get("settings", "[]"))
        except ValueError as error:
            raise InputError(f"{path.name}: metadata that cannot be read ({error})") from None
        if not isinstance(settings, list):
            raise InputError(f"{path.name}: settings {settings!r}, expected a list")
        for one in settings:
            checked_numbers(one, path.name)
        shard = Shard(path.name, counts, about.get("error", ""), settings, arrays)
        _checked(shard, self.header)
        return shard


def _signed(values: np.ndarray, what: str) -> np.ndarray:
    """Return unsigned numbers as signed ones, of which differences can be below 0. Raises: InputError beyond 2^63."""
    if values.dtype.kind != "u":
        return values
    if values.size and values.max() >= 2**63:
        raise InputError(f"{what} has {values.max()}, expected less than 2^63")
    return values.astype(np.int64)


def _digest(header: bytes) -> str:
    return hashlib.sha256(header).hexdigest()[:16]


ARRAYS = {
    "request": "steps", "place": "steps", "slot": "steps", "settings": "steps", "draft_offsets": "steps + 1",
    "draft_tokens": "drafts", "draft_parents": "drafts", "emitted_offsets": "steps + 1", "emitted": "emitted",
    "row_offsets": "rows + 1", "ids": "listed", "target": "listed", "draft": "listed", "draft_known": "rows",
    "natural": "rows", "rest_count": "rows", "rest_target": "rows", "rest_draft": "rows", "highest": "rows",
}  # fmt: skip
"""Arrays that every shard has, with the name of their first dimension."""

OPTIONAL = {
    "uniforms": "drafts", "logprobs": "emitted", "logits": "listed", "logits_rest": "rows",
    "history_offsets": "steps + 1", "history": "history",
}  # fmt: skip
"""Arrays that a shard may have. Of logits and of a history there are both or neither."""

REAL = ("target", "draft", "rest_target", "rest_draft", "highest", "uniforms", "logprobs", "logits", "logits_rest")
"""Arrays of real numbers; all others are of whole ones."""

COLUMNS = {"rest_target": (CLASSES,), "rest_draft": (CLASSES,), "highest": (2,)}
"""Further dimensions of the arrays that have some."""


def _checked(shard: Shard, header: Header) -> None:
    """Check sizes, ids and numbers. Raises: InputError naming the shard, the array and the step."""
    arrays, name = shard.arrays, shard.name
    if missing := sorted(ARRAYS.keys() - arrays.keys()):
        raise InputError(f"{name}: no array {missing[0]!r}; expected those of docs/recorded-steps.md")
    for one, other in (("logits", "logits_rest"), ("history", "history_offsets")):
        if (one in arrays) != (other in arrays):
            raise InputError(f"{name}: one of {one!r} and {other!r} alone, expected both or neither")
    for key in (ARRAYS | OPTIONAL).keys() & arrays.keys():
        values, real, more = arrays[key], key in REAL, COLUMNS.get(key, ())
        if values.dtype.kind not in ("f" if real else "iu") or values.ndim != 1 + len(more) or values.shape[1:] != more:
            words = f"{'real' if real else 'whole'} numbers" + (f" in {more[0]} columns" if more else "")
            raise InputError(f"{name}: {key} is {values.dtype} of shape {values.shape}, expected {words}")
    offsets = {
        n: arrays[n] for n in ("draft_offsets", "emitted_offsets", "row_offsets", "history_offsets") if n in arrays
    }
    for key, values in offsets.items():
        if len(values) == 0 or values[0] != 0 or (np.diff(values) < 0).any():
            raise InputError(f"{name}: {key} does not rise from 0")
    steps = len(arrays["request"])
    drafts, emitted, listed = (int(offsets[f"{n}_offsets"][-1]) for n in ("draft", "emitted", "row"))
    sizes = {"steps": steps, "steps + 1": steps + 1, "drafts": drafts, "emitted": emitted, "rows": drafts + steps,
             "rows + 1": drafts + steps + 1, "listed": listed,
             "history": int(offsets.get("history_offsets", np.zeros(1))[-1])}  # fmt: skip
    for key, size in (ARRAYS | OPTIONAL).items():
        if key in arrays and len(arrays[key]) != sizes[size]:
            raise InputError(f"{name}: {key} has {len(arrays[key])} entries, expected {sizes[size]} ({size})")
    which = arrays["settings"]
    if len(which) and not -1 <= which.min() <= which.max() < len(shard.settings):
        raise InputError(f"{name}: settings number {which.max()}, expected -1..{len(shard.settings) - 1}")
    for key in ("draft_tokens", "ids"):
        outside = np.flatnonzero((arrays[key] < 0) | (arrays[key] >= header.vocabulary))
        if len(outside):
            token = arrays[key][outside[0]]
            raise InputError(f"{name}: {key} has the token {token}, expected 0..{header.vocabulary - 1}")
    parents, lengths = arrays["draft_parents"], np.diff(offsets["draft_offsets"])
    place = np.arange(drafts) - np.repeat(offsets["draft_offsets"][:-1], lengths)
    behind = np.flatnonzero((parents < -1) | (parents >= place))
    if len(behind):
        step, k = np.repeat(np.arange(steps), lengths)[behind[0]], place[behind[0]]
        raise InputError(
            f"{name}: step {step}, drafted token {k} has the parent {parents[behind[0]]}, expected -1..{k - 1}"
        )
    listed_of = np.diff(offsets["row_offsets"])
    most = {"draft_known": UNKNOWN, "natural": listed_of, "rest_count": header.vocabulary - listed_of}
    for key, limit in most.items():
        if len(wrong := np.flatnonzero((arrays[key] < 0) | (arrays[key] > limit))):
            raise InputError(f"{name}: {key} of row {wrong[0]} is {arrays[key][wrong[0]]}, expected 0 to "
                             f"{np.broadcast_to(limit, drafts + steps)[wrong[0]]}")  # fmt: skip
    longer = np.flatnonzero(np.diff(offsets["emitted_offsets"]) > np.diff(offsets["draft_offsets"]) + 1)
    if len(longer):
        step = longer[0]
        counts = [len(shard.cut(key, step)) for key in ("emitted", "draft_tokens")]
        raise InputError(
            f"{name}: step {step} emitted {counts[0]} tokens of {counts[1]} drafted, expected one more at most"
        )


def row_sums(shard: Shard) -> np.ndarray:
    """Return the sums of the target's and the draft's rows, [rows, 2]; NaN for a row with an entry that is NaN or below
    0."""
    arrays = shard.arrays
    row_of = np.repeat(np.arange(len(arrays["natural"])), np.diff(arrays["row_offsets"]))
    sums = np.empty((len(arrays["natural"]), 2))
    for column, key in enumerate(("target", "draft")):
        listed, rest = arrays[key].astype(float), arrays[f"rest_{key}"].astype(float)
        wrong, below = ~(listed >= 0), ~((rest >= 0).all(1) & (arrays["highest"][:, column] >= 0))
        sums[:, column] = np.bincount(row_of, np.where(wrong, 0.0, listed), len(sums)) + rest.sum(1)
        sums[row_of[wrong], column] = sums[below, column] = np.nan
    return sums


class StepsPart(NamedTuple):
    """Some steps of a shard, as arrays: all of them chains, or all of them trees.

    places: [N], their places in the shard
    steps: rows divided by their sums
    matches: [N], whether what was emitted, less its last token, is what was drafted
    inside: [N], whether the last token emitted is in the vocabulary
    """

    places: np.ndarray
    steps: Steps
    matches: np.ndarray
    inside: np.ndarray


def parts(shard: Shard, header: Header, at_once: int = AT_ONCE, one_of: int = 1) -> Iterator[StepsPart]:
    """Yield the steps of a shard that emitted a token: chains, or no draft at all, and then trees; so many at a time.

    one_of: yield one in so many of each kind.
    Raises: InputError for a row that does not list the step's own tokens.
    """
    arrays = shard.arrays
    lengths, emitted = np.diff(arrays["draft_offsets"]), np.diff(arrays["emitted_offsets"])
    chain = np.arange(len(arrays["draft_tokens"])) - np.repeat(arrays["draft_offsets"][:-1], lengths) - 1
    broken = np.add.reduceat(np.append(arrays["draft_parents"] != chain, 0), arrays["draft_offsets"][:-1])
    trees, ends = (lengths > 0) & (broken > 0), _ends(arrays)
    for tree in (False, True):
        usable = np.flatnonzero((emitted > 0) & (trees == tree))[::one_of]
        size = max(1, at_once * 8 // (8 + int(lengths[usable].max(initial=0)))) if tree else at_once
        for start in range(0, len(usable), size):
            try:
                yield _part(arrays, header, usable[start : start + size], tree, ends)
            except InputError as error:
                raise InputError(f"{shard.name}: {error}") from None


def _ends(arrays: dict[str, np.ndarray]) -> np.ndarray:
    """Return after which steps of a shard their request does not go on, as far as their places say it, [N]."""
    request, place = arrays["request"], arrays["place"]
    order = np.argsort(request, kind="stable")
    before, after = order[:-1], order[1:]
    ends = place > 0
    ends[before[(request[before] == request[after]) & (place[after] >= place[before])]] = False
    return ends


def _part(
    arrays: dict[str, np.ndarray], header: Header, index: np.ndarray, tree: bool, final: np.ndarray
) -> StepsPart:  # fmt: skip
    starts, lengths = arrays["draft_offsets"][index], np.diff(arrays["draft_offsets"])[index]
    emitted = np.diff(arrays["emitted_offsets"])[index]
    count, gamma = len(index), int(lengths.max(initial=0))
    places = np.arange(gamma)
    inside = places < lengths[:, None]
    tokens, parents = np.full((count, gamma), -1), np.zeros((count, gamma), dtype=int)
    tokens[inside] = arrays["draft_tokens"][(starts[:, None] + places)[inside]]
    parents[inside] = arrays["draft_parents"][(starts[:, None] + places)[inside]] + 1
    at = arrays["emitted_offsets"][index]
    last = arrays["emitted"][at + emitted - 1].astype(int)
    before = np.full((count, gamma + 1), -1)
    seen = np.arange(gamma + 1) < (emitted - 1)[:, None]
    before[seen] = arrays["emitted"][(at[:, None] + np.arange(gamma + 1))[seen]]
    rows = _rows(arrays, starts + index, lengths)
    at_last = _found(rows.ids, np.repeat(last[:, None], gamma + 1, axis=1))
    at_token = found(rows.ids, parents, tokens)
    steps = Steps(header.vocabulary, lengths, tokens, emitted - 1, last, rows, at_token, at_last)
    listed = rows.ids[np.arange(count)[:, None], parents, at_token] == tokens
    ends = np.take_along_axis(rows.ids, at_last[..., None], 2)[..., 0] == last[:, None]
    missing = (inside & ~listed).any(1) | (~ends & (np.arange(gamma + 1) <= lengths[:, None])).any(1)
    if (missing := missing & (last < header.vocabulary)).any():
        raise InputError(f"step {index[missing.argmax()]}: a row does not list the step's own tokens")
    if tree:
        number = np.where(np.arange(gamma + 1) <= lengths[:, None], (starts + index)[:, None] + np.arange(gamma + 1), 0)
        certain = (arrays["draft_known"][number] == POINT_MASS) | (header.siblings == TOP)
        place = follow(firsts(parents, tokens)[1], tokens, before)
        steps = TreeSteps.of(replace(steps, emitted=np.maximum(place, 0)), parents, header.siblings, certain)
        return StepsPart(index, steps, place >= 0, last < header.vocabulary)
    matches = ((before[:, :gamma] == tokens) | ~seen[:, :gamma]).all(1)
    return StepsPart(index, replace(steps, final=final[index]), matches, last < header.vocabulary)


def _found(ids: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """Return the place of each token in the list of its row; 0 where it is not listed, as behind the last row."""
    return (ids == tokens[..., None]).argmax(-1)


def _rows(arrays: dict[str, np.ndarray], first: np.ndarray, lengths: np.ndarray) -> PairRows:
    """Return the rows first, first + 1, ... of each step, padded, divided by their sums."""
    count, gamma = len(first), int(lengths.max(initial=0))
    places = np.arange(gamma + 1)
    inside = places <= lengths[:, None]
    number = np.where(inside, first[:, None] + places, 0)
    starts, ends = arrays["row_offsets"][number], arrays["row_offsets"][number + 1]
    sizes = np.where(inside, ends - starts, 0)
    widest = int(sizes.max(initial=1))
    entries = np.arange(widest)
    listed = entries < sizes[..., None]
    flat = (starts[..., None] + entries)[listed]
    ids = np.full((count, gamma + 1, widest), -1)
    ids[listed] = arrays["ids"][flat]
    found, rest = {}, {}
    highest = np.where(inside[..., None], arrays["highest"][number], 0.0).astype(float)
    off = np.zeros((count, gamma + 1))
    for column, key in enumerate(("target", "draft")):
        values = np.zeros((count, gamma + 1, widest))
        values[listed] = arrays[key][flat]
        masses = np.where(inside[..., None], arrays[f"rest_{key}"][number], 0.0).astype(float)
        total = values.sum(-1) + masses.sum(-1)
        there = (total > 0) & (total < np.inf)
        sure = arrays["draft_known"][number] == POINT_MASS if key == "draft" else False  # 1 for each of its siblings
        off += np.where(there & ~np.asarray(sure), np.abs(total - 1), 0.0)
        total[~there] = 1.0
        highest[..., column] /= total
        found[key], rest[key] = values / total[..., None], masses / total[..., None]
    counts = np.where(inside, arrays["rest_count"][number], 0)
    natural = np.where(inside, arrays["natural"][number], widest)
    return PairRows(ids, found["target"], found["draft"], rest["target"], rest["draft"], counts, highest, natural, off)
