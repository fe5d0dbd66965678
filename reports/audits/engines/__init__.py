"""The command draftproof engine: decoders audited from outside, on forged checkpoints whose law is known."""
