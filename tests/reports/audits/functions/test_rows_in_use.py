"""A function is judged by the rows that it is given, whatever it says of those it verifies with."""

import pytest

from draftproof import audit
from draftproof.models.battery import drawn
from draftproof.models.wide import wide
from draftproof.tests.reports.audits.functions.written import TOKEN

pytestmark = pytest.mark.interception

SOURCE = (
    TOKEN
    + """def flattened(rows):
    return np.full_like(rows, 1 / rows.shape[-1])
def flat(a, b, c, rng):
    return token(flattened(a), flattened(b), c, rng)
def softmax(a, b, c, rng):
    return token(a, b, c, rng)
flat.rows_in_use = flattened
softmax.rows_in_use = lambda rows: np.exp(np.log(rows)) / np.exp(np.log(rows)).sum(-1, keepdims=True)
"""
)


@pytest.mark.parametrize(
    "problem", [drawn(3, 1, "generic"), pytest.param(wide(129, 1), marks=pytest.mark.long)], ids=["small", "wide"]
)
def test_rows_in_use_that_are_not_those_given_are_not_believed(tmp_path, problem):
    (tmp_path / "subject.py").write_text(SOURCE)
    flat, softmax = (audit(f"{tmp_path / 'subject.py'}:{f}", [problem], explain=False) for f in ("flat", "softmax"))
    assert (flat.verdict, softmax.verdict) == ("refuted", "holds")
    reasons = [e.detail.reason for e in flat.evidence if e.detail.reason]
    assert all("from those it is given" in reason for reason in reasons)
    assert reasons
