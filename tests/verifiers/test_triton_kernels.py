"""The Triton kernels, interpreted: token for token the tensor version; driven, they have the law; mutants do not."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from draftproof.models.battery import drawn, toy
from draftproof.proofs.audit_claims import judge
from draftproof.proofs.driven import batches
from draftproof.proofs.driven.answers import answers
from draftproof.proofs.driven.subjects import DrivenObject
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.time_limits import TimeLimits
from draftproof.tests.refusals import one_line
from draftproof.tests.verifiers.batched_parts import kernel_inputs, large
from draftproof.verifiers.batched import sampling
from draftproof.verifiers.batched.backends import verify
from draftproof.verifiers.batched.keyed_uniforms import FIRST_COIN, Seeds, keyed_uniforms, philox
from draftproof.verifiers.batched.sampling import uniforms

pytestmark = [
    pytest.mark.interception, pytest.mark.needs("torch", "triton"), pytest.mark.usefixtures("fewer_confirmations"),
]  # fmt: skip
ALGORITHMS = "token", "block", "greedy-block"
FORMS = "probabilities", "float16", "bfloat16", "one-hot", "keyed", "logits"


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Two tokens a tile, so that rows of five have three."""
    launching = pytest.importorskip("draftproof.verifiers.triton_kernels.launching", reason="needs triton")
    monkeypatch.setattr(launching, "TILE", 2)
    monkeypatch.setattr(launching, "WIDE_TILE", 2)
    return launching


def both(algorithm, target, draft, tokens, chance, **given):
    """What the kernels and what the tensor version emit."""
    return [verify(algorithm, target, draft, tokens, chance, backend=b, **given) for b in ("kernels", "tensors")]


SHORT = {("block", "logits"), ("token", "keyed"), ("greedy-block", "bfloat16"), ("block", "one-hot")}


@pytest.mark.parametrize(
    ("algorithm", "form"),
    [(a, f) if (a, f) in SHORT else pytest.param(a, f, marks=pytest.mark.long) for a in ALGORITHMS for f in FORMS],
)
def test_the_kernels_emit_token_for_token_what_the_tensor_version_emits(algorithm, form, small_tiles, monkeypatch):
    monkeypatch.setattr(small_tiles, "TILE", 128)
    monkeypatch.setattr(sampling, "CHUNK_WIDTH", 128)
    batch, given = kernel_inputs(form, 24, 300, 3)
    mine, tensors = both(algorithm, *batch, **given)
    assert torch.equal(mine.tokens, tensors.tokens) and torch.equal(mine.accepted, tensors.accepted)
    assert form == "one-hot" or len(mine.accepted.unique()) > 2


def subject_of(function, dtype="float32"):
    return DrivenObject(function, "it", "torch", dtype, TimeLimits(120.0))


def lossless(function, problem, dtype="float32"):
    """The judgement on the law of what it emits, with its uniforms on a lattice as fine as float32."""
    for one in function.random:
        one["bits"] = 26
    greedy = getattr(function, "algorithm", "") == "greedy-block"
    return judge(measured(problem, dtype, answers(subject_of(function, dtype), problem), greedy))[0]


def kernels(algorithm, form=""):
    from draftproof.verifiers.adapters.triton_kernels import Kernels

    made = Kernels(algorithm, form)
    made.random = [dict(one) for one in made.random]
    return made


def mutant(name, algorithm, form=""):
    from draftproof.tests.subjects import kernel_mutants

    made = kernel_mutants.mutant(name, algorithm, form)
    made.random = [dict(one) for one in made.random]
    return made


THREE, FIVE = drawn(3, 1, "generic"), drawn(5, 1, "generic")


@pytest.mark.parametrize(
    ("algorithm", "form", "problem", "dtype"),
    [
        ("token", "", THREE, "float32"),
        *(pytest.param(a, f, p, d, marks=pytest.mark.long)
          for a in ALGORITHMS for f in ("", "logits", "one_hot", "keyed") if (a, f) != ("greedy-block", "one_hot")
          for p, d in ((FIVE, "float32"), (toy(2), "bfloat16"))),
    ],
)  # fmt: skip
def test_driven_they_are_lossless_in_every_precision_and_form(algorithm, form, problem, dtype):
    assert lossless(kernels(algorithm, form), problem, dtype).holds


