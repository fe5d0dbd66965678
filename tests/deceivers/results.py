"""Right or wrong tokens in a form that could be misread."""

import numpy as np

from draftproof.verifiers.zoo.building_blocks import token_by_token


def returning(form):
    """Right token verification whose result is put into another form(result, draft tokens)."""

    def verify(target, draft, tokens, rng):
        return form(token_by_token(target, draft, tokens, rng), tokens)

    return verify


padded_with_zeros = returning(lambda out, tokens: out + [0] * (len(tokens) + 1 - len(out)))
without_the_last_token = returning(lambda out, tokens: out[:-1] or out)
with_one_token_more = returning(lambda out, tokens: [*out, out[-1]])
in_text = returning(lambda out, tokens: " ".join(map(str, out)))
as_truth_values = returning(lambda out, tokens: [t > 0 for t in out])
last_token_first = returning(lambda out, tokens: [out[-1], *out[:-1]])
draft_always_whole = returning(lambda out, tokens: [*map(int, tokens), out[-1]])


def one_hot(target, draft, tokens, rng):
    out = token_by_token(target, draft, tokens, rng)
    return np.eye(len(target[0]), dtype=int)[out]
