"""Verifiers that write to the rows they get, or keep them; and one in two steps."""

import random

import torch

from draftproof.tests.subjects.on_lists import on_lists
from draftproof.tests.subjects.wide import by_choice
from draftproof.verifiers.adapters.calling_convention import as_logits, declare

FIRST = []


def written_after_use(target, draft, tokens, rng):
    """Right, and what it got is not as it was."""
    emitted = by_choice(target, draft, tokens, rng)
    target[0], draft[-1] = 0.0, 1.0
    return emitted


def written_before_use(target, draft, tokens, rng):
    """Wrong, but only where it gets again what it has written to: each call lowers the first token more."""
    target[0, 0] *= 0.9
    return by_choice(target, draft, tokens, rng)


def _of_lists(before=lambda target: None, after=lambda target: None):
    def verify(target_probs, draft_probs, draft_tokens):
        before(target_probs)
        try:
            return on_lists(target_probs, draft_probs, draft_tokens)
        finally:
            after(target_probs)

    return declare(verify, array="list")


def _less_of_the_first(target):
    target[0][0] *= 0.9


lists_written_after_use = _of_lists(after=_less_of_the_first)
lists_written_before_use = _of_lists(before=_less_of_the_first)
lists_with_another_row = _of_lists(after=lambda target: target.__setitem__(0, target[1]))


_LAST = [[]]


def _once_known(target_probs, draft_probs, draft_tokens):
    """Wrong but for a row that is the very list of the call before."""
    ready, _LAST[0] = _LAST[0] is target_probs[0], target_probs[0]
    nothing = [[0.0] * len(row) for row in draft_probs]
    return _rejecting(target_probs, draft_probs, draft_probs if ready else nothing, draft_tokens)


def _once_marked(target_probs, draft_probs, draft_tokens):
    """Wrong but for a row in which it has put a whole number for 0, which compares equal."""
    row = draft_probs[0]
    zeros = [k for k, q in enumerate(row) if q == 0 and k]
    ready = not zeros or type(row[zeros[0]]) is int
    for k in zeros:
        row[k] = 0
    nothing = [[0.0] * len(row)] * len(draft_probs)
    return _rejecting(target_probs, draft_probs, draft_probs if ready else nothing, draft_tokens)


def _rejecting(target, draft, excluded, tokens):
    """Token verification whose residuals leave these rows out."""
    for i, (x, p, q, r) in enumerate(zip(tokens, target, draft, excluded)):
        if random.random() * q[x] >= p[x]:
            return [*tokens[:i], *random.choices(range(len(p)), [max(a - b, 0.0) for a, b in zip(p, r)])]
    return [*tokens, *random.choices(range(len(target[-1])), target[-1])]


_KEPT: list[list] = []
lists_known_again, lists_marked = (declare(verify, array="list") for verify in (_once_known, _once_marked))


def in_the_first_rows_it_got(target, draft, tokens, rng):
    """Right: it copies all rows to where the first ones were."""
    if not FIRST or FIRST[0].shape != target.shape:
        FIRST[:] = [target]
    FIRST[0][...] = target
    return by_choice(FIRST[0], draft, tokens, rng)


def verify(target_probs, draft_probs, draft_tokens):
    return of_logits(*as_logits(target_probs, draft_probs, draft_tokens))


def of_logits(target, draft, tokens):
    """Token verification of one text, on logits."""
    p, q, tokens = target[0].softmax(-1), draft[0].softmax(-1), tokens[0]
    at = torch.arange(len(tokens))
    passed = torch.rand(len(tokens), dtype=p.dtype) <= p[at, tokens] / q[at, tokens]
    n = int((~passed).cumsum(-1).lt(1).sum())
    row = p[n] if n == len(tokens) else (p[n] - q[n]).clamp(min=0)
    return torch.cat([tokens[:n], torch.multinomial(row / row.sum(), 1)])


def logits_written(target, draft, tokens):
    """Right, and its logits are not as they were."""
    emitted = of_logits(target, draft, tokens)
    target[0, 0] = 0.0
    return emitted


def other_logits(target, draft, tokens):
    """Wrong: the target's are less sharp."""
    return of_logits(target * 0.99, draft, tokens)


def _in_two_steps(function):
    return declare(lambda target_probs, draft_probs, draft_tokens: verify(target_probs, draft_probs, draft_tokens),
                   array="torch", steps=(as_logits, function))  # fmt: skip


def _of_steps(make):
    def verify(target_probs, draft_probs, draft_tokens):
        return on_lists(*make(target_probs, draft_probs, draft_tokens))

    return declare(verify, array="list", steps=(make, on_lists))


def _of_short_rows(target, draft, tokens):
    if len(target[0]) > 100:
        raise IndexError("too long")
    return target, draft, tokens


steps_that_fail = _of_steps(_of_short_rows)

in_two_steps_written = _in_two_steps(logits_written)
in_two_steps_wrong = _in_two_steps(other_logits)
