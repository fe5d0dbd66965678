"""Functions of an engine, lifted by name out of files that cannot be imported whole; every edit is recorded.

An engine is unpacked, not installed: ``make engines`` puts each distribution into a folder of its own, without what it
depends on, so that pins cannot clash. Nothing of it is in this repository.
"""

import __future__

import ast
import hashlib
import inspect
import linecache
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from email.parser import HeaderParser
from pathlib import Path
from typing import Any, NamedTuple

from draftproof.verifiers.adapters.calling_convention import NotASubject, declare
from draftproof.verifiers.adapters.protocol import BatchedAdapter
from draftproof.verifiers.adapters.registry import engine_folder, not_installed
from draftproof.verifiers.triton_kernels.interpreting import set_up


class Edit(NamedTuple):
    """Text of an engine that is replaced. why: it is, in words."""

    old: str
    new: str
    why: str


class Lifted(NamedTuple):
    """What was taken from a file.

    functions: by name. text: as it runs, with the edits in it.
    record: engine, version, file, its digest, names and edits, for the report.
    """

    functions: dict[str, Any]
    text: str
    record: dict[str, Any]


def version_of(engine: str) -> str | None:
    """Return the version in the distribution's metadata; None if it is not unpacked."""
    folder = engine_folder(engine)
    for file in [folder / "PKG-INFO", *sorted(folder.glob(f"{engine.replace('-', '_')}*.dist-info/METADATA"))]:
        if file.is_file():
            return HeaderParser().parsestr(file.read_text(encoding="utf-8"), headersonly=True)["Version"]
    return None


def engine_file(engine: str, path: str) -> Path:
    """Return a file of an engine. Raises: NotASubject if it is not there."""
    file = engine_folder(engine) / path
    if file.is_file():
        return file
    version = version_of(engine)
    there = f"{engine} {version}" if version else f"{engine_folder(engine)}" if engine_folder(engine).is_dir() else ""
    has = f"{there} has no {path}" if there else f"{engine} is not in {engine_folder(engine)}"
    raise NotASubject(f"{has}; expected a version that was tried: make engines unpacks one")


def names_in(engine: str, path: str) -> list[str]:
    """Return the functions and the constants at the top of a file of an engine, whatever its release calls them."""
    body = ast.parse(engine_file(engine, path).read_text(encoding="utf-8")).body
    named = [node.name for node in body if isinstance(node, ast.FunctionDef)]
    for node in body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, (ast.Constant, ast.UnaryOp)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            named += [target.id for target in targets if isinstance(target, ast.Name)]
    return named


def lift(
    engine: str, path: str, names: Sequence[str], given: Mapping[str, Any], edits: Sequence[Edit] = (),
    repairs: Sequence[Edit] = (), annotations: bool = True,
) -> Lifted:  # fmt: skip
    """Run the definitions of these names alone, with what they refer to given in place of the file's imports.

    names: functions and variables at the top of the file; none: all that it defines. given: name -> value.
    edits: of the definitions. repairs: of a file that does not parse, before it is parsed.
    annotations: whether they are evaluated, so that the names in them have to be given.
    Raises: NotASubject if the file, a name or the text of an edit is missing, or if the file does not parse.
    """
    file = engine_file(engine, path)
    source, where = file.read_text(encoding="utf-8"), f"{engine} {version_of(engine)}: {path}"
    text = _definitions(edited(source, repairs, where), names, where)
    text = edited(text, edits, where)
    place = f"<{engine}: {path}>"
    linecache.cache[place] = len(text), None, text.splitlines(keepends=True), place  # inspect reads sources there
    functions = dict(given) | {"__name__": f"lifted_from_{engine}".replace("-", "_")}
    lazily = 0 if annotations else __future__.annotations.compiler_flag
    exec(compile(text, place, "exec", lazily, dont_inherit=True), functions)
    record = recorded(engine, path, names, source, given, [*repairs, *edits])
    return Lifted(functions, text, record)


def recorded(
    engine: str, path: str, names: Sequence[str], source: str, given: Mapping[str, Any], edits: Sequence[Edit]
) -> dict[str, Any]:
    """Return what a report says of a file of an engine that was lifted from. source: the file's text."""
    return {
        "engine": engine, "version": version_of(engine), "file": path, "names": list(names),
        "digest": "sha256:" + hashlib.sha256(source.encode()).hexdigest(),
        "given": sorted(given), "edits": [edit._asdict() for edit in edits],
    }  # fmt: skip


def edited(text: str, edits: Sequence[Edit], where: str) -> str:
    """The text with these edits. Raises: NotASubject if it lacks what one of them replaces. where: it is from."""
    for edit in edits:
        if edit.old not in text:
            raise NotASubject(f"{where} has no {edit.old!r}; expected a version that has")
        text = text.replace(edit.old, edit.new)
    return text


def _definitions(source: str, names: Sequence[str], where: str) -> str:
    lines, parts, missing = source.splitlines(keepends=True), [], set(names)
    try:
        parsed = ast.parse(source)
    except SyntaxError as error:
        raise NotASubject(f"{where} does not parse: {error.msg}, line {error.lineno}") from None
    for node in parsed.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            defined, start = {node.name}, min([node.lineno, *(d.lineno for d in node.decorator_list)])
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            defined, start = {t.id for t in targets if isinstance(t, ast.Name)}, node.lineno
        else:
            continue
        if not names or defined & missing:
            parts.append("".join(lines[start - 1 : node.end_lineno]))
            missing -= defined
    if missing:
        raise NotASubject(f"{where} has no {', '.join(sorted(missing))}; expected a version that was tried")
    return "\n\n".join(parts)


def require_parameters(function: Callable, names: Sequence[str], what: str) -> None:
    """Raises: NotASubject that says which parameters a function has and which were expected."""
    has = list(inspect.signature(function).parameters)
    if set(names) - set(has):
        raise NotASubject(f"{what} takes ({', '.join(has)}); expected {', '.join(names)}")


def adapted(
    called: Callable[..., Any], *lifted: Lifted, rows_in_use: Callable[[Any], Any] | None, bonus: str
) -> Callable:
    """Return a function of the plain convention around lifted ones. bonus: where the bonus token is drawn."""
    text, origin = "".join(one.text for one in lifted), {"lifted": [one.record for one in lifted], "bonus": bonus}
    return declare(called, array="torch", published=lambda: text, rows_in_use=rows_in_use, origin=origin)


class LiftedAdapter(BatchedAdapter):
    """A batched adapter of lifted functions."""

    array, batch = "torch", 64

    def describe(self, *lifted: Lifted, **facts: Any) -> None:
        """Keep the text and the record of what was lifted. facts: more for the report."""
        self.text, self.origin = (
            "".join(one.text for one in lifted),
            {"lifted": [one.record for one in lifted], **facts},
        )

    def published(self) -> str:
        """Return the text that an audit identifies."""
        return self.text


def use_triton() -> Any:
    """Triton under its interpreter: installed, or in its own folder. Raises: NotASubject if it is in neither."""
    os.environ["TRITON_INTERPRET"] = "1"  # read when it is imported
    if not_installed(["triton"]):
        engine_file("triton", "triton/__init__.py")
        sys.path.append(str(engine_folder("triton")))
    import triton  # pyright: ignore[reportMissingImports]
    from triton.runtime import interpreter  # pyright: ignore[reportMissingImports]

    set_up(interpreter)
    return triton
