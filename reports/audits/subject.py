"""What is to be audited: a reference verifier, an installed adapter, or a third-party function."""

import ast
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from ...models.errors import InputError
from ...verifiers.adapters.convention_names import named
from ...verifiers.adapters.registry import ADAPTERS
from ...verifiers.registry import REFERENCES, Reference
from ...verifiers.trees.registry import IN_FLOATS, TREE_REFERENCES

FORM = "package.module:function, path/to/file.py:function"


class SubjectSpec(NamedTuple):
    """A verifier to audit.

    name: as given on the command line.
    reference: the reference verifier, if it is one.
    target: what the sandbox loads, as package.module:function or path/to/file.py:function.
    source: where it comes from, for the report.
    dtypes: to audit it in.
    array: what the rows arrive as; None to find out what the function takes.
    torch: whether torch is loaded before it.
    given_array: the array that the command line names.
    modifies_target: True for greedy block verification, which is judged as Lemma 8 states it.
    own_rule: name of draftproof's own rule for trees that it is, computed in the rows' dtype: its rounding is bounded.
    folders: places where the sandbox searches modules first.
    handed_over: the object that was handed over, if one was.
    program: whether the target is the command of a program that speaks JSON lines.
    conventions: by which it is called, where that is not the plain one (``CONVENTIONS``).
    """

    name: str
    reference: Reference | None = None
    target: str = ""
    source: str = ""
    dtypes: tuple[str, ...] = ("float64",)
    array: str | None = None
    torch: bool = False
    given_array: str | None = None
    modifies_target: bool = False
    own_rule: str | None = None
    folders: tuple[str, ...] = ()
    handed_over: Mapping[str, Any] | None = None
    program: bool = False
    conventions: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """Words that name it on the command line."""
        conventions = ("--convention", ",".join(self.conventions)) if self.conventions else ()
        return ("--exec", self.name) if self.program else (self.name, *conventions)


def program_from(command: str) -> SubjectSpec:
    """Return the subject that a command is. The program's first line says which dtype it takes."""
    return SubjectSpec(command, None, command, "a program", ("float64",), program=True)


def subject_from(
    name: str, array: str | None = None, dtypes: tuple[str, ...] = (), conventions: tuple[str, ...] = ()
) -> SubjectSpec:
    """Return the subject that a name on the command line means. Raises: InputError if the name is none."""
    if conventions:
        if name in REFERENCES or name in ADAPTERS or ":" not in name:
            raise InputError(f"{name}: takes no --convention; expected {FORM} with one")
        spec = subject_from(name, array or ("torch" if "vllm" in conventions else None), dtypes)
        return spec._replace(target=named(name, conventions), conventions=conventions)
    if name in REFERENCES:
        given = REFERENCES[name]
        return SubjectSpec(name, given, source=given.source, dtypes=("exact",), modifies_target=given.modifies_target)
    if name in ADAPTERS:
        adapter = ADAPTERS[name]
        dtypes = dtypes or adapter.dtypes
        modifies = adapter.modifies_target
        array = adapter.array or array
        torch = adapter.array == "torch"
        return SubjectSpec(name, None, adapter.target, adapter.source, dtypes, array, torch, modifies_target=modifies)
    if ":" in name:
        low = set(dtypes) & {"bfloat16", "float16"}
        array = array or ("torch" if low else None)
        return SubjectSpec(name, None, name, name, dtypes or ("float64",), array, array == "torch", array)
    if name in TREE_REFERENCES:
        paths = TREE_REFERENCES[name].shape == "paths"
        if "bfloat16" in dtypes:
            raise InputError(f"{name} computes in NumPy, which has no bfloat16; expected float64, float32 or float16")
        if dtypes and not paths:
            target = f"draftproof.verifiers.trees.in_floats:{name.replace('-', '_')}"
            own = name if name in IN_FLOATS else None
            return SubjectSpec(name, None, target, TREE_REFERENCES[name].source, dtypes, own_rule=own)
        lossy = "" if TREE_REFERENCES[name].lossless else ", a lossy one"
        raise InputError(
            f"{name} is one of our own rules for several drafts{lossy}: draftproof law {name} shows its exact "
            "distribution"
            + ("; no audit draws only independent paths" if paths else "; in floating point: --dtype float32")
        )
    if name.endswith(".py") and Path(name).is_file():
        raise InputError(
            f"{name} names a file and no function; expected one of {', '.join(_functions(Path(name))) or FORM}",
            "DP101",
        )
    if Path(name).is_dir():
        raise InputError(f"{name} is a folder; expected {FORM}", "DP101")
    known = [*REFERENCES, *ADAPTERS]
    meant = "".join(f"; did you mean {close}?" for close in get_close_matches(name, known, 1))
    expected = meant or f"; expected {FORM}, or one of {', '.join(known)}"
    raise InputError(f"{name!r} is not a subject{expected}", "DP101")


def statements_in(file: Path) -> list[ast.stmt]:
    """Return the statements of a file of Python, which is not run; none if it is no such file."""
    try:
        return ast.parse(file.read_text(encoding="utf-8")).body
    except (OSError, SyntaxError, ValueError, RecursionError):
        return []


def _functions(file: Path) -> list[str]:
    """Name a file's functions that take three arguments or more, as verifiers do, for the command line."""
    found = (d for d in statements_in(file) if isinstance(d, ast.FunctionDef))
    return [f"{file}:{d.name}" for d in found if len(d.args.args) >= 3]
