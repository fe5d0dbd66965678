"""The exact law of an unmodified Python function, by standing between it and its random numbers (docs/verdicts.md)."""
