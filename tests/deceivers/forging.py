"""Changes the audit from inside the process that it shares with it."""

import json

from draftproof.verifiers.zoo.building_blocks import answer, draw, token_by_token


def accept_all(target, draft, tokens, rng):
    return answer(tokens, draw(rng, target[-1], target[-1]))


def patching(patch):
    """Accepts everything, after patch() in its first call."""
    done = []

    def verify(target, draft, tokens, rng):
        if not done:
            done.append(patch())
        return accept_all(target, draft, tokens, rng)

    return verify


def _other_explore():
    """Let the audit explore another function than this one."""
    from draftproof.proofs.interception import harness

    harness.call = lambda function, plan, given, generator: token_by_token(*given, generator)


def _rows_in_use():
    """Let the audit believe in a target that is what comes out."""
    from draftproof.proofs.interception import rows_in_use

    real = rows_in_use.RowsInUse.in_use

    def in_use(self):
        target, draft = real(self)
        return {x: draft.get(x, row) for x, row in target.items()}, draft

    rows_in_use.RowsInUse.in_use = in_use


def _answers():
    """Let json write other laws than those that are sent."""
    real = json.dumps
    json.dumps = lambda x, *more, **options: real(
        x if not isinstance(x, dict) or "paths" not in x else {**x, "law": None, "reason": "none"}, *more, **options
    )


another_function_called = patching(_other_explore)
rows_replaced = patching(_rows_in_use)
answers_changed = patching(_answers)


def inputs_changed(target, draft, tokens, rng):
    """Writes the draft's rows over the target's, then verifies rightly against those."""
    target[: len(draft)] = draft
    return token_by_token(target, draft, tokens, rng)


def draft_tokens_changed(target, draft, tokens, rng):
    """Replaces the draft tokens in place, and accepts them."""
    for i in range(len(tokens)):
        tokens[i] = int(target[i].argmax())
    return token_by_token(target, draft, tokens, rng)


class _Tokens(list):
    """A list that gives other tokens when it is read a second time."""

    reads = 0

    def __iter__(self):
        self.reads += 1
        return iter([0] if self.reads > 1 else list.copy(self))


def result_of_another_mind(target, draft, tokens, rng):
    return _Tokens(accept_all(target, draft, tokens, rng))
