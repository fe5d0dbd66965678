"""The commands draftproof history and draftproof bisect."""
