"""The plan of a compliance document: what is required, which parts are to show it, and what those parts gave."""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ....models.errors import InputError
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
        "target": Text, "draft": Text, "preset": Text, "verifier": Text, "device": Text, "dtype": Text, "prompts": Text,
        "new_tokens": Count, "batch": Count, "files": Texts, **LOOP,
    },
    "campaign": {"problem": Text, "dtype": Text, "workers": Count, "chunk": Count, "batch": Count, **FUNCTION},
    "report": {"file": Text},
    "proofs": {"run": bool, "claims": Texts, "methods": Texts},
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


def _part_table(kind: str, fields: Mapping[str, Any]) -> type[msgspec.Struct]:
    given = ((name, type_ | None, None) for name, type_ in fields.items())
    return msgspec.defstruct(kind, [("id", Id), ("kind", str), *given], bases=(PlanTable,))


PARTS = {kind: _part_table(kind, fields) for kind, fields in FIELDS.items()}


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


class PlanTables(msgspec.Struct, forbid_unknown_fields=True):
    plan: Title
    requirement: Annotated[list[dict[str, Any]], Meta(min_length=1)]
    part: list[dict[str, Any]] = []


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


def load_plan(file: str | Path) -> Plan:
    """Return the plan in a file. Raises: InputError with a line for each thing that is wrong in it."""
    path = Path(file)
    tables = convert(PlanTables, load_toml(path), str(file))
    _require_printable(tables.plan.title, f"{file}: title")
    wrong: list[str] = []
    parts = [part for k, entry in enumerate(tables.part, 1) if (part := _part(entry, f"{file}: part {k}", wrong))]
    made = (_requirement(entry, f"{file}: requirement {k}", wrong) for k, entry in enumerate(tables.requirement, 1))
    required = [requirement for requirement in made if requirement]
    wrong += [f"{file}: {line}" for line in (*_repeated("part", parts), *_repeated("requirement", required))]
    ids = {part.id for part in parts}
    wrong += [f"{file}: requirement {r.id}: no part {name!r}" for r in required for name in r.parts if name not in ids]
    if wrong:
        raise InputError("\n".join(wrong))
    return Plan(tables.plan.title, tuple(parts), tuple(required), path.resolve().parent, path.read_bytes())


def _part(entry: dict[str, Any], where: str, wrong: list[str]) -> Part | None:
    kind = entry.get("kind")
    if not isinstance(kind, str) or kind not in PARTS:
        wrong.append(f"{where}: kind is {kind!r}, expected one of {', '.join(PARTS)}")
        return None
    options = _checked(PARTS[kind], entry, where, wrong)
    return Part(options.pop("id"), options.pop("kind"), options) if options else None


def _requirement(entry: dict[str, Any], where: str, wrong: list[str]) -> Requirement | None:
    given = _checked(RequirementTable, entry, where, wrong)
    if not given:
        return None
    scope = {name: value for name, value in given.items() if name in SCOPE}
    about = given["id"], given["statement"], given["claim"], tuple(given.get("parts", ()))
    return Requirement(*about, scope, given.get("detection_limit"))


def _checked(kind: type[msgspec.Struct], entry: dict[str, Any], where: str, wrong: list[str]) -> dict[str, Any]:
    """Return the fields of an entry; none if something is wrong in it, with a line for each field or for the whole."""
    where += f" ({entry['id']!r})" if isinstance(entry.get("id"), str) else ""
    fields, before = {field.name: field.type for field in msgspec.structs.fields(kind)}, len(wrong)
    for name in filter(fields.get, entry):
        try:
            convert(fields[name], entry[name], f"{where}: {name} is {entry[name]!r}")
            _require_printable(entry[name], f"{where}: {name}")
        except InputError as refused:
            wrong.append(str(refused))
    if len(wrong) > before:
        return {}
    try:
        given = msgspec.to_builtins(convert(kind, entry, where))
    except InputError as refused:
        wrong.append(str(refused))
        return {}
    wrong += [f"{where}: {line}" for line in _unfit(given)]
    return given


def _require_printable(value: Any, where: str) -> None:
    """Check a value for control characters and numbers that are not finite. Raises: InputError."""
    if isinstance(value, (dict, list)):
        for one in [*value, *(value.values() if isinstance(value, dict) else ())]:
            _require_printable(one, where)
    elif isinstance(value, str) and not value.isprintable():
        raise InputError(f"{where} is {value!r}, expected a line of text")
    elif isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{where} is {value}, expected a number")


def _unfit(given: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with fields together, and with names that are not known."""
    kind = given.get("kind", "")
    if kind in ONE_OF and sum(field in given for field in ONE_OF[kind]) != 1:
        yield f"expected {' or '.join(ONE_OF[kind])}" + ", not both" * (len(ONE_OF[kind]) > 1)
    if kind == "e2e" and ("target" in given) != ("draft" in given):
        yield "expected target with draft"
    yield from (f"{missing} is missing" for missing in REQUIRED.get(kind, ()) if missing not in given)
    known = {"e2e": [("preset", PRESETS)], "proofs": [("claims", PROVABLE_CLAIMS), ("methods", METHODS)]}
    for name_of, names in known.get(kind, [] if kind else [("claim", all_claims())]):
        asked = given.get(name_of, [])
        for name in [asked] if isinstance(asked, str) else asked:
            if name not in names:
                yield f"no {name_of.removesuffix('s')} {name!r}; expected one of {', '.join(names)}"
    if not kind:
        yield from _overstated(given)


def _overstated(given: Mapping[str, Any]) -> Iterator[str]:
    """Yield each dtype or temperature that the statement names and the requirement does not ask for."""
    named = set(re.findall(r"\b(?:b?float16|float32|float64)\b", given["statement"]))
    if named and named != {given.get("dtype")}:
        numbers = " and ".join(sorted(named))
        yield f"its statement says {numbers}; expected the same as dtype, and a requirement for each"
    for number in re.findall(r"\btemperature (?:of )?(\d+(?:\.\d+)?)", given["statement"]):
        if float(number) != given.get("temperature"):
            yield f"its statement says temperature {number}; expected temperature = {number}"


def _repeated(what: str, entries: Sequence[Part | Requirement]) -> list[str]:
    """Return a line for each repeated id. Ids that differ in case alone would be one file on some systems."""
    low = [entry.id.lower() for entry in entries]
    return [f"{what} {entry.id} is there twice" for k, entry in enumerate(entries) if low[k] in low[:k]]


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
