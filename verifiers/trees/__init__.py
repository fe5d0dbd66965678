"""Verifiers of several drafts at once: rules for a draft tree, one file each.

draft_tree.py        the tree that a rule sees, and what it answers
descent.py           rules that go down one token at a time share this walk
registry.py          the rules by name, with the ways of drafting for which each is lossless
"""
