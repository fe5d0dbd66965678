"""The comparison of verdicts with kept ones sees what changed, and names what was not measured."""

import json

import pytest

from draftproof.tests.frozen.freeze import KEPT, differences

pytestmark = pytest.mark.exact

ROW = {"verdict": "refuted", "total_variation": 0.25, "diagnosis": ["M05"]}


def test_equal_rows_have_no_difference_and_rounding_is_none():
    assert [*differences({"a": ROW}, {"a": ROW | {"total_variation": 0.25 * (1 + 1e-12)}})] == []


@pytest.mark.parametrize(
    ("now", "line"),
    [
        ({"a": ROW | {"verdict": "holds"}}, "a: verdict was refuted, is holds"),
        ({"a": ROW | {"total_variation": 0.26}}, "a: total_variation was 0.25, is 0.26"),
        ({"a": ROW | {"diagnosis": []}}, "a: diagnosis was ['M05'], is []"),
        ({"a": {}}, "a: verdict was refuted, is None"),
        ({}, "a: not measured"),
    ],
)
def test_what_changed_is_named(now, line):
    assert line in [*differences({"a": ROW}, now)]


def test_the_kept_rows_refute_every_mutant():
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    mutants = {name: row for name, row in kept.items() if name.startswith(("zoo:M", "zoo:T"))}
    assert len(mutants) > 50 and {row["verdict"] for row in mutants.values()} == {"refuted"}
