"""Evidence where certainty is out of reach: statements with a detection limit."""
