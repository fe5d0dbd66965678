"""Training a target and its drafters at once, on one thread, to the same weights every time; and what came of it, on
text that they were not trained on."""

import io
from collections.abc import Iterable
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, kl_div

from draftproof.models.files import write_atomically
from draftproof.models.libraries import torch_threads
from draftproof.models.pairs.packaged_pair import Progress
from draftproof_paper.training.recipe import BOS_ID, EOS_ID, STEPS_PER_CHECKPOINT, ModelSize, Recipe

MOMENTUM = 0.95
ITERATIONS = 5
COEFFICIENTS = 3.4445, -4.7750, 2.0315
"""Coefficients of the odd polynomial a x + b x^3 + c x^5 that takes (0, 1] into (0.7, 1.2) in five steps."""

WINDOWS_PER_PASS = 8
"""Windows in a forward pass that measures."""


def train(
    recipe: Recipe, seed: int, ids: Tensor, checkpoint: Path, progress: Progress = lambda *_: None, device: str = "cpu"
) -> tuple[dict[str, Any], float]:
    """Train the models of a recipe on the text ``ids``.

    Returns them by name, in evaluation mode, and the CPU seconds of training.
    The target's loss is the cross entropy of the text; a drafter's is KL(target || drafter) at the same positions.
    Guarantee: on the CPU the same recipe, seed, text and libraries give the same weights on one machine, bit for bit,
    however often the run was killed; on a GPU as far as its kernels repeat themselves. On one thread: the rounding of a
    sum depends on how many there are.
    """
    with torch_threads(1):
        state = _State(recipe, seed, device)
        state.load(checkpoint)
        while state.done < recipe.steps:
            progress("training", state.done, recipe.steps)
            began = process_time()
            state.step(training_windows(ids, recipe, seed, state.done))
            state.cpu_seconds += process_time() - began
            if state.done % STEPS_PER_CHECKPOINT == 0 or state.done == recipe.steps:
                state.save(checkpoint)
        progress("training", recipe.steps, recipe.steps)
    return {name: model.eval() for name, model in state.models.items()}, state.cpu_seconds


def training_windows(ids: Tensor, recipe: Recipe, seed: int, step: int) -> Tensor:
    """Return the windows of a step, [batch, context + 1]: <s>, and text from a place drawn for each."""
    draws = np.random.default_rng((seed, step))
    starts = torch.from_numpy(draws.integers(len(ids) - recipe.context, size=(recipe.batch, 1)))
    return with_start(ids[starts + torch.arange(recipe.context)])


def with_start(texts: Tensor) -> Tensor:
    """<s> before each text, [B, L] to [B, L + 1]."""
    return torch.nn.functional.pad(texts, (1, 0), value=BOS_ID)


class _State:
    """The models and their optimizers between two steps, the number of steps done, and their CPU seconds."""

    def __init__(self, recipe: Recipe, seed: int, device: str):
        self.recipe, self.device, self.done, self.cpu_seconds = recipe, device, 0, 0.0
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            self.models = {name: new_model(recipe, size).to(device) for name, size in recipe.sizes.items()}
        self.optimizers = {name: _optimizers(model, recipe) for name, model in self.models.items()}

    def step(self, texts: Tensor) -> None:
        texts = texts.to(self.device)
        read, wanted = texts[:, :-1], texts[:, 1:].flatten()
        law = None
        for name, model in self.models.items():
            rows = model(read, use_cache=False).logits.flatten(0, 1)
            if law is None:
                loss, law = cross_entropy(rows, wanted), rows.detach().log_softmax(-1)
            else:
                loss = kl_div(rows.log_softmax(-1), law, reduction="batchmean", log_target=True)
            model.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            for optimizer in self.optimizers[name]:
                for group in optimizer.param_groups:
                    group["lr"] = group["rate"] * self.recipe.share_of_rate(self.done)
                optimizer.step()
        self.done += 1

    def save(self, checkpoint: Path) -> None:
        """Replace the checkpoint, the old one or the new one surviving a kill."""
        models = {name: model.state_dict() for name, model in self.models.items()}
        optimizers = {name: [o.state_dict() for o in given] for name, given in self.optimizers.items()}
        counted = {"done": self.done, "cpu_seconds": self.cpu_seconds}
        buffer = io.BytesIO()  # on a full disk torch would raise a RuntimeError, Python raises an OSError
        torch.save({**counted, "models": models, "optimizers": optimizers}, buffer)
        write_atomically(checkpoint, buffer.getvalue())

    def load(self, checkpoint: Path) -> None:
        """Go on from the checkpoint; from the beginning if there is none or it cannot be read."""
        try:
            saved = torch.load(checkpoint, map_location=self.device, weights_only=True)
        except Exception:  # whatever a damaged file makes torch raise
            return
        self.done, self.cpu_seconds = saved["done"], saved["cpu_seconds"]
        for name, model in self.models.items():
            model.load_state_dict(saved["models"][name])
            for optimizer, state in zip(self.optimizers[name], saved["optimizers"][name], strict=True):
                optimizer.load_state_dict(state)


