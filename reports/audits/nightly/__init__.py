"""The nightly regression: fresh draws every night, one history, silence until there is something to say."""

DEFAULT_FILE = "draftproof-nightly.sqlite"
"""The history in the current folder, used where no database is named."""
