"""The command draftproof campaign: what it samples, how it judges."""
