"""The batched verifiers on large vocabularies, beside transformers' function on the same logits in the same run.

Limits, on the CPU at V = 32,000 and gamma = 8: block verification at least 5 times faster a call than
``_speculative_sampling``, and at most 1.15 times token verification; both from logits. The peer takes one text at a time,
so for B texts it is called B times. "read" is the time to sum all logits once.
"""

import argparse
import platform
import statistics
import time

import torch

from draftproof.verifiers.batched.block_verification import block_verification
from draftproof.verifiers.batched.greedy_block_verification import greedy_block_verification
from draftproof.verifiers.batched.rows import COMPILED, rows_of
from draftproof.verifiers.batched.sampling import uniforms
from draftproof.verifiers.batched.token_verification import token_verification

FASTER, PRICE = 5, 1.15

VERIFIERS = {
    "token": token_verification,
    "block": block_verification,
    "greedy": lambda rows, chance: greedy_block_verification(rows, chance)[0],
}


def pair(batch, gamma, vocabulary, device, seed):
    """Logits with tails as those of language models have, a draft that agrees about half the time, and its tokens."""
    make = torch.Generator().manual_seed(seed)
    target = 3 * torch.randn(batch, gamma + 1, vocabulary, generator=make)
    draft = target[:, :gamma] + 0.5 * torch.randn(batch, gamma, vocabulary, generator=make)
    tokens = torch.multinomial(draft.flatten(0, 1).softmax(-1), 1, generator=make).view(batch, gamma)
    return [x.to(device) for x in (target, draft, tokens)]


def calls(target, draft, tokens):
    """name -> what is timed, on one pair."""
    rows = {True: (target, draft), False: (target.softmax(-1), draft.softmax(-1))}
    yield "read", lambda: (target.sum(), draft.sum())
    try:
        from transformers.generation.utils import _speculative_sampling as published
    except ImportError:
        pass
    else:
        gamma = tokens.shape[1]
        texts = [(tokens[k : k + 1], draft[k : k + 1], gamma, target[k : k + 1]) for k in range(len(tokens))]
        yield "transformers", lambda: [published(*text) for text in texts]
    for logits in (True, False):
        for name, verify in VERIFIERS.items():
            yield (
                f"{name}, {'logits' if logits else 'probabilities'}",
                lambda v=verify, r=rows[logits], g=logits: v(rows_of(*r, tokens, logits=g), uniforms(tokens)),
            )


def timed(pairs, rounds, device):
    """name -> seconds of single calls. Each is warmed up by one call on the pair, so that all find it in the cache."""
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    spent = {}
    for _ in range(rounds):
        for given in pairs:
            for name, call in calls(*given):
                call()
                for _ in range(3):
                    wait()
                    start = time.perf_counter()
                    call()
                    wait()
                    spent.setdefault(name, []).append(time.perf_counter() - start)
    return spent


def accepted(pairs, verify, repeats):
    """E[tau] of one call, as the pairs have it on average."""
    taus = []
    for target, draft, tokens in pairs:
        rows = rows_of(target, draft, tokens, logits=True)
        taus += [verify(rows, uniforms(tokens)).accepted for _ in range(repeats)]
    return float(torch.stack(taus).double().mean())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vocabulary", type=int, nargs="+", default=[32_000, 128_000])
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--gamma", type=int, default=8)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=30)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    where = torch.cuda.get_device_name() if asked.device == "cuda" else platform.processor() or platform.machine()
    print(
        f"batched verifiers on {asked.device} ({where}), {asked.threads} threads, torch {torch.__version__}, gamma "
        f"{asked.gamma}, float32, numba {'used' if COMPILED and asked.device == 'cpu' else 'not used'}"
    )
    for vocabulary in asked.vocabulary:
        for batch in asked.batch:
            rounds = max(asked.rounds * 32_000 // (vocabulary * batch), 8)
            pairs = [pair(batch, asked.gamma, vocabulary, asked.device, seed) for seed in range(4)]
            spent = timed(pairs, rounds, asked.device)
            tau = {name: accepted(pairs, verify, 50) for name, verify in VERIFIERS.items()}
            report(vocabulary, batch, spent, tau)


def report(vocabulary, batch, spent, tau):
    size = len(next(iter(spent.values())))
    told = ", ".join(f"{name} {value:.2f}" for name, value in tau.items())
    print(f"\nV = {vocabulary:,}, B = {batch}; {size} calls each; E[tau]: {told}")
    print(f"{'':22}{'min us':>10}{'median us':>11}{'x read':>8}{'peer / it':>11}{'it / token':>12}   (of the minima)")
    least = {name: min(times) for name, times in spent.items()}
    peer = least.get("transformers")
    for name, times in spent.items():
        kind = name.partition(", ")[2]
        faster = f"{peer / least[name]:.2f}" if peer and kind else "-"
        price = f"{least[name] / least[f'token, {kind}']:.2f}" if kind else "-"
        print(
            f"{name:22}{1e6 * least[name]:>10.0f}{1e6 * statistics.median(times):>11.0f}"
            f"{least[name] / least['read']:>8.1f}{faster:>11}{price:>12}"
        )
    block, token = least["block, logits"], least["token, logits"]
    if peer and vocabulary == 32_000:
        held = peer / block >= FASTER and block / token <= PRICE
        print(f"limits for block, logits: {FASTER} times faster, {PRICE} times token: {'held' if held else 'exceeded'}")


if __name__ == "__main__":
    main()
