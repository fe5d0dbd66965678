"""The commands draftproof tables and draftproof train-pair."""
