"""Speculative decoding of transformers models: the loop, its caches, its randomness. Needs torch."""
