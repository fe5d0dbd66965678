"""Certainty: exact laws, claims checked exactly, and the exact law of somebody else's code."""
