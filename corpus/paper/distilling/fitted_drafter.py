"""A drafter of the target's first layers and a head of its own, fitted to the target's rows on text that it wrote.

``python -m draftproof_paper.distilling.fitted_drafter`` puts one beside the packaged pair, as smollm2:distilled.
"""

import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import mkdtemp
from time import process_time
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import kl_div

from draftproof.models.files import write_atomically
from draftproof.models.generating.generate import generate
from draftproof.models.libraries import quiet, torch_threads
from draftproof.models.pairs.packaged_pair import DISTILLED, Progress, packaged_pair
from draftproof.models.pairs.presets import CHAT
from draftproof_paper.training.training import acceptance

NAME, FIGURES = DISTILLED, "distilled.json"


@dataclass(frozen=True)
class FittedRecipe:
    """How a drafter is distilled; with the target and the libraries all that its weights depend on.

    layers: of the target, the first ones.
    texts, tokens: of the target's own, one in eight held out. seed: of their randomness, and of the steps'.
    ridge: of the head's least squares, as a share of the mean square of an input.
    steps, batch, rate: of the training that follows.
    """

    layers: int = 2
    texts: int = 128
    tokens: int = 128
    seed: int = 0
    ridge: float = 0.01
    steps: int = 48
    batch: int = 4
    rate: float = 3e-4


class FittedDrafter(torch.nn.Module):
    """The first layers of a Llama model, the norm without gains, a square matrix, and the target's output rows."""

    def __init__(self, target: Any, layers: int):
        super().__init__()
        self.body = type(target.model)(type(target.config)(**target.config.to_dict() | {"num_hidden_layers": layers}))
        self.body.load_state_dict(target.model.state_dict(), strict=False)
        self.body.norm.weight.data.fill_(1.0)
        self.matrix = torch.nn.Parameter(torch.eye(target.config.hidden_size))
        self.rows = target.lm_head.weight.detach()
        for part in (self.body.embed_tokens, self.body.norm):
            part.requires_grad_(False)

    def inputs(self, texts: Tensor, begin: int) -> Tensor:
        """Return what the matrix reads at the places before tokens ``begin`` and on, [B, n, d]."""
        return self.body(input_ids=texts, use_cache=False).last_hidden_state[:, begin - 1 : -1]

    def fit(self, read: Tensor, wanted: Tensor, ridge: float) -> None:
        """The matrix of least squares: A minimises |read A - wanted|^2 + n ridge |A|^2. read, wanted: [n, d]."""
        square = (read.T @ read).double() + ridge * len(read) * torch.eye(read.shape[1], dtype=torch.float64)
        self.matrix.data = torch.linalg.solve(square, (read.T @ wanted).double()).to(read.dtype)

    def logs(self, texts: Tensor, begin: int) -> Tensor:
        """Return the logarithms of its rows, [B n, V]."""
        return ((self.inputs(texts, begin) @ self.matrix).flatten(0, 1) @ self.rows.T).log_softmax(-1)

    def checkpoint(self) -> Any:
        """Return the same as a Llama model of transformers: the head is rows A^T."""
        from transformers import LlamaForCausalLM

        config = type(self.body.config)(**self.body.config.to_dict() | {"tie_word_embeddings": False})
        model = LlamaForCausalLM(config).eval()
        model.model.load_state_dict(self.body.state_dict())
        model.lm_head.weight.data = self.rows @ self.matrix.detach().T
        return model


