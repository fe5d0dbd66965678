"""Verifiers in torch that write to the tensors they get, or know them again."""

import weakref

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


_ADDRESS = [0]


def _right_at_new_addresses(target, draft, tokens):
    """Wrong for rows at the address of the call before."""
    known, _ADDRESS[0] = _ADDRESS[0] == target.data_ptr(), target.data_ptr()
    return _emitted(target, draft, torch.zeros_like(draft) if known else draft, tokens)


def _marked(target, draft, tokens):
    """Wrong but for tensors on which it has left a mark."""
    ready, target.seen = hasattr(target, "seen"), True
    return _emitted(target, draft, draft if ready else torch.zeros_like(draft), tokens)


_SEEN = weakref.WeakSet()


def _known_weakly(target, draft, tokens):
    """Wrong but for tensors of which it has a weak reference."""
    ready = target in _SEEN
    _SEEN.add(target)
    return _emitted(target, draft, draft if ready else torch.zeros_like(draft), tokens)


def _view_kept(target, draft, tokens):
    """Wrong but for rows whose memory is that of a view that it has kept."""
    ready, _LAST[0] = _LAST[0] is not None and _LAST[0].data_ptr() == target.data_ptr(), target[:1]
    return _emitted(target, draft, draft if ready else torch.zeros_like(draft), tokens)


def _counted(target, draft, tokens):
    """Wrong but for tensors that were written to before, if only what they hold already."""
    ready = target._version > 0
    target[0, 0] = float(target[0, 0])
    return _emitted(target, draft, draft if ready else torch.zeros_like(draft), tokens)


after_use, before_use, through_numpy, known_again, marked, known_weakly, view_kept, counted, right_at_new_addresses = (
    declare(verify, array="torch")
    for verify in (
        _written_after_use, _written_before_use, _written_through_numpy, _known_again, _marked, _known_weakly,
        _view_kept, _counted, _right_at_new_addresses,
    )
)  # fmt: skip
