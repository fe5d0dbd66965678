"""What draftproof offers to a project's own test suite.

checks.py: the checks of a verifier, made by one audit.
plugin.py: the pytest plugin, with subjects from the command line and reports of what was audited; and the TOML file of
failures that are known, and which of its entries are out of date.
"""
