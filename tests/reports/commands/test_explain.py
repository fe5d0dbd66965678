"""Codes of errors: each is reached by the command of its page, and each code that is raised has a page."""

import re
import shlex
import sys
from pathlib import Path

import pytest

import draftproof as package
from draftproof.models.errors import InputError, of_kind
from draftproof.reports.pages.errors import OF_KIND, error_pages
from draftproof.tests.reports.commands.in_process import draftproof

PAGES = error_pages()
NEEDS = {"DP107": "transformers", "DP206": "safetensors", "DP210": "sqlalchemy", "DP211": "httpx2", "DP402": "torch"}
"""Packages without which the command of a page ends earlier, with another code."""


def parameters():
    return [pytest.param(code, marks=pytest.mark.needs(NEEDS[code]) if code in NEEDS else ()) for code in PAGES]


@pytest.mark.parametrize("code", parameters())
def test_the_command_of_a_page_ends_with_its_code_and_message(code, tmp_path, monkeypatch):
    page = PAGES[code]
    for name, text in page.files.items():
        (tmp_path / name).write_text(text)
    if page.without:
        monkeypatch.setitem(sys.modules, page.without, None)
    for line in filter(None, (page.before, page.command)):
        done = draftproof(*shlex.split(line)[1:], cwd=tmp_path)
    said = (done.out + done.err).replace(f"{tmp_path}/", "")
    assert f"({code})" in said and page.message in said, said
    assert done.status in (2, 3) and "Traceback" not in said


def test_explain_prints_a_short_page_for_each_code_and_lists_them():
    for code, page in PAGES.items():
        said = draftproof("explain", code.lower()).out
        assert said.startswith(f"{code}: {page.title}\n") and page.command in said and len(said.splitlines()) <= 25
    listed = draftproof("explain").out.splitlines()
    assert listed == [f"{code}  {page.title}" for code, page in PAGES.items()]
    unknown = draftproof("explain", "DP40")
    assert (unknown.status, len(unknown.lines)) == (2, 1) and "no code 'DP40'; did you mean DP" in unknown.err


def test_every_code_that_is_raised_has_a_page_and_the_documentation_has_its_place():
    root = Path(package.__file__).parent
    rooms = [
        file
        for room in ("models", "stattests", "proofs", "reports", "verifiers")
        for file in (root / room).rglob("*.py")
    ]
    raised = {code for file in rooms for code in re.findall(r'"(DP\d{3})"', file.read_text(encoding="utf-8"))}
    assert raised == set(PAGES)
    docs = root / "docs"
    assert not docs.is_dir() or all((docs / f"{page.page}.md").is_file() for page in PAGES.values())


def test_an_error_keeps_the_code_that_it_has_and_else_gets_that_of_its_kind():
    for own, kept in (("DP201", "DP201"), ("", "DP203")):
        with pytest.raises(InputError) as raised, of_kind("DP203"):
            raise InputError("x", own)
        assert (raised.value.code, str(raised.value)) == (kept, "x")
    assert {*OF_KIND.values()} <= set(PAGES)


@pytest.mark.parametrize(
    ("code", "source"),
    [
        ("DP102", "raise ImportError('f raises on every call: x; with --convention batch it returns tokens')"),
        (
            "DP104",
            "def verify(target_probs, draft_probs, draft_tokens): raise ValueError('; with --convention batch it')",
        ),
    ],
)
def test_the_code_of_a_failure_does_not_depend_on_what_its_message_says(code, source, tmp_path):
    (tmp_path / "mine.py").write_text(source)
    done = draftproof("audit", "mine.py:verify", "--quick", cwd=tmp_path)
    assert done.status == 3 and f"({code})" in done.out + done.err and "with --convention batch it" in done.out
