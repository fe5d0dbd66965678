"""Third-party code made to look like a verifier."""
