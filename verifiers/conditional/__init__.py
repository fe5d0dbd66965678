"""Laws of what a verifier emits, given the drafted tokens and the rows: of many recorded steps at once, in NumPy."""
