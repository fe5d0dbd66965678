"""The Triton kernels on a CUDA device: the time of a call over the time to read its inputs once.

Limits, for each V and gamma = 8, from float32 probabilities: at B = 64 at most 1.3 times that floor (token) and 1.6
(block), called and captured in a CUDA graph, which is what a serving loop pays; at B = 1 at most 60 microseconds above
it; block at most 1.25 times token at B = 1 and 8 (at 64 the memory decides, and token verification reads two rows of a
request where block verification reads all behind which it can end); faster than transformers' function at B = 1, 20
times at B = 8.

vLLM's kernels of model runner V2 stand beside, from the same logits, where they are unpacked (make engines).

Each call is on the next of several batches, together larger than the device's cache. Medians of calls between two
events. Half of the draft tokens are accepted or more, as where speculation pays.

With TRITON_INTERPRET=1 and small sizes it runs without a device: that finds mistakes here, and its times say nothing.
"""

import argparse
import json
import os
import statistics
import time
from pathlib import Path

import torch
from compiled_laws import vllms_arguments, vllms_functions

from draftproof.verifiers.adapters.calling_convention import NotASubject
from draftproof.verifiers.adapters.hf_transformers import emitted_tokens, published
from draftproof.verifiers.batched.backends import verify
from draftproof.verifiers.batched.sampling import uniforms

VOCABULARIES, GAMMA = (32_000, 128_256, 151_936), 8
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
CACHE_BYTES = 2**28
LIMITS = {"token": 1.3, "block": 1.6}
ABOVE_FLOOR, BLOCK_OVER_TOKEN, FASTER = 60e-6, 1.25, {1: 1.0, 8: 20.0}


def batch_of(size, vocabulary, seed):
    """Probabilities, drafted tokens and uniforms on the device."""
    make = torch.Generator(DEVICE).manual_seed(seed)
    kind = {"generator": make, "device": DEVICE}
    target = 3 * torch.randn(size, GAMMA + 1, vocabulary, **kind)
    draft = target[:, :GAMMA] + 0.5 * torch.randn(size, GAMMA, vocabulary, **kind)
    target, draft = target.softmax(-1), draft.softmax(-1)
    tokens = torch.multinomial(draft.flatten(0, 1), 1, generator=make).view(size, GAMMA)
    return target, draft, tokens, uniforms(tokens, make, make)


def calls(size, batches):
    """name -> a call on batch k. The floor reads all inputs once."""
    found = {"read": lambda k: (batches[k][0].sum(), batches[k][1].sum())}
    logits = [(b[0].log(), b[1].log(), *b[2:]) for b in batches[:2]]
    for name in ("token", "block"):
        found[name] = lambda k, a=name: verify(a, *batches[k], logits=False, backend="kernels")
        found[f"{name}, logits"] = lambda k, a=name: verify(a, *logits[k % 2], logits=True, backend="kernels")
        found[f"{name}, tensors"] = lambda k, a=name: verify(a, *batches[k], logits=False, backend="tensors")
        if DEVICE == "cuda":
            for kind, rows in (("", batches[:4]), ("logits, ", logits)):
                graphs = [
                    captured(lambda b=b, a=name, of=bool(kind): verify(a, *b, logits=of, backend="kernels"))
                    for b in rows
                ]
                found[f"{name}, {kind}graph"] = lambda k, g=graphs: g[k % len(g)].replay()
    found |= vllms(logits)
    try:
        published()
    except ImportError:
        return found
    texts = [(logits[0][0][k : k + 1], logits[0][1][k : k + 1], logits[0][2][k : k + 1]) for k in range(size)]
    found["transformers"] = lambda _: [emitted_tokens(*text) for text in texts]
    return found


