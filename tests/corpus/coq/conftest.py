"""A machine with more to do than it has processors."""

from draftproof.tests.proofs.conftest import busy_machine  # noqa: F401  # a fixture
