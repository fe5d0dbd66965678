"""Pairs of models on disk, made once for all tests of end-to-end runs."""

import pytest


@pytest.fixture(scope="session")
def forged(tmp_path_factory):
    """Options of a small forged pair."""
    from draftproof.tests.reports.audits.loops.e2e_parts import forged_pair

    return forged_pair(tmp_path_factory.mktemp("forged"), 3, 2)


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """Options of a miniature pair that has been trained, and prompts for it."""
    from draftproof.tests.reports.audits.loops.e2e_parts import trained_pair

    return trained_pair(tmp_path_factory.mktemp("trained"))
