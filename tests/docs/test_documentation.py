"""The documentation builds without a warning, and what it shows is what happens: all commands, all blocks of Python."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import sybil

import draftproof
from draftproof.corpus.site import bugs
from draftproof.corpus.site.gallery import gallery, influenced_row, smallest_witness
from draftproof.proofs.sandbox import Sandbox
from draftproof.reports.commands.main import cli
from draftproof.reports.pages.glossary import glossary
from draftproof.tests.docs import running
from draftproof.verifiers.zoo.catalogue import BATCH_MUTANTS, MUTANTS

DOCS = running.ROOT / "docs"
PAGES = [*sorted(DOCS.rglob("*.md")), running.ROOT / "README.md"]
pytestmark = [
    pytest.mark.skipif(not DOCS.exists(), reason="the documentation is not in the wheel"),
    pytest.mark.needs("sphinx"),
]


def shown(page: Path) -> str:
    return page.relative_to(running.ROOT).as_posix()


def build(source: Path, out: Path) -> subprocess.CompletedProcess[str]:
    """Build the documentation, with one page of each kind of kept report: ``make long`` has them all."""
    options = ["-q", "-W", "--keep-going", "-b", "html", "-D", "kept_pages=1"]
    words = [sys.executable, "-m", "sphinx", *options, str(source), str(out)]
    return subprocess.run(words, capture_output=True, text=True, timeout=3600)


def test_it_builds_without_a_warning(tmp_path):
    done = build(DOCS, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert [len([*(tmp_path / folder).iterdir()]) for folder in ("live", "evidence")] == [1, 1]
    page = (tmp_path / "python.html").read_text(encoding="utf-8")
    assert re.search(r"<li><p><code[^>]*><span[^>]*>subject</span></code>: a function", page), "fields are a list"
    assert re.search(r'<div class="line">p_i = min', page), "equations stand in lines of their own"
    assert "--require-decision" in (tmp_path / "commands.html").read_text(encoding="utf-8")


def test_each_public_name_has_an_example_that_is_run():
    page = (DOCS / "python.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", page, re.M | re.S))
    names = [*draftproof.__all__, "AuditSettings"]
    missing = [name for name in names if not re.search(rf"\b{name}\(|\b{name}\.", code)]
    assert missing == ["__version__"]


BROKEN = ("[x](no-such-page.md)", "{term}`no such word`", "![x](no-such-figure.png)", "[x](#no-place)")


def test_a_broken_reference_is_an_error(tmp_path):
    source = tmp_path / "docs"
    source.mkdir()
    for name in ("conf.py", "house.py", "glossary.md"):
        shutil.copy(DOCS / name, source / name)
    shutil.copy(running.ROOT / "CHANGELOG.md", tmp_path)
    for name in ("_static", "_templates"):
        shutil.copytree(DOCS / name, source / name)
    (source / "index.md").write_text("# Page\n\n```{toctree}\nglossary\n```\n\n" + "\n\n".join(BROKEN) + "\n")
    done = build(source, tmp_path / "out")
    assert done.returncode != 0
    assert [
        words for words in ("no-such-page", "no such word", "no-such-figure", "no-place") if words not in done.stderr
    ] == []


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of a reader, beside whom the examples are."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # as for a script, so that a page may import the file that it shows
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    (tmp_path / "examples").symlink_to(running.ROOT / "examples")


RUN = [page for page in PAGES if any(True for _ in running.parsed(page))]
SLOW = {"certify.md", "engine.md", "rule.md", "server.md"}
"""Their blocks take ten seconds and more."""
LONG = [page for page in RUN if any("long" in running.marks(example) for example in running.parsed(page))]


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=pytest.mark.long if page.name in SLOW else ()) for page in RUN], ids=shown
)
@pytest.mark.usefixtures("folder")
def test_what_a_page_shows_is_what_happens(page):
    running.run(page, long=False)


@pytest.mark.long
@pytest.mark.parametrize("page", LONG, ids=shown)
@pytest.mark.usefixtures("folder")
def test_what_a_page_shows_is_what_happens_where_it_takes_long(page):
    running.run(page, long=True)


@pytest.mark.parametrize(
    "block",
    [
        "```console\n$ echo one\ntwo\n```\n",
        "```console\n$ true\nsomething\n```\n",
        "```console\n$ false\n```\n",
        "```console\n$ false\n$ true\n```\n",
        "```console\n$ false\n$ echo $?\n0\n```\n",
        "```python\n>>> 1 + 1\n3\n\n```\n",
        "```python\n1 / 0\n```\n",
        "```{code-block} json\n:caption: a.json\n\n[1]\n```\n\n```console\n$ cat a.json\n[2]\n```\n",
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_differs_from_what_a_page_shows_is_an_error(block, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n{block}")
    with pytest.raises((sybil.example.SybilFailure, ZeroDivisionError)):
        running.run(page, long=False)


NOT_RUN = [
    "they install everything from nothing; continuous integration runs the second",
    *["no server is installed"] * 3,
    *["it installs"] * 2,
    "they need a CUDA device",
    "it starts a server",
]


def test_few_blocks_are_not_run():
    reasons = [running.marks(e)["not run"] for p in RUN for e in running.parsed(p) if "not run" in running.marks(e)]
    assert sorted(reasons) == sorted(NOT_RUN)


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_commands_named_in_passing_exist(page):
    """``draftproof COMMAND --option`` in a sentence; blocks are run."""
    text = page.read_text(encoding="utf-8")
    for span in re.findall(r"`(draftproof [^`]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)):
        assert not unknown(span), span


def unknown(command: str) -> list[str]:
    """Words of a command line that draftproof does not know: a command, or an option of one."""
    words = command.split()[1:]
    here = cli
    while words and hasattr(here, "commands" if not hasattr(here, "list_commands") else "list_commands"):
        if not re.fullmatch(r"[a-z0-9-]+", words[0]):
            break
        inner = here.get_command(None, words[0])
        if inner is None:
            return [words[0]]
        here, words = inner, words[1:]
    options = {option for parameter in here.params for option in parameter.opts} | {"--help", "--version"}
    return [word for word in words if word.startswith("--") and word.split("=")[0] not in options]


def test_a_command_that_does_not_exist_is_noticed():
    assert unknown("draftproof adit mine.py:f") == ["adit"]
    assert unknown("draftproof audit mine.py:f --htlm x") == ["--htlm"]
    assert unknown("draftproof vectors chek FILE") == ["chek"]
    assert not unknown("draftproof vectors check FILE --require-decision")


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_commands_stand_in_blocks_that_are_run(page):
    blocks = re.findall(r"^```(.*)\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    unrun = [text for language, text in blocks if language.strip() in ("", "bash", "sh", "shell")]
    assert [text for text in unrun if re.search(r"^(\S*/)?(draftproof|make|python|pip) ", text, flags=re.M)] == []


def test_the_glossary_says_each_word_in_one_sentence():
    for term, meaning in glossary().items():
        assert meaning.endswith(".") and len(re.findall(r"\.\s+[A-Z]", meaning)) == 0, term


def test_the_gallery_has_the_catalogue_and_its_witnesses_are_measured():
    text = bugs.PAGE.read_text(encoding="utf-8")
    for entry in (MUTANTS | BATCH_MUTANTS).values():
        assert f"| `{entry.name}` | {entry.title} | [{entry.ancestor}]({entry.link}) |" in text, entry.name
    with Sandbox("", timeout=60) as sandbox:
        for name in ("M03", "M09", "M34"):
            assert bugs.row(MUTANTS[name], smallest_witness(sandbox, MUTANTS[name])) in text
        assert bugs.row(BATCH_MUTANTS["B07"], influenced_row(sandbox, BATCH_MUTANTS["B07"])) in text


@pytest.mark.zoo
def test_the_gallery_is_as_written():
    assert bugs.page(gallery()) == bugs.PAGE.read_text(encoding="utf-8")
