"""How far floating point can move a law: by theorems for the reference's formulas, and by a rule for all others.

``theorem``: block and token verification. ``greedy_block``, ``recursive_rejection``, ``tree_rules``: what they name.
``wide``: rows of a whole vocabulary. ``rule``: what an audit allows, by dtype.
"""
