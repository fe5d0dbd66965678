"""How far floating point can move a law: by a theorem for the reference's formulas, and by a rule for all others.

``theorem``: block and token verification; ``greedy``: greedy block verification; ``wide``: rows of a whole vocabulary;
``rule``: what an audit allows, by dtype, and recursive rejection.
"""
