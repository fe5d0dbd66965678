"""Optimality certificates: a proof for one problem that no valid verifier accepts more, which anyone can check."""
