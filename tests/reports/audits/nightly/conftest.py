"""A witness is looked for as long as it takes: a slow machine finds what a fast one does."""

import pytest

from draftproof.reports.audits.nightly import witness


@pytest.fixture(scope="session", autouse=True)
def time_to_search():
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(witness, "SEARCH_SECONDS", 3600.0)
        yield
