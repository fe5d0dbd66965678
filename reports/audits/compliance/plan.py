"""The plan of a compliance document: what is required, and the parts that are to give evidence for it."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ....models.errors import InputError
from ....models.files import load_toml
from ....models.pairs.presets import PRESETS, TRAINED
from ....proofs.statements import METHODS, PROVABLE_CLAIMS
from ....verifiers.evidence import BATCH_CLAIMS, CLAIMS, LOOP_CLAIMS

PLAN_FILE = "compliance.toml"

ALL_CLAIMS = {**CLAIMS, **BATCH_CLAIMS, **LOOP_CLAIMS, **PROVABLE_CLAIMS}
"""What a requirement can claim: of audits, of end-to-end runs, of the papers' statements."""

ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")


@dataclass(frozen=True)
class Part:
    """What gives evidence.

    id: its name, and that of its file in the folder of the run.
    kind: a key of PART_FIELDS.
    options: its fields, as checked.
    """

    id: str
    kind: str
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def what(self) -> str:
        """What is examined, as the plan names it."""
        names = ("subject", "exec", "engine", "url", "file", "db", "preset", "target")
        return str(next((self.options[name] for name in names if name in self.options), "the papers' statements"))


@dataclass(frozen=True)
class Requirement:
    """What has to be shown.

    id, statement: its number and its text, as the document shows them.
    claim: a key of ALL_CLAIMS.
    parts: the parts whose evidence is asked for, all of them.
    scope: field of SCOPE_FIELDS -> what the evidence must speak of.
    detection_limit: the largest total variation that samples may leave unseen; None where none is stated.
    """

    id: str
    statement: str
    claim: str
    parts: tuple[str, ...] = ()
    scope: dict[str, Any] = field(default_factory=dict)
    detection_limit: float | None = None


@dataclass(frozen=True)
class Plan:
    """A plan that was read. folder: that of its file; names of files in it are relative to that."""

    title: str
    parts: tuple[Part, ...]
    requirements: tuple[Requirement, ...]
    folder: Path
    source: bytes


Kind = tuple[str, Callable[[Any], bool]]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()


TEXT: Kind = ("a line of text", _is_text)
TEXTS: Kind = ("a list of texts", lambda v: isinstance(v, list) and bool(v) and all(map(_is_text, v)))
FLAG: Kind = ("true or false", lambda v: isinstance(v, bool))
COUNT: Kind = ("a whole number of at least 1", lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= 1)
SEED: Kind = ("a whole number of at least 0", lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= 0)
POSITIVE: Kind = ("a number above 0", lambda v: _is_number(v) and v > 0)
AT_LEAST_0: Kind = ("a number of at least 0", lambda v: _is_number(v) and v >= 0)
VARIATION: Kind = ("a total variation between 0 and 1", lambda v: _is_number(v) and 0 < v < 1)
TABLE: Kind = ("a table", lambda v: isinstance(v, dict))
VERSIONS: Kind = ("a table of texts", lambda v: isinstance(v, dict) and bool(v) and all(map(_is_text, v.values())))
DTYPES: Kind = (
    "a list of float64, float32, float16, bfloat16",
    lambda v: isinstance(v, list) and bool(v) and all(d in ("float64", "float32", "float16", "bfloat16") for d in v),
)
SAMPLING: dict[str, Kind] = {"seed": SEED, "samples": COUNT, "timeout": POSITIVE}

