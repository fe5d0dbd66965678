"""srep-moe: the verification of its engine, a draft without probabilities (it drafts by argmax)."""

from types import SimpleNamespace

from wrapping import loaded, of_logits

engine = loaded("srep-moe", "srep_moe/sd_engine.py")
Engine = next(value for value in vars(engine).values() if hasattr(value, "speculative_sampling"))


@of_logits
def verify(target_probs, draft_probs, draft_tokens):
    given = SimpleNamespace(gamma=len(draft_tokens), device="cpu")
    logits = target_probs.float().log()[None]
    return Engine.speculative_sampling(given, draft_tokens.tolist(), logits, 1.0)[1]
