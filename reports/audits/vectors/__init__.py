"""Test vectors for draft verifiers in any language, and their judge.

cases.py        the inputs of the deterministic vectors: rows, tokens, random numbers (cases.json)
answers.py      what a rule gives on them, exactly, by the reference verifiers' own code
law_vectors.py  problems whose exact law a verifier's output has to follow
suite.py        all vectors with the classes of bug, and the folder that ``draftproof vectors export`` writes
results.py      the file in which a program writes its answers
judgement.py    those answers compared with the vectors, by flag
"""
