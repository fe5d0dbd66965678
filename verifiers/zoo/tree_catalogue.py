"""The zoo's verifiers of draft trees by name."""

from .catalogue import ZOO

TREE_MUTANTS, TREE_CONTROLS = ZOO["TREE_MUTANTS"], ZOO["TREE_CONTROLS"]
