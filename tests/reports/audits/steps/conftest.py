"""By which step faults would have shown is simulated in the tests of these limits, and told roughly in all others."""

import pytest


@pytest.fixture
def simulated():
    """Make a test one of limits: see ``rough_limits``."""


@pytest.fixture(autouse=True)
def few_outcomes(request):
    """Tell limits roughly, but in tests that use ``simulated``."""
    if "simulated" not in request.fixturenames:
        request.getfixturevalue("rough_limits")
