"""naive-speculate: its function for a block, probabilities given."""

from wrapping import loaded, plain

utils = loaded("naive-speculate", "naive_speculate/speculate/utils.py")


@plain
def verify(target_probs, draft_probs, draft_tokens):
    count, token = utils.speculative_sampling(target_probs, draft_probs, draft_tokens)
    return [*draft_tokens[: int(count)], token]
