"""Answers draftproof's test vectors in JAX, without draftproof: python vectors_jax.py vectors.json results.json

Token verification (Leviathan et al. 2023) of one request in a jitted function, in float32; greedy requests too. Put
your own verifier in its place.
"""

import json
import sys

import jax
import jax.numpy as jnp


@jax.jit
def verify(target, draft, tokens, accept, last, noise):
    gamma = len(tokens)
    place = jnp.arange(gamma)
    p, q = target[place, tokens], draft[place, tokens]
    thresholds = jnp.where(q > 0, jnp.minimum(1, p / q), (p > 0).astype(p.dtype))
    accepted = jnp.cumprod(accept < thresholds).sum().astype(int)
    beside = jnp.concatenate([draft, jnp.zeros_like(target[:1])])  # nothing is taken from the bonus token's row
    weights = jnp.maximum(target[accepted] - beside[accepted], 0)
    sums = jnp.cumsum(weights)
    above = (sums > last * sums[-1]) & (weights > 0)
    raced = jnp.argmax(jnp.where(weights > 0, weights / noise, -1))
    drawn = jnp.where(above.any(), jnp.argmax(above), len(weights) - 1 - jnp.argmax(weights[::-1] > 0))
    return thresholds, accepted, weights, drawn, raced


def answer(vector: dict) -> dict:
    n, random = vector["drafted"], vector["random"]  # behind n a batch is filled up
    target = jnp.array(vector["target"]["numbers"][: n + 1], jnp.float32)
    if vector["rule"] == "greedy":
        target = jax.nn.one_hot(target.argmax(-1), target.shape[1])
    draft = jnp.array(vector["draft"]["numbers"][:n], jnp.float32).reshape(n, target.shape[1])
    tokens = jnp.array(vector["tokens"][:n], int)
    accept = jnp.array(random["accept"]["numbers"][:n], jnp.float32)
    last, noise = (jnp.array(random[name]["numbers"], jnp.float32) for name in ("last", "noise"))
    thresholds, accepted, weights, drawn, raced = verify(target, draft, tokens, accept, last, noise)
    kept = tokens[: int(accepted)].tolist()
    return {"thresholds": thresholds.tolist(), "accepted": int(accepted), "weights": weights.tolist(),
            "emitted": [*kept, int(drawn)], "raced": [*kept, int(raced)]}  # fmt: skip


def main(vectors_file: str, results_file: str) -> None:
    with open(vectors_file, encoding="utf-8") as file:
        suite = json.load(file)
    rules, bits = ["token", "greedy"], 24  # float32 holds uniforms of 24 bits
    chosen = [v for v in suite["vectors"] if v["rule"] in rules and v["random"]["bits"] <= bits]
    program = f"vectors_jax.py, JAX {jax.__version__}"
    about = {"format": "draftproof-results-1", "vectors": suite["digest"], "program": program}
    gives = ["thresholds", "accepted", "weights", "emitted", "raced"]
    results = {vector["id"]: answer(vector) for vector in chosen}
    with open(results_file, "w", encoding="utf-8") as file:
        json.dump({**about, "dtype": "float32", "bits": bits, "rules": rules, "gives": gives, "results": results}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
