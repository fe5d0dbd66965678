"""Laws of verifiers whose random numbers are inputs: deterministic functions, driven over the lattice of their numbers.

``declared``: the random numbers that a subject says it takes. ``coordinates``: their lattices. ``layout``: their places
  in a request, and tables for generators inside a kernel. ``partition``: boxes on which the emitted tokens are the
  same. ``races``: rows of noise. ``products``: uniforms that are multiplied with each other. ``laws``: the laws of one
  problem from all of these, and what random requests confirm. ``answers``: the child process's answers. ``subjects``,
  ``programs``: an object in Python, or a program that speaks JSON lines.
"""
