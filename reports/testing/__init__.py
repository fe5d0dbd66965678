"""In a project's own test suite.

plugin.py          the pytest plugin: subjects from the command line, reports of what was audited, known failures
known_failures.py  the TOML file of failures that are known, and which of its entries are out of date
"""
