"""The note names theorems that exist, and that Coq is asked about."""

import re
from pathlib import Path

import pytest

import draftproof
from draftproof.corpus.coq import listed
from draftproof.corpus.literature.mapping import exists

ROOT = Path(draftproof.__file__).parent
NOTE = ROOT / "proofs" / "note.md"
pytestmark = [
    pytest.mark.symbolic,
    pytest.mark.skipif(not NOTE.is_file(), reason="note.md is in the repository, not in the wheel"),
]
CITED = re.compile(r"`(\w+\.v):(\w+)`")


def cited(text):
    return sorted(set(CITED.findall(text)))


def not_shown(text):
    """What a text cites that no file states, or whose assumptions ``make mechanized`` does not print."""
    folder = ROOT / "proofs" / "mechanized"
    asked = listed(folder)
    missing = []
    for file, name in cited(text):
        stated = exists(f"proofs/mechanized/{file}:{name}")
        definition = stated and re.search(rf"^(Definition|Fixpoint|Record) {name}\b", (folder / file).read_text(), re.M)
        if not stated or not (definition or name in asked):
            missing.append(name)
    return missing


def test_every_statement_of_the_note_has_a_theorem_whose_assumptions_are_printed():
    assert len(cited(NOTE.read_text())) > 40
    assert not_shown(NOTE.read_text()) == []


@pytest.mark.parametrize("name", ["Strategies.v:gone", "Gone.v:cost", "Strategies.v:mono_le"])
def test_a_name_that_is_gone_or_not_asked_about_is_noticed(name):
    assert not_shown(f"see `{name}`") == [name.split(":")[1]]


def test_files_of_the_repository_that_the_note_names_exist():
    paths = re.findall(r"`(proofs/[\w./]+)`", NOTE.read_text())
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []
