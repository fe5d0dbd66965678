"""Certainty: exact laws, claims checked exactly, and the exact law of third-party code."""
