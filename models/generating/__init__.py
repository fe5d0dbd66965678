"""Speculative decoding of transformers models: the loop, its caches, its randomness, its known defects. Needs torch."""
