"""Statements about all models of a size: the reference verifiers' own code run on symbols."""