PART_FIELDS: dict[str, dict[str, Kind]] = {
    "audit": {"subject": TEXT, "exec": TEXT, "array": TEXT, "dtypes": DTYPES, "problems": TEXTS, "quick": FLAG, "files": TEXTS,
              **SAMPLING},
    "engine": {"engine": TEXT, "problems": TEXTS, "plain": FLAG, "settings": TABLE, "files": TEXTS, **SAMPLING},
    "server": {
        "url": TEXT, "target": TEXT, "model": TEXT, "gamma": COUNT, "kinds": TEXTS, "at_once": COUNT,
        "temperature": AT_LEAST_0, "top_k": SEED, "top_p": POSITIVE, "fields": TABLE, **SAMPLING,
    },
    "nightly": {"file": TEXT, "db": TEXT},
    "e2e": {
        "target": TEXT, "draft": TEXT, "preset": TEXT, "verifier": TEXT, "gamma": COUNT, "device": TEXT, "dtype": TEXT,
        "temperature": AT_LEAST_0, "top_k": SEED, "top_p": POSITIVE, "prompts": TEXT, "new_tokens": COUNT, "batch": COUNT,
        "files": TEXTS, **SAMPLING,
    },
    "campaign": {
        "subject": TEXT, "problem": TEXT, "array": TEXT, "dtype": TEXT, "workers": COUNT, "chunk": COUNT, "batch": COUNT,
        "files": TEXTS, **SAMPLING,
    },
    "report": {"file": TEXT},
    "proofs": {"run": FLAG, "claims": TEXTS, "methods": TEXTS},
}  # fmt: skip
"""The kinds of parts, and the fields of each."""

ONE_OF: dict[str, tuple[str, ...]] = {
    "audit": ("subject", "exec"), "engine": ("engine",), "server": ("url",), "nightly": ("file", "db"),
    "e2e": ("preset", "target"), "campaign": ("subject",), "report": ("file",),
}  # fmt: skip
"""Of these fields exactly one is needed."""

REQUIRED = {"campaign": ("problem", "samples"), "server": ("target",)}
"""Of these fields each is needed."""

SCOPE_FIELDS: dict[str, Kind] = {
    "subject": TEXT, "dtype": TEXT, "temperature": AT_LEAST_0, "top_k": SEED, "top_p": POSITIVE, "device": TEXT,
    "digest": TEXT, "versions": VERSIONS,
}  # fmt: skip
"""What the evidence of a requirement can be required to speak of."""

REQUIREMENT_FIELDS: dict[str, Kind] = {
    "id": TEXT, "statement": TEXT, "claim": TEXT, "parts": TEXTS, "detection_limit": VARIATION, **SCOPE_FIELDS,
}  # fmt: skip


def load_plan(file: str | Path) -> Plan:
    """The plan in a file. Raises: InputError with a line for each thing that is wrong in it."""
    path = Path(file)
    data = load_toml(path)
    wrong: list[str] = []
    parts = [_part(entry, k, wrong) for k, entry in enumerate(_tables(data, "part", wrong), 1)]
    required = [_requirement(entry, k, wrong) for k, entry in enumerate(_tables(data, "requirement", wrong), 1)]
    about = data.get("plan")
    title = about.get("title") if isinstance(about, dict) else None
    if not _is_text(title):
        wrong.append("expected a table [plan] with title, a line of text")
    elif unknown := sorted(set(about or {}) - {"title"}):
        wrong.append(f"[plan]: unknown {_list(unknown)}; expected title")
    if unknown := sorted(set(data) - {"plan", "part", "requirement"}):
        wrong.append(f"unknown {_list(unknown)}; expected [plan], [[part]] and [[requirement]]")
    known = [part for part in parts if part]
    requirements = [requirement for requirement in required if requirement]
    wrong += _repeated("part", [p.id for p in known]) + _repeated("requirement", [r.id for r in requirements])
    ids = {p.id for p in known}
    for requirement in requirements:
        wrong += [f"requirement {requirement.id}: no part {name!r}" for name in requirement.parts if name not in ids]
    if not required and "requirement" not in data:
        wrong.append("expected at least one [[requirement]]")
    if wrong:
        raise InputError("\n".join(f"{file}: {line}" for line in wrong))
    return Plan(str(title), tuple(known), tuple(requirements), path.resolve().parent, path.read_bytes())


