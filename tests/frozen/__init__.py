"""Verdicts of right and wrong verifiers and decoders, kept to show which of them a change changes."""
