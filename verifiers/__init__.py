"""The algorithms, and what a verifier is. Imports no other package."""
