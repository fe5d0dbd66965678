"""Issue texts of driven decoders and servers: witness, a script without this project, a mend, who reported it."""

import ast
from pathlib import Path

import pytest

from draftproof.corpus.site import engine_issues

ROOT = Path(engine_issues.__file__).with_name("engines")
TEXTS = sorted([*ROOT.glob("*-decoder-*.md"), *ROOT.glob("*-server-*.md")])

pytestmark = pytest.mark.skipif(not ROOT.is_dir(), reason="corpus/site/engines is in a clone alone")


def lacks(text, code):
    """What an issue text is without."""
    module = ast.parse(code)
    imported = {name for node in ast.walk(module) for name in _imports(node)}
    lines = [
        line for node in module.body[1:] for line in ast.get_source_segment(code, node).splitlines() if line.strip()
    ]
    return [
        what
        for what, there in {
            "a witness": "| outcome | expected | observed |\n|---|---|---|\n|" in text,
            "the script": f"```python\n{code}```" in text,
            "20 lines at most": len(lines) <= 20,
            "a script without this project": not any(name.startswith("draftproof") for name in imported),
            "a mend that was tried": "\nTried: " in text,
            "a word on reports": "\nKnown: https://" in text or "\nNot found in public" in text,
        }.items()
        if not there
    ]


def _imports(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


@pytest.mark.parametrize("file", TEXTS, ids=lambda file: file.stem)
def test_an_issue_text_has_all_that_its_maintainers_need(file):
    assert lacks(file.read_text(encoding="utf-8"), file.with_suffix(".py").read_text(encoding="utf-8")) == []


def test_there_are_fourteen_and_what_one_lacks_is_seen():
    assert len(TEXTS) == 14
    code = '"""."""\nfrom draftproof.models.forge import forge\n' + "print(1)\n" * 20
    assert lacks("# A decoder\n", code) == [
        "a witness", "the script", "20 lines at most", "a script without this project", "a mend that was tried",
        "a word on reports",
    ]  # fmt: skip