def _tables(data: Mapping[str, Any], name: str, wrong: list[str]) -> list[dict[str, Any]]:
    entries = data.get(name, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        wrong.append(f"{name}: expected tables [[{name}]]")
        return []
    return entries


def _part(entry: dict[str, Any], number: int, wrong: list[str]) -> Part | None:
    options = {name: value for name, value in entry.items() if name not in ("id", "kind")}
    name, kind = _id(entry, f"part {number}", wrong), entry.get("kind")
    where = f"part {name or number}"
    if not isinstance(kind, str) or kind not in PART_FIELDS:
        wrong.append(f"{where}: kind is {kind!r}, expected one of {', '.join(PART_FIELDS)}")
        return None
    before = len(wrong)
    _check(options, PART_FIELDS[kind], where, wrong)
    if kind in ONE_OF and sum(field in options for field in ONE_OF[kind]) != 1:
        wrong.append(f"{where}: expected {' or '.join(ONE_OF[kind])}" + (", not both" if len(ONE_OF[kind]) > 1 else ""))
    if kind == "e2e" and ("target" in options) != ("draft" in options):
        wrong.append(f"{where}: expected target with draft")
    wrong += [f"{where}: {field} is missing" for field in REQUIRED.get(kind, ()) if field not in options]
    if kind == "e2e" and options.get("preset", TRAINED) not in PRESETS:
        wrong.append(f"{where}: no preset {options['preset']!r}; expected one of {', '.join(PRESETS)}")
    if kind == "proofs":
        wrong += [f"{where}: no claim {c!r}" for c in _texts(options, "claims") if c not in PROVABLE_CLAIMS]
        wrong += [f"{where}: no method {m!r}" for m in _texts(options, "methods") if m not in METHODS]
    return Part(name, kind, options) if name and len(wrong) == before else None


def _texts(options: Mapping[str, Any], name: str) -> Sequence[Any]:
    given = options.get(name, ())
    return given if isinstance(given, list) else ()


def _requirement(entry: dict[str, Any], number: int, wrong: list[str]) -> Requirement | None:
    name = _id(entry, f"requirement {number}", wrong)
    where, before = f"requirement {name or number}", len(wrong)
    _check(entry, REQUIREMENT_FIELDS, where, wrong)
    wrong += [f"{where}: {field} is missing" for field in ("statement", "claim") if field not in entry]
    claim = entry.get("claim")
    if _is_text(claim) and claim not in ALL_CLAIMS:
        wrong.append(f"{where}: no claim {claim!r}; expected one of {', '.join(ALL_CLAIMS)}")
    if not name or len(wrong) > before:
        return None
    wrong += [f"{where}: {line}" for line in _overstated(entry)]
    scope = {field: entry[field] for field in SCOPE_FIELDS if field in entry}
    limit = entry.get("detection_limit")
    return Requirement(name, entry["statement"], entry["claim"], tuple(entry.get("parts", ())), scope, limit)


def _overstated(entry: Mapping[str, Any]) -> Iterator[str]:
    """Where a statement names numbers or a temperature that the requirement does not ask its evidence to speak of."""
    named = set(re.findall(r"\b(?:b?float16|float32|float64)\b", entry["statement"]))
    if named and named != {entry.get("dtype")}:
        yield f"its statement says {' and '.join(sorted(named))}; expected the same as dtype, and a requirement for each"
    for number in re.findall(r"\btemperature (?:of )?(\d+(?:\.\d+)?)", entry["statement"]):
        if float(number) != entry.get("temperature"):
            yield f"its statement says temperature {number}; expected temperature = {number}"


def _id(entry: Mapping[str, Any], where: str, wrong: list[str]) -> str:
    name = entry.get("id")
    if isinstance(name, str) and ID.fullmatch(name):
        return name
    wrong.append(f"{where}: id is {name!r}, expected a letter, then up to 39 letters, digits, - or _")
    return ""


def _check(entry: Mapping[str, Any], fields: Mapping[str, Kind], where: str, wrong: list[str]) -> None:
    for name, value in entry.items():
        if name not in fields:
            wrong.append(f"{where}: unknown {name!r}; expected {', '.join(fields)}")
        elif name != "id" and not fields[name][1](value):
            wrong.append(f"{where}: {name} is {value!r}, expected {fields[name][0]}")


def _repeated(what: str, ids: Sequence[str]) -> list[str]:
    """Ids that differ in case alone would be one file on some systems."""
    low = [name.lower() for name in ids]
    return [f"{what} {name} is there twice" for k, name in enumerate(ids) if name.lower() in low[:k]]


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