def new_model(recipe: Recipe, size: ModelSize) -> Any:
    """Return a Llama model with random weights, from torch's own generator."""
    from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

    ids: dict[str, Any] = {"bos_token_id": BOS_ID, "eos_token_id": EOS_ID, "pad_token_id": EOS_ID}
    config = LlamaConfig(
        vocab_size=recipe.vocabulary, hidden_size=size.hidden, intermediate_size=size.intermediate,
        num_hidden_layers=size.layers, num_attention_heads=size.heads, num_key_value_heads=size.heads,
        max_position_embeddings=recipe.context, tie_word_embeddings=True, **ids,
    )  # fmt: skip
    model = LlamaForCausalLM(config).float().train()
    # top_k = 0 and top_p = 1: no truncation, whatever an engine's defaults are.
    model.generation_config = GenerationConfig(do_sample=True, temperature=1.0, top_k=0, top_p=1.0, **ids)
    return model


def _optimizers(model: Any, recipe: Recipe) -> list[torch.optim.Optimizer]:
    """Muon for the matrices of the layers, AdamW for the embedding and the norms."""
    matrices = [p for name, p in model.named_parameters() if p.ndim == 2 and "layers" in name]
    others = [p for name, p in model.named_parameters() if p.ndim != 2 or "layers" not in name]
    rest = {"params": others, "rate": recipe.embedding_rate}
    adam = torch.optim.AdamW([rest], betas=(0.9, 0.95), weight_decay=0.0)
    return [Muon([{"params": matrices, "rate": recipe.rate}]), adam]


class Muon(torch.optim.Optimizer):
    """W <- (1 - lr * decay) W - lr * 0.2 sqrt(max(rows, columns)) * orthogonal(G + momentum), for matrices W.

    Momentum whose singular values are all made one. torch has one from 2.9 on, in bfloat16: twenty times as long on
    processors without it.
    The factor gives an entry the size that it has in a step of Adam's, so that both take the same learning rates.
    Source: Jordan et al. 2024, Muon: An optimizer for hidden layers in neural networks; Liu et al. 2025, Eq. 4.
    """

    def __init__(self, groups: Iterable[dict[str, Any]], lr: float = 0.01, weight_decay: float = 0.1):
        super().__init__(groups, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        for group in self.param_groups:
            rate, decay = group["lr"], group["weight_decay"]
            for weight in group["params"]:
                state = self.state[weight]
                if not state:
                    state["momentum"] = torch.zeros_like(weight)
                momentum = state["momentum"].lerp_(weight.grad, 1 - MOMENTUM)
                update = orthogonal(weight.grad.lerp(momentum, MOMENTUM))
                weight.mul_(1 - rate * decay).add_(update, alpha=-rate * 0.2 * max(weight.shape) ** 0.5)


def orthogonal(matrix: Tensor) -> Tensor:
    """U V^T, roughly, of a matrix U S V^T: its singular values are in (0.7, 1.2)."""
    a, b, c = COEFFICIENTS
    x = matrix / matrix.norm().clamp(min=1e-7)
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    for _ in range(ITERATIONS):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return x.T if tall else x


class Evaluation(NamedTuple):
    """loss: cross entropy of the text, nats a token; alpha: acceptance rate against the target, 1 for itself."""

    loss: float
    alpha: float


@torch.inference_mode()
def evaluate(models: dict[str, Any], ids: Tensor, recipe: Recipe) -> dict[str, Evaluation]:
    """Loss and acceptance rate of each model, the first being the target, over windows spread evenly over the text.

    alpha = E[sum_x min(M_b(x | c), M_s(x | c))], the mean over the prefixes c of the windows: the probability that
    token verification accepts a draft token there, T = 1. It orders drafters, and predicts a block efficiency only
    roughly: the prefixes that the models write differ.
    Source: Leviathan et al. 2023, Definition 3.1 and Corollary 3.6.
    """
    starts = torch.linspace(0, len(ids) - recipe.context, recipe.measured).long()
    texts = with_start(ids[starts[:, None] + torch.arange(recipe.context)])
    sums = {name: [0.0, 0.0] for name in models}
    for part in texts.split(WINDOWS_PER_PASS):
        part = part.to(next(iter(models.values())).device)
        read, wanted = part[:, :-1], part[:, 1:]
        target = None
        for name, model in models.items():
            rows = model(read, use_cache=False).logits
            law = rows.softmax(-1)
            target = law if target is None else target
            sums[name][0] += cross_entropy(rows.flatten(0, 1), wanted.flatten(), reduction="sum").item()
            sums[name][1] += acceptance(target, law).sum().item()
    return {name: Evaluation(*(total / texts[:, 1:].numel() for total in totals)) for name, totals in sums.items()}


def acceptance(target: Tensor, draft: Tensor) -> Tensor:
    """sum_x min(target(x), draft(x)) of rows of probabilities, [..., V] to [...]."""
    return torch.minimum(target, draft).sum(-1)