def vllms(logits):
    """Calls of vLLM's kernels on these batches; none where they are not unpacked."""
    try:
        _, sample = vllms_functions()
    except NotASubject as missing:
        print(f"vLLM: {missing}")
        return {}
    given = []
    for target, draft, tokens, *_ in logits:
        numbers = torch.arange(len(tokens), device=DEVICE)
        given.append(vllms_arguments(target, draft, torch.nn.functional.pad(tokens, (1, 0)), 0 * numbers, numbers))
    found = {}
    for name, block in (("token", False), ("block", True)):
        found[f"vLLM, {name}"] = lambda k, b=block: sample(*given[k % 2], use_block_verification=b)
        if DEVICE == "cuda":
            graphs = [captured(lambda g=g, b=block: sample(*g, use_block_verification=b)) for g in given]
            found[f"vLLM, {name}, graph"] = lambda k, g=graphs: g[k % 2].replay()
    return found


def captured(call):
    """A CUDA graph of a call."""
    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph


def seconds_of(call, count, batches):
    """The median of that many calls."""
    for k in range(min(3, count)):
        call(k % batches)
    return statistics.median([timed(call, k % batches) for k in range(count)])


def timed(call, k):
    """The seconds of one call: between two events of the device, or by the clock where there is none."""
    if DEVICE == "cpu":
        began = time.perf_counter()
        call(k)
        return time.perf_counter() - began
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    start.record()
    call(k)
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / 1000


def held(size, seconds):
    """Each limit that speaks of this batch size, and whether it was kept."""
    said, floor = {}, seconds["read"]
    for name, limit in LIMITS.items():
        if size == 64:
            for way in (name, f"{name}, graph"):
                said[f"{way} at most {limit} times the floor"] = seconds[way] <= limit * floor
        if size == 1:
            said[f"{name} at most {1e6 * ABOVE_FLOOR:.0f} us above the floor"] = seconds[name] - floor <= ABOVE_FLOOR
        if size in FASTER and "transformers" in seconds:
            said[f"{name} {FASTER[size]:g} times faster than transformers"] = (
                seconds["transformers"] >= FASTER[size] * seconds[name]
            )
    if size < 64:
        said[f"block at most {BLOCK_OVER_TOKEN} times token"] = seconds["block"] <= BLOCK_OVER_TOKEN * seconds["token"]
    return said


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--vocabulary", type=int, nargs="+", default=[*VOCABULARIES])
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--json", type=Path, metavar="FILE", help="the figures, written after every size")
    asked = parser.parse_args()
    if DEVICE == "cpu" and (max(asked.vocabulary) > 5000 or os.environ.get("TRITON_INTERPRET") != "1"):
        parser.error(
            "needs a CUDA device and a torch that sees it; to try it without, TRITON_INTERPRET=1 and small sizes"
        )
    name = torch.cuda.get_device_name() if DEVICE == "cuda" else "Triton's interpreter (no figures)"
    print(f"{name}, torch {torch.__version__}, gamma {GAMMA}, float32 probabilities")
    figures = {"device": name, "torch": torch.__version__, "gamma": GAMMA, "sizes": []}
    for vocabulary in asked.vocabulary:
        for size in asked.batch:
            figures["sizes"].append(measured(size, vocabulary, asked.calls))
            if asked.json:
                asked.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def measured(size, vocabulary, count):
    """The figures of one size, printed as well."""
    bytes_each = 4 * size * (2 * GAMMA + 1) * vocabulary
    batches = [batch_of(size, vocabulary, seed) for seed in range(max(2, min(8, -(-CACHE_BYTES // bytes_each))))]
    seconds = {
        name: seconds_of(call, min(5, count) if name == "transformers" and size > 8 else count, len(batches))
        for name, call in calls(size, batches).items()
    }
    rate = bytes_each / seconds["read"] / 1e9
    print(f"\nV = {vocabulary:,}, B = {size}: {bytes_each / 1e6:.0f} MB of inputs, read at {rate:,.0f} GB/s")
    for name, each in seconds.items():
        print(f"{name:22}{1e6 * each:>12,.1f} us{each / seconds['read']:>10.2f} x read")
    limits = held(size, seconds) if DEVICE == "cuda" else {}
    for what, kept in limits.items():
        print(f"{'held' if kept else 'exceeded':10}{what}", flush=True)
    return {"vocabulary": vocabulary, "batch": size, "seconds": seconds, "limits": limits}


if __name__ == "__main__":
    main()
