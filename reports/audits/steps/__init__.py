"""Recorded verification steps of an engine as it runs, judged."""
