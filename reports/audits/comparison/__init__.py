"""Reports compared.

states.py: every kind of report as items, each with what is known of it; changes.py: what became better, worse, known,
unknown.
"""
