"""Laws of verifiers whose random numbers are inputs: deterministic functions, driven over the lattice of their numbers.

``declared``: the random numbers that a subject says it takes; ``coordinates``: their lattices; ``layout``: where they
stand in a request, and tables for generators inside a kernel. ``partition``: boxes on which the emitted tokens are the
same, found by procedures that share batches of requests. ``races``: rows of noise. ``products``: uniforms that are
multiplied with each other. ``laws``: the laws of one problem from all of these, and what random requests confirm of
them; ``answers``: what the child process says of them, and of numbers that the next block asks for again.
``subjects``, ``programs``: what is asked, an object in Python or a program that speaks JSON lines.
"""
