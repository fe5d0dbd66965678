"""Verdicts of right and wrong verifiers and decoders, kept so that a change of the code shows which of them it changes."""
