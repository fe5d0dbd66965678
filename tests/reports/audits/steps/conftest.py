"""By which step faults would have shown is computed in the tests of these limits alone: it took most of the time."""

import pytest

from .recordings import TYPICAL_LIMITS


@pytest.fixture
def simulated():
    """Make a test one of limits: see ``typical_limits``."""


@pytest.fixture(autouse=True)
def typical_limits(request, monkeypatch):
    """Give judges limits that are already known, but in tests that use ``simulated``."""
    if "simulated" not in request.fixturenames:
        from draftproof.reports.audits.steps import judge

        monkeypatch.setattr(judge, "limits_of", lambda *_: TYPICAL_LIMITS)
