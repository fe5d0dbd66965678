"""Verifiers in torch that write to the tensors they get, or know them again."""

import torch

from draftproof.verifiers.adapters.calling_convention import declare

_LAST = [None]


def _emitted(target, draft, excluded, tokens):
    """Token verification whose residuals leave these rows out."""
    for i, x in enumerate(tokens.tolist()):
        if torch.rand((), dtype=draft.dtype) * draft[i, x] >= target[i, x]:
            return [*tokens[:i].tolist(), int(torch.multinomial((target[i] - excluded[i]).clamp(min=0), 1))]
    return [*tokens.tolist(), int(torch.multinomial(target[-1], 1))]


def _written_after_use(target, draft, tokens):
    """Right, and what it got is not as it was."""
    emitted = _emitted(target, draft, draft, tokens)
    target[0], draft[-1] = 0.0, 1.0
    return emitted


def _written_before_use(target, draft, tokens):
    """Wrong, but only where it gets again what it has written to: each call lowers the first token more."""
    target[0, 0] *= 0.9
    return _emitted(target, draft, draft, tokens)


def _written_through_numpy(target, draft, tokens):
    """The same past torch, which counts what it writes itself."""
    target.numpy()[0, 0] *= 0.9
    return _emitted(target, draft, draft, tokens)


def _known_again(target, draft, tokens):
    """Wrong but for rows in the very tensor of the call before."""
    ready, _LAST[0] = _LAST[0] is target, target
    return _emitted(target, draft, draft if ready else torch.zeros_like(draft), tokens)


after_use, before_use, through_numpy, known_again = (
    declare(verify, array="torch")
    for verify in (_written_after_use, _written_before_use, _written_through_numpy, _known_again)
)
