"""The command draftproof e2e: a decoding loop on a pair of models, end to end."""
