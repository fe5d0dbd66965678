"""Verifiers that write to the rows they get, or keep them."""

import random

from draftproof.tests.subjects.on_lists import on_lists
from draftproof.tests.subjects.wide import by_choice
from draftproof.verifiers.adapters.calling_convention import declare

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


_ADDRESS = [0]


def _right_at_new_addresses(target_probs, draft_probs, draft_tokens):
    """Wrong for a row at the address of the call before."""
    known, _ADDRESS[0] = _ADDRESS[0] == id(target_probs[0]), id(target_probs[0])
    nothing = [[0.0] * len(row) for row in draft_probs]
    return _rejecting(target_probs, draft_probs, nothing if known else draft_probs, draft_tokens)


lists_right_at_new_addresses = declare(_right_at_new_addresses, array="list")


def lists_by_other_weights(target_probs, draft_probs, draft_tokens):
    """Wrong where the number that it drew before is a plain one: long rows are cut to a half."""
    number, u = random.random(), random.random()
    x, p, q = draft_tokens[0], target_probs[0], draft_probs[0]
    if u * q[x] < p[x]:
        return [x, *random.choices(range(len(p)), target_probs[1])]
    rest = [max(a - b, 0.0) for a, b in zip(p, q)]
    if type(number) is float and len(rest) > 1000:
        rest[::2] = [0.0] * len(rest[::2])
    return [*random.choices(range(len(p)), rest)]


def _once_grown(target_probs, draft_probs, draft_tokens):
    """Wrong but for a row that has room for more, which it has made."""
    row = draft_probs[0]
    ready = row.__sizeof__() > [].__sizeof__() + 8 * len(row)
    size = len(row)
    row.extend(row)
    del row[size:]
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
lists_grown = declare(_once_grown, array="list")
declare(lists_by_other_weights, array="list")


def in_the_first_rows_it_got(target, draft, tokens, rng):
    """Right: it copies all rows to where the first ones were."""
    if not FIRST or FIRST[0].shape != target.shape:
        FIRST[:] = [target]
    FIRST[0][...] = target
    return by_choice(FIRST[0], draft, tokens, rng)
