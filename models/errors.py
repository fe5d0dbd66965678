"""Bad input, told in one line."""


class InputError(ValueError):
    """What is wrong, what was expected, and where. The command line prints it and exits with 2."""


class OutOfMemoryError(InputError):
    """Memory ran out while working; a command that has measured something keeps it and exits with 3."""
