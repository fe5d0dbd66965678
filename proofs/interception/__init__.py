"""The exact law of a Python function as it is, by standing between it and its random numbers (docs/mechanisms.md)."""
