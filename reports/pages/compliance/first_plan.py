"""A first plan, with comments: what is installed, and the verifiers and histories in a folder."""

import ast
import json
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from ....verifiers.adapters.registry import ADAPTERS, ENGINES
from ...audits.compliance.plan import FIELDS, SCOPE
from ...audits.nightly import DEFAULT_FILE
from ...audits.subject import statements_in

ARGUMENTS = ["target_probs", "draft_probs", "draft_tokens"]
"""First arguments by which a function is taken for a verifier."""


def first_plan(folder: Path) -> str:
    """Return a plan's text for what is installed and what a folder has. Nothing in the folder is run or imported."""
    loader = PackageLoader("draftproof.reports.pages.compliance", ".")
    made = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters["quoted"] = _quoted
    return made.get_template("plan.toml.j2").render(
        scope=SCOPE,
        kinds=FIELDS,
        verifiers=_verifiers_in(folder),
        adapters=[name for name, adapter in ADAPTERS.items() if not adapter.missing()],
        engines=ENGINES,
        history=DEFAULT_FILE if (folder / DEFAULT_FILE).is_file() else "",
    )


def _quoted(text: str) -> str:
    """Return a text of TOML. JSON writes it in a way that TOML reads as the same."""
    return json.dumps(text, ensure_ascii=False)


def _verifiers_in(folder: Path) -> list[str]:
    """Return file.py:function for each function in a folder that takes the arguments of a verifier."""
    found = []
    for file in sorted(file for file in folder.glob("*.py") if file.name.isprintable()):
        functions = [node for node in statements_in(file) if isinstance(node, ast.FunctionDef)]
        of_verifiers = [f for f in functions if [argument.arg for argument in f.args.args[:3]] == ARGUMENTS]
        found += [f"{file.name}:{function.name}" for function in of_verifiers]
    return found
