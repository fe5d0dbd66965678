"""By which step faults would have shown is simulated in the tests of these limits, and told roughly in all others."""

import pytest

from draftproof.reports.audits.steps import limits


@pytest.fixture
def simulated():
    """Make a test one of limits: see ``few_outcomes``."""


@pytest.fixture(autouse=True)
def few_outcomes(request, monkeypatch):
    """Draw one outcome on few steps for a limit, but in tests that use ``simulated``: limits took most of the time."""
    if "simulated" not in request.fixturenames:
        monkeypatch.setattr(limits, "ROUNDS", 1)
        monkeypatch.setattr(limits, "LIMIT_STEPS", 32)
