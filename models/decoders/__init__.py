"""Decoders: a right one under all settings, unusual ones that are right, and mutants; programs over chance."""
