"""The algorithms, and what a verifier is. The ground floor: imports no other room."""
