"""MLX on a CPU. mlx-vlm: its walk by equality. vllm-mlx: its multi-token prediction in batches (``install_mtp_mllm``).

One token is drafted, of a longer block the first. Two steps are taken: the first verifies it, the second draws the
token after it, and what its ``_next`` adds to a response is what is emitted. Driven: the uniform of the test, and
Gumbel noise for the replacement and for the next token (``mx.random.uniform`` and ``categorical``, and what its
default sampler draws).
"""

import logging
import math
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from draftproof.verifiers.adapters.calling_convention import float32_softmax, on_demand
from draftproof.verifiers.adapters.protocol import Row
from draftproof.verifiers.adapters.registry import engine_folder
from draftproof_engines.lifted import Edit, adapted, engine_file, lift

FILE = "vllm_mlx/mllm_batch_generator.py"
NAMES = ("_sampling_logprobs", "_residual_logprobs", "_accept_sampled_draft", "install_mtp_mllm")
NO_SCHEDULER = Edit("from .scheduler import make_sampler", "from mlx_lm.sample_utils import make_sampler",
                    "its scheduler takes this one from mlx_lm")  # fmt: skip


def use_mlx() -> Any:
    """MLX and mlx_lm: installed, or in their own folders. Raises: NotASubject if they are in neither."""
    for engine, file in (("mlx", "mlx/core.cpython-311-x86_64-linux-gnu.so"), ("mlx-lm", "mlx_lm/sample_utils.py")):
        if (folder := str(engine_folder(engine))) not in sys.path and engine_file(engine, file):
            sys.path.append(folder)
    import mlx.core as mx  # pyright: ignore[reportMissingImports]

    return mx


class DrivenRandom:
    """In place of ``mx.random``: what is drawn next."""

    def __init__(self, mx: Any):
        self.mx, self.draws = mx, list[Any]()
        self.uniforms: Any = None

    def uniform(self, shape: Sequence[int]) -> Any:
        return self.mx.array(self.uniforms)

    def categorical(self, logprobs: Any) -> Any:
        drawn = self.draws.pop(0)
        return drawn(logprobs) if callable(drawn) else drawn


