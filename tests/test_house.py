"""The structure of the code: imports run downwards, in no circle; every public function says its types."""

import ast
import graphlib
from collections import Counter
from pathlib import Path

import pytest

import draftproof

pytestmark = pytest.mark.exact

ROOT = Path(draftproof.__file__).parent
FLOORS = (
    *("verifiers", "models", "stattests", "proofs"),
    *("reports/audits", "reports/pages", "reports/testing", "reports/commands"),
)
"""From the ground floor up: a module imports its own floor and those below."""


def module_name(file: Path) -> str:
    return ".".join(("draftproof", *file.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")


MODULES = {
    module_name(file): ast.parse(file.read_text(encoding="utf-8"))
    for floor in FLOORS
    for file in sorted((ROOT / floor).rglob("*.py"))
}


def imports_of(name: str, tree: ast.AST) -> set[str]:
    """The modules of the package that a module imports, wherever the import stands."""
    package = name.split(".") if (ROOT / Path(*name.split(".")[1:]) / "__init__.py").exists() else name.split(".")[:-1]
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])])
            imported |= {m if (m := f"{base}.{alias.name}") in MODULES else base for alias in node.names}
        elif isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
    return imported & MODULES.keys()


def floor_of(name: str) -> int:
    path = "/".join(name.split(".")[1:])
    return next(k for k, floor in enumerate(FLOORS) if path == floor or path.startswith(f"{floor}/"))


def upward(modules: dict[str, ast.AST]) -> list[str]:
    return [
        f"{name} imports {other}"
        for name, tree in modules.items()
        for other in imports_of(name, tree)
        if floor_of(other) > floor_of(name)
    ]


def test_no_import_runs_upwards():
    assert upward(MODULES) == []


def test_an_import_upwards_is_seen_wherever_it_stands():
    inside = ast.parse("def f():\n    from ..proofs import laws\n")
    assert upward({"draftproof.models.law": inside}) == ["draftproof.models.law imports draftproof.proofs.laws"]


def test_no_two_modules_import_each_other():
    graph = {name: imports_of(name, tree) - {name} for name, tree in MODULES.items()}
    assert list(graphlib.TopologicalSorter(graph).static_order())
    graph["draftproof.models.law"] |= {"draftproof.models.battery"}
    with pytest.raises(graphlib.CycleError):
        list(graphlib.TopologicalSorter(graph).static_order())


def unannotated(name: str, tree: ast.Module) -> list[str]:
    """Public functions and methods of public classes that leave a parameter or the result without a type."""
    found = []

    def visit(body: list[ast.stmt], method: bool) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                visit(node.body, True)
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            if node.name.startswith("_") and node.name not in ("__init__", "__call__"):
                continue
            names = {d.id for d in node.decorator_list if isinstance(d, ast.Name)}
            if "jit" in names:  # Triton types what a kernel is launched with
                continue
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
            typed = [a.annotation for a in given[1 if method and "staticmethod" not in names else 0 :] if a]
            result = node.returns is not None or node.name == "__init__"
            if not result or not all(typed):
                found.append(f"{name}.{node.name}")

    visit(tree.body, False)
    return found


def test_every_public_function_says_its_types():
    assert [one for name, tree in MODULES.items() for one in unannotated(name, tree)] == []
    assert unannotated("m", ast.parse("def f(x): ...\nclass C:\n    def g(self) -> int: ...\n")) == ["m.f"]


def named_twice(modules: dict[str, ast.AST]) -> list[str]:
    """Classes of one name in two modules."""
    names = Counter(node.name for tree in modules.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return sorted(name for name, n in names.items() if n > 1)


def test_no_two_classes_have_one_name():
    assert named_twice(MODULES) == []
    assert named_twice({"a": ast.parse("class C: ..."), "b": ast.parse("class C: ...\nclass D: ...")}) == ["C"]
