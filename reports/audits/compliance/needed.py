"""The packages and files that a part of a plan needs, known before any part is run."""

from pathlib import Path

from ....models.errors import InputError
from ....models.libraries import require
from ....proofs.statements import METHODS
from ....verifiers.adapters.engines import ENGINES
from ....verifiers.adapters.registry import ADAPTERS
from ..subject import subject_from
from .plan import Part, Plan

PACKAGES = {
    "server": (("httpx2",), "servers"),
    "e2e": (("torch", "transformers"), "transformers"),
    "report": (("jsonschema",), "compliance"),
}
"""kind of part -> the packages that each of that kind needs, and the extra of draftproof that installs them."""

FILES = (".py", ".json", ".txt", ".jsonl")
"""Endings of names that are files, and nothing else."""


def packages_needed(part: Part) -> tuple[tuple[str, ...], str]:
    """The packages that a part needs besides those of every audit, and the extra that installs them."""
    options = part.options
    name = str(options.get("subject", options.get("engine", "")))
    if entry := ADAPTERS.get(name) or ENGINES.get(name):
        return entry.packages, entry.extra
    if part.kind in ("audit", "campaign") and ":" in name:
        dtypes = (*options.get("dtypes", ()), options.get("dtype", "float64"))
        return (("torch",) if subject_from(name, options.get("array"), dtypes).torch else ()), "torch"
    if part.kind == "nightly" and "db" in options:
        return ("sqlalchemy",), "nightly"
    if part.kind == "proofs" and options.get("run"):
        return tuple(package for package in ("sympy", "z3") if package in options.get("methods", METHODS)), "prove"
    return PACKAGES.get(part.kind, ((), ""))


def require_packages(part: Part) -> None:
    """Raises: InputError that names what is not installed, and the extra that installs it."""
    packages, extra = packages_needed(part)
    require(*packages, extra=extra)


def lacking(plan: Plan) -> list[str]:
    """The parts that cannot be run for want of packages or of files that the plan names, a line each."""
    lines = []
    for part in plan.parts:
        try:
            require_packages(part)
        except InputError as error:
            lines.append(f"{part.id}: {error}")
        named = [part.options[name] for name in ("file", "prompts") if name in part.options]
        subject = str(part.options.get("subject", "")).rpartition(":")[0]
        absent = [
            name
            for name in (*named, subject)
            if name.endswith(FILES) and not (plan.folder / Path(name).expanduser()).exists()
        ]
        lines += [f"{part.id}: {name} not found in {plan.folder}" for name in absent]
    return lines
