"""Uniforms of a counter-based generator: each is that of a key, with no number used twice and no state anywhere.

The ledger. A number is that of the key (seed, call, place), of Philox4x32-10 with ``seed`` as its key and
(place, call mod 2^32, call / 2^32, PURPOSE) as its counter, of whose 128 bits 53 are used:

    place 0      the uniform that chooses the chunk of the vocabulary for the last token
    place 1      the uniform that chooses the token in it
    place 2 + i  the coin of draft token i

Different keys have different counters, and so bits of their own. A number depends neither on a request's slot in its
batch nor on the length of its neighbours' blocks. The kernels make the same numbers (``triton_kernels.parts``).
Source: Salmon et al. 2011, Parallel Random Numbers: As Easy as 1, 2, 3.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from .sampling import Uniforms

FIRST_COIN = 2
"""The place of the first coin, behind those of the last token."""

PURPOSE = 0x76657269
"""In the counter, of the numbers of a verification: other uses of a seed take another."""

MULTIPLIERS, KEY_STEPS, ROUNDS = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85), 10


class Seeds(NamedTuple):
    """A batch's keys, [B] int64. seed: of each request. call: which of its verifications, never one twice."""

    seed: Tensor
    call: Tensor


def keyed_uniforms(seeds: Seeds, gamma: int) -> Uniforms:
    """Return the uniforms of each request, on the lattice k / 2^53."""
    seed, call = (x.cpu().numpy().astype(np.uint64)[:, None] for x in seeds)
    place = np.arange(gamma + FIRST_COIN, dtype=np.uint64)[None, :] + 0 * seed
    first, second, _, _ = philox(
        (place, 0 * place + call, 0 * place + (call >> np.uint64(32)), 0 * place + PURPOSE), seed
    )
    bits = (first << np.uint64(21)) | (second >> np.uint64(11))
    numbers = torch.from_numpy(np.ldexp(bits.astype(np.float64), -53)).to(seeds.seed.device)
    return Uniforms(numbers[:, FIRST_COIN:].contiguous(), numbers[:, :FIRST_COIN].contiguous())


def philox(counter: tuple[np.ndarray, ...], key: np.ndarray) -> list[np.ndarray]:
    """Return the four words of 32 bits that Philox4x32-10 makes of a counter, by key, in uint64 arrays."""
    low = np.uint64(0xFFFFFFFF)
    shift = np.uint64(32)
    c, k = [word & low for word in counter], [key & low, (key >> shift) & low]
    for _ in range(ROUNDS):
        left, right = c[0] * np.uint64(MULTIPLIERS[0]), c[2] * np.uint64(MULTIPLIERS[1])
        c = [(right >> shift) ^ c[1] ^ k[0], right & low, (left >> shift) ^ c[3] ^ k[1], left & low]
        k = [(word + np.uint64(step)) & low for word, step in zip(k, KEY_STEPS)]
    return c
