"""The exceptions that the command line shows in one line: bad input, no memory, a run that could not be completed."""


class InputError(ValueError):
    """What is wrong, what was expected, and where. The command line prints it and exits with 2."""


class OutOfMemoryError(InputError):
    """Memory ran out while working; a command reports what it has measured so far and exits with 3."""


class RunFailed(Exception):
    """A run could not be completed, for a reason that lies with its subject or with its limits.

    kind: load, crash, timeout, memory, raises, version or interrupted.
    message: one line.
    """

    def __init__(self, kind: str, message: str):
        super().__init__(kind, message)  # both, so that it can be pickled
        self.kind, self.message = kind, message

    def __str__(self) -> str:
        return self.message