class MultiTokenPrediction:
    """A request alone. beside: whether another is beside it, whose draft is accepted."""

    random = (
        {"name": "accept", "kind": "uniform", "shape": [], "bits": 24},
        {"name": "noise", "kind": "gumbel", "shape": ["V"]},
        {"name": "last", "kind": "gumbel", "shape": ["V"]},
    )
    array = "torch"

    def __init__(self, beside: bool = False):
        self.beside, self.mx = beside, use_mlx()
        self.drawing = DrivenRandom(self.mx)
        names = {name: getattr(self.mx, name) for name in dir(self.mx) if not name.startswith("_")}
        self.lifted = lift("vllm-mlx", FILE, NAMES, {
            "mx": SimpleNamespace(**names | {"random": self.drawing}), "math": math, "threading": threading,
            "logger": logging.getLogger("vllm_mlx"), "MLLMBatchResponse": SimpleNamespace,
            "_request_uses_stochastic_sampling": lambda _: True,
            "_mark_mtp_attempts_on_primary_responses": lambda *_: None,
        }, [NO_SCHEDULER], annotations=False)  # fmt: skip
        self.origin = {"lifted": [self.lifted.record], "bonus": "drawn by its sampler in the next step"}

    def published(self) -> str:
        """Return the text that an audit identifies."""
        return self.lifted.text

    def __call__(self, target: Any, draft: Any, tokens: Any, random: Mapping[str, Any]) -> Sequence[int]:
        row = Row(target, draft, tokens, random)
        return self._step([row, Row(target, target[:1], tokens, random)] if self.beside else [row])[0]

    def _step(self, rows: Sequence[Row]) -> list[list[int]]:
        mx, size = self.mx, len(rows)
        target, draft = self._logits([row.target[:2] for row in rows]), self._logits([row.draft[:1] for row in rows])
        noise, last = (np.stack([row.random[name] for row in rows]).astype(np.float32) for name in ("noise", "last"))
        self.drawing.uniforms = np.array([row.random["accept"] for row in rows], dtype=np.float32)
        drafted = mx.array([int(row.tokens[0]) for row in rows])
        draws = [drafted, lambda logprobs: mx.argmax(logprobs + mx.array(noise[:1]), axis=-1)]

        def model(tokens: Any, **_: Any) -> tuple[Any, Any]:
            return target[:, : tokens.shape[1]], mx.zeros((size, tokens.shape[1], 1))

        vars(model)["mtp_forward"] = lambda *_, **__: draft
        generator, drawn = self._generator(size), list[Any]()
        first: list[Callable[..., Any] | None] = [lambda _: mx.zeros((1,), dtype=mx.int64)] * size
        later: list[Callable[..., Any] | None] = [
            lambda logprobs, k=k: mx.argmax(logprobs + mx.array(last[k]), axis=-1) for k in range(size)
        ]

        def step(samplers: Any) -> Any:
            self.drawing.draws = [*draws]
            return generator._step(mx.zeros((size, 1), dtype=mx.int64), [], samplers=samplers)[0]

        def inner() -> list[Any]:
            drawn.extend(step(later).tolist())
            return [SimpleNamespace(uid=uid, finish_reason=None, token=0, request_id="", prompt_tokens=0,
                                    specprefill_outcome=None) for uid in range(size)]  # fmt: skip

        generator._next = inner
        self.lifted.functions["install_mtp_mllm"](generator, model)
        step(first)
        added: dict[int, Any] = {r.uid: r for r in generator._next() if hasattr(r, "from_draft")}
        return [
            [next_token] if k not in added else [added[k].token, next_token] if added[k].from_draft
            else [added[k].token]
            for k, next_token in enumerate(drawn)
        ]  # fmt: skip

    def _generator(self, size: int) -> Any:
        """Return what its generator of batches holds while ``size`` requests are decoded."""
        asked = SimpleNamespace(temperature=1.0, top_p=1.0, top_k=0, min_p=0.0, mllm_draft=False)
        requests = [SimpleNamespace(**vars(asked), output_tokens=[]) for _ in range(size)]
        active = SimpleNamespace(requests=requests, uids=[*range(size)], num_tokens=[0] * size, max_tokens=[99] * size)
        return SimpleNamespace(active_batch=active, stop_tokens=(), sampler=None, _step=None, _next=None)

    def _logits(self, rows: Sequence[Any]) -> Any:
        logits = torch.stack([torch.as_tensor(row) for row in rows]).float().log()
        return self.mx.array(logits.numpy())


WALK = ("_supports_positioned_target_sampling", "_dflash_target_logprobs", "_sample_dflash_target_block",
        "_sample_dflash_target_walk")  # fmt: skip


def by_equality(seeded: bool = False) -> Callable[..., list[int]]:
    """mlx-vlm: a request's draft tokens are kept while they equal what its sampler says at each place.

    seeded: whether its sampler is asked for all places at once, by rows and positions. torch.multinomial draws in its
    place, from the rows that it is handed.
    """
    mx, name, folder = use_mlx(), "_speculative_walk_batch", "mlx_vlm/speculative"
    given = {"mx": mx, "nn": None}
    common = lift("mlx-vlm", f"{folder}/common.py", (name,), given, annotations=False)
    given[name] = common.functions[name]
    lifted = lift("mlx-vlm", f"{folder}/dflash.py", WALK, given, annotations=False)

    def drawn(logprobs: Any, **_: Any) -> Any:
        rows = torch.tensor(np.array(mx.exp(logprobs)))
        return mx.array(torch.multinomial(rows, 1).view(-1).tolist())

    sampler = SimpleNamespace(sample_target=drawn) if seeded else drawn

    def called(target_probs: torch.Tensor, draft_probs: torch.Tensor, draft_tokens: torch.Tensor) -> list[int]:
        logits = mx.array(target_probs.float().log().numpy()[None])
        drafted, budget = mx.array(draft_tokens.numpy()[None]), [len(target_probs)]
        _, emitted = lifted.functions[WALK[-1]](logits, drafted, sampler, budget, row_ids=[0], base_positions=[0])
        return emitted[0]

    return adapted(called, common, lifted, rows_in_use=float32_softmax, bonus="drawn by its sampler")


__getattr__ = on_demand(globals(), {
    "alone": MultiTokenPrediction, "beside": lambda: MultiTokenPrediction(True), "walk": by_equality,
    "seeded": lambda: by_equality(True),
})  # fmt: skip
