"""Right verifiers in the styles that decide how many ways their random numbers can fall in a long block; one that is
wrong on longer blocks over more than a few tokens."""

from draftproof.tests.deceivers.long_blocks import Defect, verifier
from draftproof.tests.subjects.wide import by_choice

_styles = {"steps": "steps", "vector": "vector", "forwards": "block", "backwards": "block backwards"}
steps, vector, forwards, backwards = (verifier(Defect("untested", _styles[s], 99, True, 0)) for s in _styles)


def from_three_tokens_over_more_than_eight(target, draft, tokens, rng):
    """The last of three and more drafted tokens over more than eight is kept without a test, but for gamma 9."""
    untested = len(tokens) >= 3 and len(tokens) != 9 and target.shape[1] > 8
    if untested:
        draft = draft.copy()
        draft[-1][tokens[-1]] = target[len(tokens) - 1][tokens[-1]]
    return by_choice(target, draft, tokens, rng)
