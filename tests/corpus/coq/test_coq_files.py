"""Coq's files are compiled one by one and each is kept: what was stopped goes on, and nothing that changed is taken."""

import re

import pytest

from draftproof.corpus import coq
from draftproof.models.digests import MECHANIZED
from draftproof.verifiers.evidence import ERROR, HOLDS

MISSING = coq.missing()
pytestmark = [
    pytest.mark.mechanized,
    pytest.mark.skipif(MISSING is not None, reason=f"{MISSING}; make mechanized installs it on Debian"),
]
A = "Theorem a : 1 + 1 = 2. Proof. reflexivity. Qed.\n"
FILES = {
    "A": A,
    "B": "From Draftproof Require Import A.\nTheorem b : 2 = 1 + 1. Proof. symmetry. exact a. Qed.\n",
    "C": "Theorem c : True. Proof. exact I. Qed.\n",
    "Axioms": "".join(f"  let _ := @{name} in\n" for name in "abc"),
}


@pytest.fixture
def building(tmp_path):
    """A build in a folder of its own, from these files and what is kept; and the files that it begins to compile."""
    number = iter(range(100))

    def build(progress=None, **changed):
        place = tmp_path / f"place-{next(number)}"
        place.mkdir()
        for name, text in (FILES | changed).items():
            (place / f"{name}.v").write_text(text)
        rules = re.sub(r"^\w+\.vo: .*\n", "", (MECHANIZED / "Makefile").read_text(), flags=re.MULTILINE)
        (place / "Makefile").write_text(rules.replace("all: check\n", "all: check\nB.vo: A.vo\n"))
        begun = []
        return coq.Build(place, tmp_path / "kept", 60, progress or (lambda file, *_: begun.append(file))), begun

    return build


def test_each_file_is_kept_as_soon_as_it_is_there_and_what_builds_on_another_file_is_not_taken(building):
    def stops(file, done, total):
        if file == "B.v":
            assert (done, total) == (1, 2)
            raise KeyboardInterrupt

    build, _ = building(stops)
    with pytest.raises(KeyboardInterrupt):
        build.check(["a", "b"])
    build, begun = building()
    assert [row.verdict for row in build.check(["a", "b"])] == [HOLDS] * 2
    assert begun == ["B.v"]
    build, begun = building()
    assert [row.verdict for row in build.check(["b"])] == [HOLDS]
    assert begun == []
    build, begun = building(A=A.replace("Proof. reflexivity. Qed.", "Admitted."))
    open_a = "Axioms: a : 1 + 1 = 2"
    assert [row.detail for row in build.check(["a", "c", "b"])] == [open_a, None, open_a]
    assert sorted(begun) == ["A.v", "B.v", "C.v"]
    build, begun = building(A=A.replace("= 2", "= 3"))
    a, b, c = build.check(["a", "b", "c"])
    assert (a.verdict, b.verdict, c.verdict) == (ERROR, ERROR, HOLDS)
    assert a.detail == b.detail and a.detail.startswith("A.v, line 1: ")


def test_half_a_file_is_never_taken(building, tmp_path):
    build, _ = building()
    build.compile(["A"])
    whole = tmp_path / "kept" / "A.vo"
    for content in (whole.read_bytes()[:-9], None):
        whole.unlink() if content is None else whole.write_bytes(content)
        build, begun = building()
        build.compile(["A"])
        assert begun == ["A.v"]
    assert {file.name for file in (tmp_path / "kept").iterdir()} == {"A.vo", "A.time", "compiled.jsonl"}
