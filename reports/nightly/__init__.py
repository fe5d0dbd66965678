"""The nightly regression: fresh draws every night, one history, silence until there is something to say."""
