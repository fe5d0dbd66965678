"""Decoders: a right one under all settings, and mutants; programs over chance."""
