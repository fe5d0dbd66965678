"""A refuted verifier is located: the part of the verification that departs, and the line that decides it."""

import pytest

from draftproof import audit
from draftproof.models.battery import drawn
from draftproof.reports.testing.checks import CheckFailed, run_check

SOURCE = """
import numpy as np


def verify(p, q, x, rng, times=1.0, row=-1, residual=True, sure=99):
    for i, t in enumerate(x):
        if i < sure and rng.random() * q[i][t] >= times * p[i][t]:
            left = np.maximum(p[i] - q[i], 0) if residual else p[i]
            return [*x[:i], rng.choice(len(left), p=left / left.sum())]
    return [*x, rng.choice(len(p[-1]), p=p[row])]


def right(target_probs, draft_probs, draft_tokens, rng):
    return verify(target_probs, draft_probs, draft_tokens, rng)


def lenient(target_probs, draft_probs, draft_tokens, rng):
    return verify(target_probs, draft_probs, draft_tokens, rng, times=1.25)


def replaced(target_probs, draft_probs, draft_tokens, rng):
    return verify(target_probs, draft_probs, draft_tokens, rng, residual=False)


def last(target_probs, draft_probs, draft_tokens, rng):
    return verify(target_probs, draft_probs, draft_tokens, rng, row=-2)


def second_always(target_probs, draft_probs, draft_tokens, rng):
    return verify(target_probs, draft_probs, draft_tokens, rng, sure=1)


def raises_where_rows_agree(target_probs, draft_probs, draft_tokens, rng):
    row = [max(p - q, 0) for p, q in zip(target_probs[-1], draft_probs[-1])]
    if not any(row):
        raise ValueError("nothing is left")
    return verify([*target_probs[:-1], np.array(row) / sum(row)], draft_probs, draft_tokens, rng)
"""
COIN, REPLACEMENT, BONUS = 7, 9, 10


@pytest.fixture
def subject(tmp_path):
    (tmp_path / "where.py").write_text(SOURCE)
    return lambda name: audit(f"{tmp_path / 'where.py'}:{name}", [drawn(2, 2, "generic")], samples=100)


@pytest.mark.parametrize(
    ("name", "where", "line"),
    [
        pytest.param("lenient", "drafted token", COIN, marks=pytest.mark.long),
        ("replaced", "the replacement after a rejection at position 1", REPLACEMENT),
        ("last", "the bonus token", BONUS),
        pytest.param("second_always", "drafted token", None, marks=pytest.mark.long),
    ],
)
def test_the_part_and_the_line_are_named_without_a_known_bug(subject, name, where, line):
    report = subject(name)
    witness = report.shown_refutation().witness
    assert witness.smallest and witness.where.startswith(where)
    assert (witness.line and witness.line.split()[0]) == (line and f"where.py:{line}")
    if name == "second_always":
        assert witness.where.endswith("is accepted too often at position 2")
    with pytest.raises(CheckFailed, match=rf"Where +{where}"):
        run_check(report, "lossless")


def test_a_right_verifier_departs_nowhere(subject):
    assert subject("right").verdict == "holds"


def test_the_smallest_case_shows_a_wrong_distribution_where_there_is_one(subject):
    witness = subject("raises_where_rows_agree").shown_refutation().witness
    assert witness.smallest and witness.where == "the bonus token"
    assert not any("ValueError" in entry.sequence for entry in witness.laws)
