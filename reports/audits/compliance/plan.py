"""The plan of a compliance document: what is required, which parts are to show it, and what those parts gave."""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Union

import msgspec
from msgspec import Meta

from ....models.errors import InputError, of_kind
from ....models.files import load_toml
from ....models.json_files import convert, plain
from ....models.pairs.presets import PRESETS
from ....models.store import StoredRow
from ....proofs.statements import METHODS, PROVABLE_CLAIMS
from ....verifiers.claims import CLAIMS


def all_claims() -> dict[str, str]:
    """Return what a requirement can claim, with its statement: claims of audits, of end-to-end runs, of the papers."""
    return {name: claim.statement for name, claim in CLAIMS.items()} | PROVABLE_CLAIMS


def one_of(words: Iterable[str]) -> Meta:
    return Meta(pattern=f"^({'|'.join(words)})$")


Id = Annotated[str, Meta(pattern="^[A-Za-z][A-Za-z0-9_-]{0,39}$")]
Text = Annotated[str, Meta(pattern=r"\S")]
Texts = Annotated[list[Text], Meta(min_length=1)]
Count = Annotated[int, Meta(ge=1)]
Whole = Annotated[int, Meta(ge=0)]
Positive = Annotated[float, Meta(gt=0)]
AtLeast0 = Annotated[float, Meta(ge=0)]
Variation = Annotated[float, Meta(gt=0, lt=1)]
Dtypes = Annotated[list[Literal["float64", "float32", "float16", "bfloat16"]], Meta(min_length=1)]


SAMPLING = {"seed": Whole, "samples": Count, "timeout": Positive}
LOOP = {"gamma": Count, "temperature": AtLeast0, "top_k": Whole, "top_p": Positive, **SAMPLING}
FUNCTION = {"subject": Text, "array": Text, "files": Texts, **SAMPLING}

FIELDS: dict[str, dict[str, Any]] = {
    "audit": {"exec": Text, "dtypes": Dtypes, "problems": Texts, "quick": bool, **FUNCTION},
    "engine": {"engine": Text, "problems": Texts, "plain": bool, "settings": dict, "files": Texts, **SAMPLING},
    "server": {"url": Text, "target": Text, "model": Text, "kinds": Texts, "at_once": Count, "fields": dict, **LOOP},
    "nightly": {"file": Text, "db": Text},
    "e2e": {
        "target": Text, "draft": Text, "preset": Annotated[str, one_of(PRESETS)], "verifier": Text, "device": Text,
        "dtype": Text, "prompts": Text,
        "new_tokens": Count, "batch": Count, "files": Texts, **LOOP,
    },
    "campaign": {"problem": Text, "dtype": Text, "workers": Count, "chunk": Count, **FUNCTION},
    "report": {"file": Text},
    "proofs": {
        "run": bool, "claims": list[Annotated[str, one_of(PROVABLE_CLAIMS)]],
        "methods": list[Annotated[str, one_of(METHODS)]],
    },
}  # fmt: skip
"""Kinds of parts and the fields of each; ``files`` are further files that its result depends on."""

ONE_OF: dict[str, tuple[str, ...]] = {
    "audit": ("subject", "exec"), "engine": ("engine",), "server": ("url",), "nightly": ("file", "db"),
    "e2e": ("preset", "target"), "campaign": ("subject",), "report": ("file",),
}  # fmt: skip
"""Fields of which a kind of part needs exactly one."""

REQUIRED = {"campaign": ("problem", "samples"), "server": ("target",)}
"""Fields that a kind of part needs, each of them."""


