"""Comparisons of a tensor of random numbers are decided where something depends on them, and no law changes by that."""

import json
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.interception, pytest.mark.engine]

FEWEST = {
    "of_transformers": 5, "of_products": 5, "of_float_products": 5, "of_complements": 5, "of_a_slice": 5, "of_all": 5,
    "of_certain_answers": 2, "of_rows": 9, "of_words": 1, "of_a_size": 5, "of_a_loop": 16, "of_places": 16,
}  # fmt: skip
"""Name of a function of four coins -> its paths: one for each answer that can be the first to decide, or all."""


@pytest.fixture(scope="module")
def laws():
    """Return the table of the functions, and the one with a planted bug."""
    command = [sys.executable, "-m", "draftproof.tests.proofs.interception.comparisons"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_no_law_depends_on_when_comparisons_are_decided(laws):
    found, _ = laws
    assert {name: row for name, row in found.items() if row[2:] != [True, None]} == {}
    assert {name: found[name][0] for name in FEWEST} == FEWEST
    assert all(late <= early for late, early, *_ in found.values())


def test_an_answer_that_is_taken_not_to_count_is_seen(laws):
    """A planted bug: no comparison is decided, whatever depends on it."""
    equal = [name for name, (_, _, equal, reason) in laws[1].items() if equal and not reason]
    assert equal == ["of_compiled_code", "of_another_thread", "of_words"]  # the first two fall back
