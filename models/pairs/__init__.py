"""Pairs of real models: one trained offline, open ones from the Hub, and prompts for them."""
