"""Token verification with one row of noise for all positions, as vLLM's sampler has it: right forms and wrong ones."""

import numpy as np


def _excess(target, draft):
    return np.maximum(target[:-1] - draft, 0)


def _accepted(target, draft, tokens, rng):
    """Return how many drafted tokens are kept, by a coin each."""
    coins = rng.random(len(tokens))
    kept = [coins[i] * draft[i, x] < target[i, x] for i, x in enumerate(tokens)]
    return kept.index(False) if False in kept else len(kept)


def _verified(recovered, bonus=None):
    """Make a verifier. recovered(target, draft, tokens, noise): a replacement for each position, found beforehand.

    bonus(target, noise): the token after the block, drawn by weight if that is not given.
    """

    def verify(target, draft, tokens, rng):
        noise = rng.exponential(size=target.shape[1])
        found = recovered(target, draft, tokens, noise)
        count = _accepted(target, draft, tokens, rng)
        if count < len(tokens):
            return [*tokens[:count], found[count]]
        row = target[-1] / target[-1].sum()
        return [*tokens, rng.choice(len(row), p=row) if bonus is None else bonus(target, noise)]

    return verify


def _rows(target, draft, tokens, noise):
    return np.argmax(_excess(target, draft) / noise, axis=-1)


all_rows = _verified(_rows)
bonus_as_well = _verified(_rows, lambda target, noise: np.argmax(target[-1] / noise))


def in_one_array(target, draft, tokens, rng):
    """Write all replacements into an array, then put the drafted tokens over those before the first rejection."""
    noise = rng.exponential(size=target.shape[1])
    emitted = np.append(_rows(target, draft, tokens, noise), np.argmax(target[-1] / noise))
    count = _accepted(target, draft, tokens, rng)
    emitted = np.where(np.arange(len(emitted)) < count, np.append(tokens, 0), emitted)
    return emitted[: count + 1]


def only_where_it_is_rejected(target, draft, tokens, rng):
    noise = rng.exponential(size=target.shape[1])
    count = _accepted(target, draft, tokens, rng)
    return [*tokens[:count], np.argmax(np.append(_excess(target, draft), target[-1:], axis=0)[count] / noise)]


RIGHT = (all_rows, bonus_as_well, in_one_array, only_where_it_is_rejected)

target_in_place_of_residual = _verified(lambda target, draft, tokens, noise: (target[:-1] / noise).argmax(-1))
replacement_of_the_last_row = _verified(lambda target, draft, tokens, noise: _rows(target, draft, tokens, noise)[::-1])


def one_noise_draws_all(target, draft, tokens, rng):
    """Every token is drawn with the same noise, and a drafted one is kept where it equals the drawn one."""
    sampled = np.argmax(target / rng.exponential(size=target.shape[1]), axis=-1)
    for i, x in enumerate(tokens):
        if sampled[i] != x:
            return [*tokens[:i], sampled[i]]
    return sampled


@_verified
def moved_if_two_agree(target, draft, tokens, noise):
    """The replacement is moved on by one id where two positions have the same."""
    found = _rows(target, draft, tokens, noise)
    return found if len(set(found)) == len(found) else (found + 1) % target.shape[1]


@_verified
def noise_moved_by_the_first(target, draft, tokens, noise):
    """The noise of the later positions is turned by the first winner."""
    weights = _excess(target, draft)
    first = np.argmax(weights[0] / noise)
    return [first, *(np.argmax(row / np.roll(noise, first)) for row in weights[1:])]


def kept_if_it_wins_later(target, draft, tokens, rng):
    """A drafted token that is rejected stays if it is the replacement of the last position."""
    noise = rng.exponential(size=target.shape[1])
    found, count = _rows(target, draft, tokens, noise), _accepted(target, draft, tokens, rng)
    if count < len(tokens):
        return [*tokens[:count], tokens[count] if found[-1] == tokens[count] else found[count]]
    return [*tokens, rng.choice(target.shape[1], p=target[-1])]


REFUTED = (target_in_place_of_residual, replacement_of_the_last_row)
SEVERAL = (one_noise_draws_all, moved_if_two_agree, noise_moved_by_the_first, kept_if_it_wins_later)
