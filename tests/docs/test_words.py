"""The documentation is short, its first pages have short sentences, and no page or message has a banned word."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from draftproof.tests.docs import running

ROOT, DOCS = running.ROOT, running.ROOT / "docs"
pytestmark = [pytest.mark.exact, pytest.mark.skipif(not DOCS.exists(), reason="the documentation is not in the wheel")]

PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
FIRST = [
    *(ROOT / "README.md", DOCS / "index.md", DOCS / "verdicts.md", DOCS / "install.md", DOCS / "reading.md"),
    *sorted((DOCS / "tutorials").glob("*.md")),
    *(ROOT / "CONTRIBUTING.md", ROOT / "corpus" / "site" / "measurements.md"),
]
"""Pages that a new user or contributor reads."""

MOST_WORDS = 24_000
"""Words of the documentation, code and tables included, without the changelog."""

LONGEST_SENTENCE = 30
"""Words of a sentence on the pages of FIRST."""

BANNED = re.compile(
    r"\b(mend(s|ed|ing)?|alike|twins?|told apart|settles?d?|beaten|held against|rehears\w*|somebody|nobody"
    r"|otherwise than|decided otherwise|a stranger|strangers|as it is|left as)\b",
    re.I,
)
"""Words that read as translated; the field has others for them."""

OF_PROOFS = re.compile(
    r"(?<![\"`.-])(?<!draftproof )\blaws?\b(?![\"`-]|, certificate)"
    r"|(?<!fewer )(?<!-)\btexts\b|handed (in|over)|surroundings"
)
"""Words of proofs and of our code. To a user of engines a message says distribution, output, passed, environment."""

SHOWN = ("verifiers", "models", "stattests", "proofs", "reports")
"""Folders whose strings, templates and tables of words a page, a terminal or an error shows."""


def words(texts: list[str]) -> int:
    return sum(len(text.split()) for text in texts)


def prose(text: str) -> str:
    """Return a page without its code, tables, headings, comments and figures."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    text = re.sub(r"<!--.*?-->|!\[[^]]*\]\([^)]*\)", "", text, flags=re.S)
    return "\n".join("" if line.startswith(("|", "    ", "#")) else line for line in text.split("\n"))


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a page; an item of a list begins one, and a link counts as its words."""
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:- |\d+\. ))", prose(text)):
        plain = re.sub(r"\]\([^)]*\)|<[^>]*>", "", " ".join(paragraph.split()))
        yield from re.split(r"(?<=[.?!])\s+(?=[A-Z`*\[(\"]|draftproof\b)", plain)


def too_long(text: str) -> list[str]:
    return [sentence for sentence in sentences(text) if len(sentence.split()) > LONGEST_SENTENCE]


def messages(code: str) -> Iterator[str]:
    """Yield the strings of a module that are no docstrings and no single words, which are names."""
    tree = ast.parse(code)
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and " " in node.value
            and id(node) not in docs
        ):
            yield node.value


def banned(file: Path, text: str, words: re.Pattern = BANNED) -> list[str]:
    found = messages(text) if file.suffix == ".py" else text.split("\n")
    return [f"{file.relative_to(ROOT)}: {match[0]}: {one[:80]}" for one in found for match in words.finditer(one)]


def shown_files() -> list[Path]:
    return [file for room in SHOWN for kind in ("*.py", "*.j2", "*.json") for file in (ROOT / room).rglob(kind)]


def test_the_documentation_has_few_words():
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    count = words(texts)
    assert count <= MOST_WORDS, f"{count:,} words: delete before adding"
    assert words([*texts, "word " * (MOST_WORDS - count + 1)]) > MOST_WORDS, "a page too many is seen"


@pytest.mark.parametrize("page", FIRST, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_sentences_of_first_pages_are_short(page):
    assert too_long(page.read_text(encoding="utf-8")) == []


def test_a_long_sentence_is_seen_wherever_it_stands():
    long = " ".join(["word"] * LONGEST_SENTENCE)
    assert too_long(f"{long}.\n\n| {long} more |\n\n```\n{long} more\n```\n") == []
    assert len(too_long(f"Short. And {long}.\n\n- {long} more")) == 2


def test_no_page_or_message_has_a_banned_word():
    files = [*FIRST, ROOT / "CHANGELOG.md", *shown_files()]
    assert [one for file in files for one in banned(file, file.read_text(encoding="utf-8"))] == []


def test_no_message_of_reports_or_engines_has_a_word_of_proofs():
    files = [file for file in shown_files() if file.is_relative_to(ROOT / "reports") and file.suffix != ".json"]
    files += [ROOT / "recording.py", *(ROOT / "verifiers" / "adapters").rglob("*.py")]
    assert [one for file in files for one in banned(file, file.read_text(encoding="utf-8"), OF_PROOFS)] == []
    planted = 'raise E(f"{name}: its law is unknown; draftproof law {name} has a \\"law\\" of 2 texts, fewer texts")'
    assert [one.split(": ")[1] for one in banned(files[-1], planted, OF_PROOFS)] == ["law", "texts"]


def test_a_banned_word_is_seen_in_pages_and_messages_alone():
    page, module = ROOT / "README.md", ROOT / "recording.py"
    assert banned(page, "It was mended.") == ["README.md: mended: It was mended."]
    assert banned(module, 'def f():\n    """All twins."""\n    # beaten\n    raise E(f"{f} and its twins")\n') == [
        "recording.py: twins:  and its twins"
    ]
