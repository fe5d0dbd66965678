"""Token verification with the commonest mistake, refuted: draftproof audit examples/wrong.py:verify"""


def verify(target_probs, draft_probs, draft_tokens, rng):
    """The replacement is drawn from the target, not from the residual."""
    for i, x in enumerate(draft_tokens):
        if rng.random() * draft_probs[i][x] >= target_probs[i][x]:
            return [*draft_tokens[:i], rng.choice(len(target_probs[i]), p=target_probs[i])]
    return [*draft_tokens, rng.choice(len(target_probs[-1]), p=target_probs[-1])]
