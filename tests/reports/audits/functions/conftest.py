"""A smaller problem is looked for as long as it takes, and calls are replayed in the tests of state alone."""

import pytest

from draftproof.reports.audits.functions import explanation


@pytest.fixture(scope="session", autouse=True)
def time_to_search():
    """A slow machine finds what a fast one does."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(explanation, "LONGEST_SHRINKING", 3600.0)
        yield


@pytest.fixture
def replayed():
    """Make a test one of state: see ``replays``."""


@pytest.fixture(autouse=True)
def replays(request):
    """Make audits brief, but in tests that use ``replayed``: see ``brief_audits``."""
    if "replayed" not in request.fixturenames:
        request.getfixturevalue("brief_audits")
