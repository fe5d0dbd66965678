"""The Triton kernels, compiled on a CUDA device: token for token what the tensor version emits there and on the CPU."""

import pytest
import torch

from draftproof.tests.verifiers.batched_parts import ON_CUDA, kernel_inputs
from draftproof.verifiers.batched.backends import verify
from draftproof.verifiers.batched.sampling import uniforms

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
