"""draftproof: speculative decoding proved, tested and audited."""

__version__ = "0.1.0"
