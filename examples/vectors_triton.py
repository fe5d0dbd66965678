"""Answers draftproof's test vectors by a Triton kernel: python vectors_triton.py vectors.json results.json

Token verification (Leviathan et al. 2023) of one request by one program, in float32, its last token by a race; greedy
requests too. With TRITON_INTERPRET=1 it needs no GPU. Put your own kernel in its place.
"""

import json
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def verify(target, draft, tokens, accept, noise, out, gamma, vocabulary, BLOCK: tl.constexpr):
    accepted, passing = 0, 1
    for i in range(gamma):
        x = tl.load(tokens + i)
        p, q = tl.load(target + i * vocabulary + x), tl.load(draft + i * vocabulary + x)
        passing = tl.where((passing == 1) & (tl.load(accept + i) * q < p), 1, 0)
        accepted += passing
    ids = tl.arange(0, BLOCK)
    inside = ids < vocabulary
    weights = tl.load(target + accepted * vocabulary + ids, mask=inside, other=0.0)
    taken = tl.load(draft + accepted * vocabulary + ids, mask=inside, other=0.0)
    weights = tl.maximum(weights - taken, 0.0)
    scores = tl.where(weights > 0, weights / tl.load(noise + ids, mask=inside, other=1.0), -1.0)
    tl.store(out, accepted)
    tl.store(out + 1, tl.argmax(scores, axis=0))


def answer(vector: dict) -> dict:
    n, random = vector["drafted"], vector["random"]  # behind n a batch is filled up
    target = torch.tensor(vector["target"]["numbers"][: n + 1])
    if vector["rule"] == "greedy":
        target = torch.nn.functional.one_hot(target.argmax(-1), target.shape[1]).float()
    nothing = [0.0] * target.shape[1]  # is taken from the bonus token's row
    draft = torch.tensor([*vector["draft"]["numbers"][:n], nothing])
    tokens, accept = torch.tensor(vector["tokens"][:n] or [0]), torch.tensor(random["accept"]["numbers"][:n] or [0.0])
    noise, out = torch.tensor(random["noise"]["numbers"]), torch.zeros(2, dtype=torch.int64)
    block = triton.next_power_of_2(target.shape[1])
    verify[(1,)](target, draft, tokens, accept, noise, out, n, target.shape[1], BLOCK=block)
    accepted, last = out.tolist()
    return {"accepted": accepted, "raced": [*vector["tokens"][:accepted], last]}


def main(vectors_file: str, results_file: str) -> None:
    with open(vectors_file, encoding="utf-8") as file:
        suite = json.load(file)
    rules, bits = ["token", "greedy"], 24  # float32 holds uniforms of 24 bits
    chosen = [v for v in suite["vectors"] if v["rule"] in rules and v["random"]["bits"] <= bits]
    program = f"vectors_triton.py, Triton {triton.__version__}"
    about = {"format": "draftproof-results-1", "vectors": suite["digest"], "program": program}
    results = {vector["id"]: answer(vector) for vector in chosen}
    gives = ["accepted", "raced"]
    with open(results_file, "w", encoding="utf-8") as file:
        json.dump({**about, "dtype": "float32", "bits": bits, "rules": rules, "gives": gives, "results": results}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
