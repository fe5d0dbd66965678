"""The notebook extension: ``%load_ext draftproof``, and ``%%audit`` for the function that a cell defines."""

import ast
import builtins
import json
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from ...models.errors import InputError
from ...models.files import write_atomically
from ..audits.report import Report

FOLDER = "draftproof_cells"
"""Folder, below the current one, of the files that are made of audited cells."""

LEAST_ARGUMENTS = 3
"""Arguments of a function that is taken for a verifier."""


def audit_cell(shell: Any, line: str, cell: str) -> Report | None:
    """Run a cell, and audit the last function in it that may be a verifier; return its report.

    line: options of ``draftproof audit``, and the function's name if it is another one.
    The cell is written to a file with the imports of the notebook that it uses, so that the commands of the report
    find it again. Bad input is one line.
    """
    ran = shell.run_cell(cell)
    if not ran.success:
        return None
    try:
        words = shlex.split(line)
        named = words.pop(0) if words and words[0].isidentifier() else None
        name = named or _verifier(cell)
        file = _written(name, cell, shell.user_ns)
        return _audited([f"{file}:{name}", *words])
    except (InputError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return None


def _verifier(cell: str) -> str:
    """Return the name of the cell's last function of three arguments or more. Raises: InputError."""
    functions = [node for node in ast.parse(cell).body if isinstance(node, ast.FunctionDef)]
    found = [node.name for node in functions if len(node.args.args) >= LEAST_ARGUMENTS]
    if not found:
        raise InputError("the cell defines no function of three arguments or more; expected def verify(..) in it")
    return found[-1]


def _written(name: str, cell: str, notebook: dict[str, Any]) -> Path:
    """Write the cell, after the imports that it needs, to a file of its own. Raises: InputError."""
    imports = "; ".join(_imports(cell, notebook))
    file = Path(FOLDER) / f"{name}.py"
    try:
        file.parent.mkdir(exist_ok=True)
        write_atomically(file, f"{imports}\n{cell}" if imports else cell)
    except OSError as error:
        raise InputError(f"{file}: cannot be written ({error.strerror})") from None
    return file


def _imports(cell: str, notebook: dict[str, Any]) -> Iterator[str]:
    """Yield an import for each name that the cell takes from elsewhere in the notebook. Raises: InputError."""
    tree = ast.parse(cell)
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    own = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    own |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            own.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            own |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    for name in dict.fromkeys(node.id for node in names if node.id not in own):
        if name in notebook and not hasattr(builtins, name):
            yield _import_of(name, notebook[name])


def _import_of(name: str, value: Any) -> str:
    if isinstance(value, ModuleType):
        return f"import {value.__name__} as {name}"
    module, original = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    if module in (None, "__main__") or getattr(sys.modules.get(str(module)), original, None) is not value:
        raise InputError(f"{name} comes from another cell; define it in this one, so that its file is whole")
    return f"from {module} import {original} as {name}"


def _audited(words: list[str]) -> Report:
    """Return the report of ``draftproof audit``, whose lines are not shown: the report shows itself."""
    import click
    from IPython.utils.capture import capture_output

    from .audit import command

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.json"
        try:
            with capture_output(stderr=False):
                command.main(["--json", str(file), *words], "draftproof audit", standalone_mode=False)
        except SystemExit:
            pass  # its status is the report's verdict
        except click.ClickException as error:
            raise InputError(error.format_message()) from None
        return Report.from_json(json.loads(file.read_text(encoding="utf-8")))


def load(shell: Any) -> None:
    """Give a notebook, or IPython at a terminal, the magic %%audit."""
    from IPython.core.magic import no_var_expand

    @no_var_expand  # a problem's braces are no expressions
    def audit(line: str, cell: str) -> Report | None:
        return audit_cell(shell, line, cell)

    shell.register_magic_function(audit, "cell", "audit")
