"""A smaller problem is looked for as long as it takes, and calls are replayed in the tests of state alone."""

import pytest

from draftproof.reports.audits.functions import exact_laws, explanation


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
def replays(request, monkeypatch):
    """Leave out the second process and its replays, but in tests that use ``replayed``."""
    if "replayed" not in request.fixturenames:
        monkeypatch.setattr(exact_laws, "withdraw_for_state", lambda session, laws: laws)
