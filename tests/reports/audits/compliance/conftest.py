"""What a PDF says is read from it once, however often the run that it belongs to is verified."""

from functools import cache

import pytest

from draftproof.reports.audits.compliance import said


@pytest.fixture(scope="session", autouse=True)
def each_pdf_once():
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(said, "said_by_pdf", cache(said.said_by_pdf))
        yield
