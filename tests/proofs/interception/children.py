"""A child process with something planted in place of the interception's own."""

from draftproof.proofs.interception import child, harness
from draftproof.proofs.interception.exploration import Exploration
from draftproof.proofs.sandbox import Sandbox


class OneForAll(Sandbox):
    """A planted leak: one exploration for all subjects of the process."""

    child, arguments = "draftproof.tests.proofs.interception.children", ("one for all",)


def main():
    shared = Exploration()
    harness.Exploration = lambda: shared
    child.main()
