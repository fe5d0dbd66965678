"""The Triton kernels, compiled on a CUDA device: token for token what the tensor version emits there and on the CPU."""

import pytest
import torch

from draftproof.tests.verifiers.batched_parts import LARGEST, ON_CUDA, kernel_inputs
from draftproof.verifiers.batched.backends import verify
from draftproof.verifiers.batched.sampling import Uniforms, uniforms

pytestmark = [*ON_CUDA, pytest.mark.needs("triton")]
ALGORITHMS = "token", "block", "greedy-block"
FORMS = "float32", "float16", "bfloat16", "one-hot", "keyed", "logits"
SIZES = (1, 40, 1), (3, 1024, 2), (24, 2500, 3), (8, 32_000, 8), (4, 151_936, 5)


def moved(value, device):
    return type(value)(*(x.to(device) for x in value)) if isinstance(value, tuple) else value.to(device)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_compiled_kernels_emit_token_for_token_what_the_tensor_version_emits(algorithm, form, size):
    batch, given = kernel_inputs(form, *size)
    tensors = verify(algorithm, *batch, backend="tensors", **given)
    there = [None if x is None else moved(x, "cuda") for x in batch]
    given = {name: x.to("cuda") if isinstance(x, torch.Tensor) else x for name, x in given.items()}
    for backend in ("kernels", "tensors", "auto"):
        found = verify(algorithm, *there, backend=backend, **given)
        assert found.tokens.device.type == "cuda"
        assert torch.equal(found.tokens.cpu(), tensors.tokens), backend
        assert torch.equal(found.accepted.cpu(), tensors.accepted), backend


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_uniform_moved_across_its_threshold_changes_what_compiled_kernels_emit(algorithm):
    """The comparison above would see it: with every coin at 0, or at the largest uniform, other tokens are emitted."""
    (target, draft, tokens, chance), given = kernel_inputs("float32", 24, 2500, 3)
    given_coins = chance.acceptance
    emitted = []
    for coins in (given_coins, torch.zeros_like(given_coins), torch.full_like(given_coins, LARGEST)):
        there = [moved(x, "cuda") for x in (target, draft, tokens, Uniforms(coins, chance.residual))]
        emitted.append(verify(algorithm, *there, backend="kernels", **given).accepted.sum().item())
    assert emitted[1] > emitted[0] > emitted[2]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_compiled_kernels_give_each_request_what_it_gets_alone(algorithm):
    (target, draft, tokens, chance), given = kernel_inputs("float32", 24, 2500, 3)
    there = [moved(x, "cuda") for x in (target, draft, tokens, chance)]
    whole = verify(algorithm, *there, backend="kernels", **given).tokens
    for k in (0, 5, 23):
        one = [type(x)(*(y[k : k + 1] for y in x)) if isinstance(x, tuple) else x[k : k + 1] for x in there]
        assert torch.equal(verify(algorithm, *one, backend="kernels", **given).tokens[0], whole[k])


@pytest.mark.parametrize("form", ["float32", "logits", "one-hot"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_captured_graph_emits_what_the_uniforms_it_is_given_later_ask_for(algorithm, form):
    batch, _ = kernel_inputs(form, 24, 2500, 3)
    target, draft, tokens, chance = [None if x is None else moved(x, "cuda") for x in batch]
    given = {"logits": form == "logits", "backend": "kernels"}
    verify(algorithm, target, draft, tokens, chance, **given)  # compiled before it is captured
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = verify(algorithm, target, draft, tokens, chance, **given)
    seen = set()
    for seed in range(3):
        make = torch.Generator().manual_seed(seed)
        for held, fresh in zip(chance, uniforms(batch[2], make, make), strict=True):
            held.copy_(fresh)
        graph.replay()
        assert torch.equal(captured.tokens, verify(algorithm, target, draft, tokens, chance, **given).tokens)
        seen.add(tuple(captured.tokens.flatten().tolist()))
    assert len(seen) == 3