class PlanTable(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """A table of a plan; a field that it does not give is None."""


class Scope(PlanTable, frozen=True):
    """The facts that a requirement can ask its evidence to speak of."""

    subject: Text | None = None
    dtype: Text | None = None
    temperature: AtLeast0 | None = None
    top_k: Whole | None = None
    top_p: Positive | None = None
    device: Text | None = None
    digest: Text | None = None
    versions: Annotated[dict[str, Text], Meta(min_length=1)] | None = None


SCOPE = Scope.__struct_fields__


class RequirementTable(Scope, frozen=True, kw_only=True):
    id: Id
    statement: Text
    claim: Text
    parts: Texts | None = None
    detection_limit: Variation | None = None


class Title(msgspec.Struct, forbid_unknown_fields=True):
    title: Text


def _part_table(kind: str, fields: Mapping[str, Any]) -> Any:
    given = ((name, type_ | None, None) for name, type_ in fields.items())
    return msgspec.defstruct(kind, [("id", Id), *given], bases=(PlanTable,), tag_field="kind", tag=kind)


AnyPart: Any = Union
PARTS = AnyPart[tuple(_part_table(kind, fields) for kind, fields in FIELDS.items())]

TABLES = [
    ("plan", Title),
    ("requirement", Annotated[list[RequirementTable], Meta(min_length=1)]),
    ("part", list[PARTS], []),
]
PlanTables: Any = msgspec.defstruct("PlanTables", TABLES, forbid_unknown_fields=True)
"""The form of a plan's file."""


class Part(msgspec.Struct, frozen=True):
    """A source of evidence. id: its name. kind: a key of PARTS. options: its other fields, as checked."""

    id: str
    kind: str
    options: dict[str, Any] = {}

    @property
    def what(self) -> str:
        """Return what is examined, as the plan names it."""
        names = ("subject", "exec", "engine", "url", "file", "db", "preset", "target")
        return str(next((self.options[name] for name in names if name in self.options), "the papers' statements"))


class Requirement(msgspec.Struct, frozen=True):
    """A statement that has to be shown.

    id, statement: its number and its text, as the document shows them.
    claim: a key of ``all_claims``.
    parts: the parts whose evidence is asked for, all of them.
    scope: field of Scope -> what the evidence must speak of.
    detection_limit: the largest total variation that samples may leave unseen; None where none is stated.
    """

    id: str
    statement: str
    claim: str
    parts: tuple[str, ...] = ()
    scope: dict[str, Any] = {}
    detection_limit: float | None = None


class Plan(msgspec.Struct, frozen=True):
    """A plan that was read. folder: that of its file; names of files in it are relative to that."""

    title: str
    parts: tuple[Part, ...]
    requirements: tuple[Requirement, ...]
    folder: Path
    source: bytes


@of_kind("DP207")
def load_plan(file: str | Path) -> Plan:
    """Return the plan in a file.

    Raises: InputError for what has another form; with a line for each thing that does not fit together.
    """
    path = Path(file)
    data = load_toml(path)
    _require_printable(data, str(file))
    tables = convert(PlanTables, data, str(file))
    parts, required = [_part(table) for table in tables.part], [_requirement(table) for table in tables.requirement]
    ids = {part.id for part in parts}
    wrong = [*_repeated("part", parts), *_repeated("requirement", required)]
    wrong += [f"part {part.id}: {line}" for part in parts for line in _unfit(part.kind, part.options)]
    wrong += [f"requirement {r.id}: {line}" for r in required for line in _overstated(r)]
    wrong += [f"requirement {r.id}: no part {name!r}" for r in required for name in r.parts if name not in ids]
    if wrong:
        raise InputError("\n".join(f"{file}: {line}" for line in wrong))
    return Plan(tables.plan.title, tuple(parts), tuple(required), path.resolve().parent, path.read_bytes())


def _part(table: msgspec.Struct) -> Part:
    options = msgspec.to_builtins(table)
    return Part(options.pop("id"), options.pop("kind"), options)


def _requirement(table: msgspec.Struct) -> Requirement:
    given = msgspec.to_builtins(table)
    scope = {name: given.pop(name) for name in SCOPE if name in given}
    return Requirement(**given | {"parts": tuple(given.get("parts", ()))}, scope=scope)


def _require_printable(value: Any, where: str) -> None:
    """Check a value for control characters and numbers that are not finite. Raises: InputError."""
    if isinstance(value, dict):
        for name, one in value.items():
            _require_printable(name, where)
            _require_printable(one, f"{where}: {name}")
    elif isinstance(value, list):
        for one in value:
            _require_printable(one, where)
    elif isinstance(value, str) and not value.isprintable():
        raise InputError(f"{where} is {value!r}, expected a line of text")
    elif isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{where} is {value}, expected a number")


def _unfit(kind: str, given: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the fields of a part together."""
    if kind in ONE_OF and sum(field in given for field in ONE_OF[kind]) != 1:
        yield f"expected {' or '.join(ONE_OF[kind])}" + ", not both" * (len(ONE_OF[kind]) > 1)
    if kind == "e2e" and ("target" in given) != ("draft" in given):
        yield "expected target with draft"
    yield from (f"{missing} is missing" for missing in REQUIRED.get(kind, ()) if missing not in given)


def _overstated(required: Requirement) -> Iterator[str]:
    """Yield a claim that is not known, and each dtype or temperature that only the statement names."""
    if required.claim not in all_claims():
        yield f"no claim {required.claim!r}; expected one of {', '.join(all_claims())}"
    named = set(re.findall(r"\b(?:b?float16|float32|float64)\b", required.statement))
    if named and named != {required.scope.get("dtype")}:
        numbers = " and ".join(sorted(named))
        yield f"its statement says {numbers}; expected the same as dtype, and a requirement for each"
    for number in re.findall(r"\btemperature (?:of )?(\d+(?:\.\d+)?)", required.statement):
        if float(number) != required.scope.get("temperature"):
            yield f"its statement says temperature {number}; expected temperature = {number}"


def _repeated(what: str, entries: Sequence[Part | Requirement]) -> list[str]:
    """Return a line for each repeated id. Ids that differ in case alone would be one file on some systems."""
    low = [entry.id.lower() for entry in entries]
    return [f"{what} {entry.id} is given twice" for k, entry in enumerate(entries) if low[k] in low[:k]]


STATES = DONE, FAILED = "done", "failed"

Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class Collected(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The result of a part.

    what: what was examined, as the plan names it.
    state, why: done; or failed, with the reason why it was not run to its end.
    recorded: whether its proofs are those on record, not run now.
    files, versions: digests of the files and versions of the packages that the plan names for it: it is valid for
    these.
    report: in the form of report.schema.json. history: as ``draftproof nightly status --json``. proofs: as
    ``draftproof prove --json``.
    """

    id: Id
    kind: Annotated[str, one_of(FIELDS)]
    what: str
    options: dict[str, Any]
    state: Annotated[str, one_of(STATES)] = DONE
    why: str | None = None
    recorded: bool = False
    files: dict[str, Digest] = {}
    versions: dict[str, str] = {}
    report: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    history: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    proofs: list[dict[str, Any]] | msgspec.UnsetType = msgspec.UNSET

    @classmethod
    def of(cls, part: Part, **gave: Any) -> "Collected":
        """Return the result of a part, with what it gave."""
        return cls(id=part.id, kind=part.kind, what=part.what, options=part.options, **gave)

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> "Collected":
        """Return the result with a JSON form. Raises: InputError."""
        return convert(cls, data, "part")

    @property
    def part(self) -> Part:
        return Part(self.id, self.kind, self.options)

    def stored(self, code: str) -> StoredRow:
        """Return its row in the file of parts. code: the digest of draftproof's code that audits depend on."""
        about = [self.kind, self.options, self.files, self.versions, code]
        digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
        return StoredRow((self.id, digest), "", plain(self))
