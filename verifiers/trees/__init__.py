"""Verifiers of several drafts at once: rules for a draft tree, one file each.

draft_tree.py        the tree that a rule sees, and what it answers
descent.py           rules that go down one token at a time share this walk
registry.py          the rules by name, with the ways of drafting for which each is lossless

Papers are named by authors and year. Numbers of their sections, algorithms and theorems are from memory, except those
of Sun et al. 2025 (block verification): the texts were not at hand when the rules were written. What a rule does is not
taken on trust from
them: each is derived again, enumerated, and proved or refuted here (``corpus/literature/literature.py``).
"""
