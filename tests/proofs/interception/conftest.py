"""One child process that has loaded torch for all tests here: to start one takes longer than most of them."""

import pytest

from draftproof.proofs.sandbox import Sandbox


@pytest.fixture(scope="session")
def torch_child():
    """Gives it, with rows of a precision."""
    with Sandbox("", "torch", timeout=60, torch=True) as box:

        def child(dtype="float64"):
            box.dtype = dtype
            return box

        yield child
