"""What the test vectors catch of the zoo, and that corpus/site/vectors.md says so."""

from functools import cache
from pathlib import Path

import pytest

import draftproof
from draftproof.corpus.site.vectors import ALL_CONTROLS, page
from draftproof.corpus.site.vectors_of_zoo import ALL_MUTANTS, FOR_TREES, OWN_WAY, answered, judged, laws
from draftproof.reports.audits.vectors.judgement import FAILED, LEFT_OUT, judge
from draftproof.reports.audits.vectors.suite import FLAGS, suite
from draftproof.tests.reports.audits.vectors.test_vectors import PLANTED

PAGE = Path(draftproof.__file__).parent / "corpus" / "site" / "vectors.md"


@cache
def blocks_of_the_zoo():
    return {entry.name: judgement for entry, judgement in judged(with_laws=False)}


def test_every_flag_but_those_of_laws_is_failed_by_some_bug():
    failed = {flag for j in blocks_of_the_zoo().values() for flag, n in j.by_flag().items() if n[FAILED]}
    assert failed | set(PLANTED.values()) >= {flag for flag, about in FLAGS.items() if about.needs != ["law"]}


in_the_repository = pytest.mark.skipif(not PAGE.is_file(), reason="vectors.md is in the repository, not in the wheel")


@cache
def lines_of_the_page():
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return {line[2:5]: line for line in lines if line[:2] == "| " and line[2:3] in "MTBCD" and line[3:5].isdigit()}


@in_the_repository
def test_the_page_says_how_many_vectors_of_blocks_each_of_the_zoo_fails():
    known = blocks_of_the_zoo()
    assert f"`{suite()['digest']}`" in PAGE.read_text(encoding="utf-8")
    assert lines_of_the_page().keys() == {*ALL_MUTANTS, *ALL_CONTROLS}
    for name, judgement in known.items():
        count = judgement.statuses()
        if name in ALL_MUTANTS:
            cell = f"| {count[FAILED]} of {sum(count.values()) - count[LEFT_OUT]} |"
            assert lines_of_the_page()[name].startswith(f"| {name} | {ALL_MUTANTS[name].title} {cell}")
            assert bool(count[FAILED]) != (name == "M40"), "M40 has the rule that it claims: its law is wrong"
        else:
            assert not count[FAILED]
            assert lines_of_the_page()[name].endswith("| 0 |")
    assert {*ALL_MUTANTS, *ALL_CONTROLS} - known.keys() == {*OWN_WAY, *FOR_TREES}


@in_the_repository
@pytest.mark.interception
def test_laws_alone_judge_what_uses_its_numbers_in_another_way():
    entries = [ALL_MUTANTS[name] for name in ("M40", "T03", "T12")] + [
        ALL_CONTROLS[name] for name in ("C01", "C05", "D02")
    ]
    rows = [(entry, judge(answered(entry, known))) for entry, known in laws(entries)]
    written = page(rows).splitlines()
    for entry, judgement in rows:
        assert judgement.verdict == ("refuted" if entry.name in ALL_MUTANTS else "inconclusive")
        assert lines_of_the_page()[entry.name] in written


@in_the_repository
def test_the_page_counts_the_whole_zoo():
    assert f"Of {len(ALL_MUTANTS)} mutants (" in PAGE.read_text(encoding="utf-8")
    assert f"{len(ALL_MUTANTS)} fail at least one vector" in PAGE.read_text(encoding="utf-8")


@in_the_repository
@pytest.mark.zoo
def test_the_page_is_what_the_zoo_answers():
    assert page(judged()) == PAGE.read_text(encoding="utf-8")
