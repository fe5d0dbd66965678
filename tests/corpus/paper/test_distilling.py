"""A drafter distilled from a target: nearer to it than the target's layers alone, the same every time, and saved as
what was trained. That of the open model: make smollm2."""

import pytest
import torch

from draftproof_paper.distilling.fitted_drafter import FittedDrafter, FittedRecipe, distil

pytestmark = [pytest.mark.engine, pytest.mark.needs("torch", "transformers")]

RECIPE = FittedRecipe(layers=1, texts=64, tokens=24, steps=80, batch=8, rate=3e-3)
PROMPT = [1, 5, 7]


@pytest.fixture(scope="module")
def target():
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=60, hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=2,
        num_key_value_heads=1, max_position_embeddings=64, tie_word_embeddings=True, initializer_range=0.3,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return LlamaForCausalLM(config).eval()


def test_fitting_helps_training_helps_more_and_both_are_the_same_every_time(target):
    said = []
    alone = FittedDrafter(target, 1)
    fitted = distil(target, PROMPT, FittedRecipe(**{**vars(RECIPE), "steps": 0}))[1]
    drafter, trained = distil(target, PROMPT, RECIPE, lambda stage, done, total: said.append(stage))
    again, same = distil(target, PROMPT, RECIPE)
    assert torch.equal(again.matrix, drafter.matrix) and same == trained
    assert not torch.equal(alone.matrix, drafter.matrix)
    assert trained > fitted
    assert list(dict.fromkeys(said)) == ["writing texts", "reading them", "training"]
    with torch.no_grad():
        texts = torch.randint(60, (8, 20), generator=torch.Generator().manual_seed(1))
        law = target(texts).logits[:, 2:-1].flatten(0, 1).softmax(-1)
        apart = [float((law - each.logs(texts, 3).exp()).abs().sum(-1).mean()) / 2 for each in (alone, drafter)]
    assert apart[1] < apart[0], "on texts of no model, too"


def test_the_matrix_of_least_squares_leaves_what_no_matrix_can_explain(target):
    drafter, draws = FittedDrafter(target, 1), torch.Generator().manual_seed(0)
    read, matrix = torch.randn(400, 32, generator=draws), torch.randn(32, 32, generator=draws)
    noise = 0.1 * torch.randn(400, 32, generator=draws)
    drafter.fit(read, read @ matrix + noise, 1e-6)
    left = read @ drafter.matrix.detach() - read @ matrix - noise
    assert torch.allclose(read.T @ left / 400, torch.zeros(32, 32), atol=1e-4)
    assert not torch.allclose(read.T @ (left + 0.1 * read) / 400, torch.zeros(32, 32), atol=1e-2)


def test_the_checkpoint_computes_the_rows_that_were_trained(target):
    drafter, _ = distil(target, PROMPT, RECIPE)
    texts = torch.tensor([[1, 5, 7, 9, 11, 2]])
    with torch.no_grad():
        model = drafter.checkpoint()
        logs = model(texts).logits[0, 1:-1].log_softmax(-1)
        assert torch.allclose(logs, drafter.logs(texts, 2), atol=1e-5)
        model.lm_head.weight.data = drafter.rows
        assert not torch.allclose(model(texts).logits[0, 1:-1].log_softmax(-1), drafter.logs(texts, 2), atol=1e-2)
