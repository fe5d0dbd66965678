# pip download --no-deps mtplx; unpack it and run this in its folder; it imports numpy. Target (1, 0), draft (0, 1): the
# draft says 1, which cannot be. Its test is `<=`, and a uniform of 0, which a generator can draw, accepts it.
import sys

import numpy as np

sys.path.insert(0, ".")
from mtplx import sampling


class Zero:
    def random(self):
        return 0.0


print(sampling.verify_one_token(np.array([1.0, 0.0]), np.array([0.0, 1.0]), 1, Zero()))
