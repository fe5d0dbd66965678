"""The structure of the code: imports run downwards, in no circle; every public function says its types."""

import ast
import graphlib
import re
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


SOURCES = {
    module_name(file): file.read_text(encoding="utf-8")
    for floor in FLOORS
    for file in sorted((ROOT / floor).rglob("*.py"))
}


@pytest.fixture(scope="module")
def modules():
    """The trees of all modules, by name."""
    return {name: ast.parse(source) for name, source in SOURCES.items()}


def imports_of(name: str, tree: ast.AST) -> set[str]:
    """The modules of the package that a module imports, wherever the import stands."""
    package = name.split(".") if (ROOT / Path(*name.split(".")[1:]) / "__init__.py").exists() else name.split(".")[:-1]
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])])
            imported |= {m if (m := f"{base}.{alias.name}") in SOURCES else base for alias in node.names}
        elif isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
    return imported & SOURCES.keys()


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


def test_no_import_runs_upwards(modules):
    assert upward(modules) == []


def test_an_import_upwards_is_seen_wherever_it_stands():
    inside = ast.parse("def f():\n    from ..proofs import laws\n")
    assert upward({"draftproof.models.law": inside}) == ["draftproof.models.law imports draftproof.proofs.laws"]


def test_no_two_modules_import_each_other(modules):
    graph = {name: imports_of(name, tree) - {name} for name, tree in modules.items()}
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


def test_every_public_function_says_its_types(modules):
    assert [one for name, tree in modules.items() for one in unannotated(name, tree)] == []
    assert unannotated("m", ast.parse("def f(x): ...\nclass C:\n    def g(self) -> int: ...\n")) == ["m.f"]


def named_twice(modules: dict[str, ast.AST]) -> list[str]:
    """Classes of one name in two modules."""
    names = Counter(node.name for tree in modules.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return sorted(name for name, n in names.items() if n > 1)


def test_no_two_classes_have_one_name(modules):
    assert named_twice(modules) == []
    assert named_twice({"a": ast.parse("class C: ..."), "b": ast.parse("class C: ...\nclass D: ...")}) == ["C"]


OPENINGS = ("Of", "That", "Those", "Where", "None", "As", "From", "To", "Up", "Under", "Whether")
"""Words with which no docstring begins: what follows them is no sentence."""


def docstrings(tree: ast.AST) -> list[ast.Constant]:
    """Return the docstrings of a module, its definitions and its constants."""
    bodies = (node.body for node in ast.walk(tree) if isinstance(getattr(node, "body", None), list))
    statements = (statement for body in bodies for statement in body if isinstance(statement, ast.Expr))
    return [s.value for s in statements if isinstance(s.value, ast.Constant) and isinstance(s.value.value, str)]


def no_sentences(modules: dict[str, ast.AST]) -> list[str]:
    """Return the places whose docstring begins with one of OPENINGS."""
    return [
        f"{name}:{doc.lineno}: {doc.value.split(maxsplit=1)[0]}"
        for name, tree in modules.items()
        for doc in docstrings(tree)
        if doc.value.split(maxsplit=1)[0].rstrip(",:;") in OPENINGS
    ]


def test_no_docstring_begins_with_a_word_that_begins_no_sentence(modules):
    assert no_sentences(modules) == []
    wrong = ast.parse('"""A module."""\nN = 1\n"""Of all that."""\ndef f():\n    """Return it."""\n')
    assert no_sentences({"m": wrong}) == ["m:3: Of"]


MOST_LINES = 400
"""Lines of a module beyond which a seam is due."""


def too_long(lines: dict[str, int]) -> list[str]:
    return [f"{name}: {n} lines" for name, n in lines.items() if n > MOST_LINES]


def test_no_module_is_too_long():
    assert too_long({name: len(source.splitlines()) for name, source in SOURCES.items()}) == []
    assert too_long({"a": MOST_LINES, "b": MOST_LINES + 1}) == ["b: 401 lines"]


PARTS = {
    **{room: (f"{room}/",) for room in ("verifiers", "models", "stattests", "proofs", "reports")},
    "corpus": ("corpus/",), "tests": ("tests/",),
}  # fmt: skip
"""Rows of the page of the architecture, and the folders that each counts."""

BEGIN, END = "<!-- lines: begin -->\n", "<!-- lines: end -->"


def counted(root: Path) -> str:
    """Return the table of modules and lines of each room, and of the five rooms together."""
    sizes = {
        part: [len(file.read_text(encoding="utf-8").splitlines()) for f in folders for file in (root / f).rglob("*.py")]
        for part, folders in PARTS.items()
    }
    rows = [f"| `{part}/` | {len(found)} | {sum(found):,} |" for part, found in sizes.items()]
    five = [n for part in [*PARTS][:5] for n in sizes[part]]
    rows.insert(5, f"| the five rooms | {len(five)} | {sum(five):,} |")
    return "\n".join(["| room | modules | lines of Python |", "|---|---|---|", *rows]) + "\n"


def test_the_page_of_the_architecture_says_how_large_each_room_is():
    page = ROOT / "docs" / "architecture.md"
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    table, after = rest.split(END)
    now = counted(ROOT)
    if table != now:
        page.write_text(before + BEGIN + now + END + after, encoding="utf-8")
    assert table == now, "docs/architecture.md was out of date and is written anew: commit it"


def test_no_room_imports_the_corpus():
    foreign = re.compile(
        r"^\s*(?:from|import) (draftproof_engines|draftproof_paper|draftproof\.corpus|\.+corpus)\b", re.M
    )
    files = [file for floor in FLOORS for file in (ROOT / floor).rglob("*.py")]
    assert [str(file) for file in files if foreign.search(file.read_text(encoding="utf-8"))] == []
    assert foreign.search("    from draftproof_engines.lifted import lift\n")
