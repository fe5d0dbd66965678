"""The batched verifiers on large vocabularies, beside transformers' function on the same rows in the same run.

Limits, on the CPU at V = 32,000 and gamma = 8: block verification from logits at least 5 times faster a call than
``_speculative_sampling``, and at most 1.15 times token verification, from logits and from probabilities.

How long a call takes depends on its chance (how many rows are looked at), so chance is fixed: a few seeds for each of a
few pairs. Of the same call with the same chance the fastest counts, and of those the mean. The peer takes one text at a
time, so for B texts it is called B times. "read" is the time to sum all rows once.
"""

import argparse
import platform
import statistics
import time

import torch

from draftproof.verifiers.adapters.hf_transformers import emitted_tokens, published
from draftproof.verifiers.batched.rows import compiled_rows, rows_of
from draftproof.verifiers.batched.sampling import uniforms
from draftproof.verifiers.batched.verification import block_verification, greedy_block_verification, token_verification

FASTER, PRICE = 5, 1.15
LIMITED = 32_000
"""The vocabulary that the limits are for."""

PAIRS, CHANCES, FEWEST_ROUNDS = 4, 8, 3

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
    found = {"read": lambda: (target.sum(), draft.sum())}
    try:
        published()
    except ImportError:
        pass
    else:
        texts = [(target[k : k + 1], draft[k : k + 1], tokens[k : k + 1]) for k in range(len(tokens))]
        found["transformers"] = lambda: [emitted_tokens(*text) for text in texts]
    for logits in (True, False):
        for name, verify in VERIFIERS.items():
            found[f"{name}, {'logits' if logits else 'probabilities'}"] = lambda v=verify, r=rows[logits], g=logits: v(
                rows_of(*r, tokens, logits=g), uniforms(tokens)
            )
    return found


def timed(pairs, seconds, device):
    """name -> for each pair and chance the seconds of all its calls, in rounds until the time is up.

    Each is warmed up by one call on the pair, so that all find it in the cache.
    """
    wait = torch.cuda.synchronize if device.startswith("cuda") else lambda: None
    ready = [calls(*given) for given in pairs]
    spent = {name: [[] for _ in range(len(pairs) * CHANCES)] for name in ready[0]}
    end, rounds = time.perf_counter() + seconds, 0
    while rounds < FEWEST_ROUNDS or time.perf_counter() < end:
        for at, found in enumerate(ready):
            for name, call in found.items():
                call()
                for seed in range(1 if name == "read" else CHANCES):
                    torch.manual_seed(seed)
                    wait()
                    start = time.perf_counter()
                    call()
                    wait()
                    spent[name][at * CHANCES + seed].append(time.perf_counter() - start)
        rounds += 1
    return {name: [times for times in each if times] for name, each in spent.items()}


def accepted(pairs, verify, repeats):
    """E[tau] of one call, as the pairs have it on average."""
    taus = []
    for target, draft, tokens in pairs:
        rows = rows_of(target, draft, tokens, logits=True)
        taus += [verify(rows, uniforms(tokens)).accepted for _ in range(repeats)]
    return float(torch.stack(taus).double().mean())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vocabulary", type=int, nargs="+", default=[LIMITED, 128_000])
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--gamma", type=int, default=8)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, default=15, help="of timing for each size (at least three rounds)")
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    on_gpu = asked.device.startswith("cuda")
    if on_gpu and not torch.cuda.is_available():
        parser.error(f"--device {asked.device}: torch sees no CUDA device here")
    where = torch.cuda.get_device_name(asked.device) if on_gpu else platform.processor() or platform.machine()
    print(
        f"batched verifiers on {asked.device} ({where}), {asked.threads} threads, torch {torch.__version__}, gamma "
        f"{asked.gamma}, float32, numba {'used' if compiled_rows() and not on_gpu else 'not used'}"
    )
    for vocabulary in asked.vocabulary:
        for batch in asked.batch:
            pairs = [pair(batch, asked.gamma, vocabulary, asked.device, seed) for seed in range(PAIRS)]
            spent = timed(pairs, asked.seconds, asked.device)
            tau = {name: accepted(pairs, verify, 25) for name, verify in VERIFIERS.items()}
            limits = not on_gpu and vocabulary == LIMITED
            report(vocabulary, batch, spent, tau, limits)


def report(vocabulary, batch, spent, tau, limits):
    figures = ", ".join(f"{name} {value:.2f}" for name, value in tau.items())
    print(f"\nV = {vocabulary:,}, B = {batch}; {len(spent['read'][0])} rounds; E[tau]: {figures}")
    print(f"{'':22}{'us':>10}{'median us':>11}{'x read':>8}{'peer / it':>11}{'it / token':>12}")
    mean = {name: statistics.mean(map(min, each)) for name, each in spent.items()}
    peer = mean.get("transformers")
    for name, each in spent.items():
        kind = name.partition(", ")[2]
        faster = f"{peer / mean[name]:.2f}" if peer and kind else "-"
        price = f"{price_of(mean, name):.2f}" if kind else "-"
        median = statistics.median(seconds for times in each for seconds in times)
        print(
            f"{name:22}{1e6 * mean[name]:>10.0f}{1e6 * median:>11.0f}{mean[name] / mean['read']:>8.1f}"
            f"{faster:>11}{price:>12}"
        )
    if limits:
        prices = [price_of(mean, f"block, {kind}") for kind in ("logits", "probabilities")]
        held = {
            f"block from logits {FASTER} times faster than transformers": peer
            and peer / mean["block, logits"] >= FASTER,
            f"from logits {PRICE} times token": prices[0] <= PRICE,
            f"from probabilities {PRICE} times token": prices[1] <= PRICE,
        }
        said = {None: "not measured", True: "held", False: "exceeded"}
        print("limits: " + "; ".join(f"{what}: {said[value]}" for what, value in held.items()))


def price_of(mean, name):
    """The time of a call over that of token verification from the same rows."""
    return mean[name] / mean[f"token, {name.partition(', ')[2]}"]


if __name__ == "__main__":
    main()
