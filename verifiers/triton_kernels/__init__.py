"""Token, block and greedy block verification of a batch as Triton kernels, which read no more than the algorithm needs.

``token_verification``, ``block_verification``: the kernels, each with what it reads. ``parts``: what they share,
their random numbers too, given or by a counter-based generator (keys: ``batched.keyed_uniforms``); ``launching``:
shapes and launches.
``runtime``: compiled on a CUDA device, elsewhere run by Triton's interpreter. The readable version, and the reference,
is ``verifiers.batched``; ``batched.backends.verify`` picks one. Needs torch and triton.
"""