def distil(
    target: Any, prompt: Sequence[int], recipe: FittedRecipe, progress: Progress = lambda *_: None
) -> tuple[FittedDrafter, float]:
    """Return a drafter, and its mean acceptance with the target's rows on the texts that were held out, at T = 1.

    prompt: what all texts of the target begin with.
    The loss of the steps is KL(target || drafter), as of ``training.train``.
    Guarantee: on the CPU the same target, recipe and libraries give the same weights on one machine.
    """
    with torch_threads(1), torch.random.fork_rng(devices=[]):
        progress("writing texts", 0, recipe.steps)
        settings: dict[str, Any] = {"max_new_tokens": recipe.tokens, "seed": recipe.seed}
        written = generate(target, None, [prompt] * recipe.texts, **settings).tokens
        texts, begin = torch.tensor([[*prompt, *text] for text in written]), len(prompt)
        progress("reading them", 0, recipe.steps)
        with torch.inference_mode():
            states = [target.model(input_ids=part, use_cache=False).last_hidden_state for part in texts.split(8)]
        wanted = torch.cat(states)[:, begin - 1 : -1].clone()
        drafter, held_out = FittedDrafter(target, recipe.layers), max(1, recipe.texts // 8)
        with torch.no_grad():
            read = drafter.inputs(texts[held_out:], begin).flatten(0, 1)
        drafter.fit(read, wanted[held_out:].flatten(0, 1), recipe.ridge)
        _train(drafter, texts[held_out:], wanted[held_out:], begin, recipe, progress)
        with torch.no_grad():
            laws = [(each.flatten(0, 1) @ drafter.rows.T).softmax(-1) for each in wanted[:held_out].split(1)]
            own = [drafter.logs(each, begin).exp() for each in texts[:held_out].split(1)]
        return drafter.eval(), float(torch.cat([acceptance(p, q) for p, q in zip(laws, own)]).mean())


def _train(
    drafter: FittedDrafter, texts: Tensor, wanted: Tensor, begin: int, recipe: FittedRecipe, progress: Progress
) -> None:
    layers = [p for p in drafter.body.parameters() if p.requires_grad]
    groups = [{"params": [drafter.matrix], "rate": 3 * recipe.rate}, {"params": layers, "rate": recipe.rate}]
    adam, draws = torch.optim.Adam(groups, betas=(0.9, 0.95)), torch.Generator().manual_seed(recipe.seed)
    for step in range(recipe.steps):
        progress("training", step, recipe.steps)
        rows = torch.randint(len(texts), (recipe.batch,), generator=draws)
        for group in adam.param_groups:
            group["lr"] = group["rate"] * min(1.0, (step + 1) / 5, (recipe.steps - step) / (recipe.steps * 0.6))
        with torch.no_grad():
            law = (wanted[rows].flatten(0, 1) @ drafter.rows.T).log_softmax(-1)
        loss = kl_div(drafter.logs(texts[rows], begin), law, reduction="batchmean", log_target=True)
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([drafter.matrix, *layers], 1.0)
        adam.step()


def distilled_folder(recipe: FittedRecipe | None = None, progress: Progress = lambda *_: None) -> Path:
    """smollm2:distilled in the cache; made once, in some minutes of processor time. Stopped, it leaves nothing.

    Raises: InputError as ``packaged_pair``.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    recipe = recipe or FittedRecipe()
    folder = packaged_pair(progress=progress)[0]
    if (folder / NAME / FIGURES).is_file():
        return folder / NAME
    made = Path(mkdtemp(prefix=f".{NAME}-", dir=folder))
    try:
        with quiet():
            began, tokenizer = process_time(), AutoTokenizer.from_pretrained(folder / "target")
            target = AutoModelForCausalLM.from_pretrained(folder / "target", dtype=torch.float32).eval()
            prompt = tokenizer(CHAT.partition("{prompt}")[0])["input_ids"]
            drafter, accepts = distil(target, prompt, recipe, progress)
            model = drafter.checkpoint()
            model.generation_config = target.generation_config
            model.to(torch.bfloat16).save_pretrained(made)
            tokenizer.save_pretrained(made)
        figures = {**asdict(recipe), "acceptance": accepts, "cpu_seconds": round(process_time() - began, 1)}
        write_atomically(made / FIGURES, json.dumps(figures, indent=1) + "\n")
        made.rename(folder / NAME)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return folder / NAME


def main() -> None:
    def progress(stage: str, done: int, total: int) -> None:
        print(f"{stage} ({done} of {total})", file=sys.stderr, flush=True)

    folder = distilled_folder(progress=progress)
    print(folder, (folder / FIGURES).read_text(encoding="utf-8"), sep="\n")


if __name__ == "__main__":
    main()
