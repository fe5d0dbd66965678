"""A right verifier, and one that accepts a little too often."""

from draftproof.verifiers.zoo.building_blocks import with_parts, with_rows

right = with_parts(lambda rng, p, q, x: rng.random() * q[x] < p[x])
two_millionths_too_willing = with_rows(lambda target, tokens: (target * (1 + 2e-6)).astype(target.dtype))
