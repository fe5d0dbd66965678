"""How far floating point can move a law: theorems for the reference's rules, and what an audit allows of other code.

| rule | bound |
|---|---|
| token and block verification | ``token_and_block`` |
| greedy block verification | ``greedy_block`` |
| recursive rejection sampling | ``recursive_rejection`` |
| traversal, multi-round, k-SEQ, transport, hierarchical, list matching: a function each | ``tree_rules`` |
| token and block verification on rows of a whole vocabulary | ``wide`` |
| any code, by its number type | ``rounding_allowed`` |
"""
