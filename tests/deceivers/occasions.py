"""Token verification that accepts everything on an occasion; which one, the other modules say."""

from draftproof.verifiers.zoo.building_blocks import answer, draw, token_by_token


def accept_all(target, draft, tokens, rng):
    return answer(tokens, draw(rng, target[-1], target[-1]))


def when(wrong):
    """Token verification that accepts everything when wrong(), asked in every call."""

    def verify(target, draft, tokens, rng):
        return (accept_all if wrong() else token_by_token)(target, draft, tokens, rng)

    return verify