REFUTED = [
    ("tile_dropped", "token", "", THREE), ("partial_sums_lost", "block", "", drawn(5, 2, "generic")),
    ("sums_in_half_precision", "token", "", FIVE), ("numbers_repeat", "token", "keyed", FIVE),
    ("temperature_of_the_target_alone", "token", "logits", FIVE),
    ("residual_of_the_next_row", "block", "", drawn(3, 2, "generic")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "algorithm", "form", "problem"),
    [*REFUTED[:1], *(pytest.param(*case, marks=pytest.mark.long) for case in REFUTED[1:])],
    ids=lambda x: getattr(x, "name", x) or "given",
)
def test_a_mutant_is_refuted_by_its_law(name, algorithm, form, problem):
    judged = lossless(mutant(name, algorithm, form), problem)
    assert judged.refuted and judged.witness


@pytest.mark.parametrize(
    ("name", "form", "shown_by"),
    [*(pytest.param(*case, marks=pytest.mark.long) for case in (
         ("", "", None), ("placeholder_ignored", "", "others of other lengths"),
         ("seed_of_the_slot", "keyed", "the same row in another slot"), ("", "keyed", None)))],
)  # fmt: skip
def test_requests_of_a_batch_influence_each_other_in_mutants_alone(name, form, shown_by, monkeypatch):
    monkeypatch.setattr(batches, "ROUNDS", 1)
    made = mutant(name, "block", form) if name else kernels("block", form)
    answer = batches.influences(subject_of(made), [drawn(3, gamma, "generic") for gamma in (1, 2)], 0)
    ways = {one["way"] for one in answer["influenced"]}
    assert (shown_by in ways) if shown_by else not ways


def test_the_uniforms_of_keys_are_philox_and_no_key_comes_twice():
    zero, ones = np.zeros(1, np.uint64), np.full(1, 2**32 - 1, np.uint64)
    known = {  # of the authors' Random123
        (0, 0): [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8],
        (2**32 - 1, 2**64 - 1): [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD],
    }
    assert [int(x[0]) for x in philox((zero,) * 4, zero)] == known[0, 0]
    assert [int(x[0]) for x in philox((ones,) * 4, np.full(1, 2**64 - 1, np.uint64))] == known[2**32 - 1, 2**64 - 1]
    seeds = Seeds(torch.arange(40).repeat_interleave(50), torch.arange(50).repeat(40) * 2**31)
    numbers = torch.cat([*keyed_uniforms(seeds, 6)], dim=1)
    assert len(numbers.unique()) == numbers.numel() == 40 * 50 * (6 + FIRST_COIN)
    short = keyed_uniforms(seeds, 2)
    assert torch.equal(short.acceptance, numbers[:, :2]) and torch.equal(short.residual, numbers[:, 6:])


def test_what_does_not_fit_is_refused_in_one_line():
    target, draft, tokens = large(2, 40, 3)
    chance, target, draft = uniforms(tokens), target.float(), draft.float()
    for change, text in (
        ({"algorithm": "tokens"}, "algorithm 'tokens'; expected one of token, block, greedy-block"),
        ({"draft": draft[:, 1:]}, "need target [2, 4, 40] and draft [2, 3, 40]"),
        ({"draft": draft.half()}, "expected one type"),
        ({"temperature": torch.ones(2)}, "expected [2], with logits"),
        ({"target": target.double(), "draft": draft.double()}, "kernels take rows in float32, float16 and bfloat16"),
    ):
        given = {"algorithm": "token", "target": target, "draft": draft, "tokens": tokens, "chance": chance,
                 "logits": False, "backend": "kernels"} | change  # fmt: skip
        assert text in one_line(verify, error=ValueError, **given)


@pytest.mark.long
def test_they_compile_for_a_device_that_is_not_here():
    """For an H100, by Triton's own compiler and assembler: the interpreter accepts what a compiler does not."""
    script = Path(__file__).parents[1] / "subjects" / "compile_kernels.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines()[-1] == "31 compiled"
