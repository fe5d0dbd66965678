"""Record the verification steps of mlx-lm's ``speculative_generate_step`` in its own process.

Its rule is equality: the target's sampler draws a token at every place, and drafts are kept while they are that token.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from itertools import count
from typing import Any, NamedTuple

import mlx.core as mx
import numpy as np

from draftproof.recording import Recorder


class _Drawn(NamedTuple):
    """Tokens that a sampler drew at once. scores: of the rows that it drew from, [n, V]. logits: before any setting."""

    by: str
    tokens: mx.array
    scores: mx.array
    logits: mx.array


@contextmanager
def recording_mlx(
    folder: str | os.PathLike, vocabulary: int, settings: dict[str, Any] | None = None, **options: Any
) -> Iterator[Recorder]:  # fmt: skip
    """Record every step of speculative generation while the context lasts.

    vocabulary: V, the width of the logits. settings: of all requests, as given to ``make_sampler``, for ``rows``.
    options: of ``Recorder``.
    """
    module, sampling = import_module("mlx_lm.generate"), import_module("mlx_lm.sample_utils")
    own, draw = module.speculative_generate_step, sampling.categorical_sampling
    about = {"rule": "equality", "dtype": "float32", "engine": "mlx-lm", "engine_version": version("mlx-lm")}
    about["device"] = str(mx.default_device())
    known = None if settings is None else {"order": "mlx-lm", **settings}
    seen, requests = list[mx.array](), count()

    def drawing(logits: mx.array, temperature: float) -> mx.array:
        seen.append(logits * (1 / temperature))
        return draw(logits, temperature)

    with Recorder(folder, vocabulary, settings=known, **{**about, **options}) as recorder:

        def generating(prompt: Any, model: Any, draft_model: Any, *more: Any, sampler: Any = None, **named: Any) -> Any:
            watch = _Watch(recorder, sampler or module.greedy_sampler, seen, known is not None)
            watch.request, watch.place = next(requests), prompt.size
            models = watch.model("target", model), watch.model("draft", draft_model)
            try:
                for token, logprobs, drafted in own(prompt, *models, *more, sampler=watch.sample, **named):
                    watch.emitted.append(int(token))
                    if not drafted:
                        watch.end_step()
                    yield token, logprobs, drafted
            finally:
                watch.end_step()

        module.speculative_generate_step, sampling.categorical_sampling = generating, drawing
        try:
            yield recorder
        finally:
            module.speculative_generate_step, sampling.categorical_sampling = own, draw


class _Watched:
    """A model that keeps the logits of its last call."""

    def __init__(self, watch: "_Watch", name: str, model: Any):
        self._watch, self._name, self._model = watch, name, model

    def __call__(self, *given: Any, **named: Any) -> Any:
        logits = self._model(*given, **named)
        self._watch.by, self._watch.logits = self._name, logits
        return logits

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


class _Watch:
    """What one request draws and emits. seen: what ``categorical_sampling`` was given. raw: whether logits are kept."""

    def __init__(self, recorder: Recorder, sampler: Any, seen: list[mx.array], raw: bool):
        self.recorder, self.sampler, self.seen, self.raw = recorder, sampler, seen, raw
        self.by, self.logits = "", mx.array(0.0)
        self.drawn, self.emitted = list[_Drawn](), list[int]()
        self.request = self.place = 0

    def model(self, name: str, model: Any) -> Any:
        """Return the model, watched. name: "target" or "draft"."""
        return _Watched(self, name, model)

    def sample(self, logprobs: mx.array) -> mx.array:
        """Draw as the request's sampler does. A greedy one draws from the model's own row."""
        self.seen.clear()
        tokens = self.sampler(logprobs)
        self.drawn.append(_Drawn(self.by, tokens, self.seen[-1] if self.seen else logprobs, self.logits))
        return tokens

    def end_step(self) -> None:
        """Record the step, if it is chosen. Of one that a cap or an end token cuts, what the loop would emit behind."""
        drawn, emitted, place = self.drawn, self.emitted, self.place
        self.drawn, self.emitted, self.place = [], [], place + len(emitted)
        if not any(d.by == "target" for d in drawn) or not self.recorder.chosen():
            return
        try:
            greedy = not self.seen
            target, drafts = ([d for d in drawn if d.by == name] for name in ("target", "draft"))
            tokens, drafted = _joined([d.tokens for d in target]), _joined([d.tokens for d in drafts]).astype(int)
            while len(emitted) <= len(drafted) and emitted == drafted[: len(emitted)].tolist():
                emitted.append(int(tokens[len(emitted)]))
            self.recorder.step(
                _rows(target), drafted, emitted, _rows(drafts) if drafts else None, request=self.request,
                place=place, slot=0, settings={"temperature": 0} if greedy else None,
                logits=np.array(target[0].logits.astype(mx.float32))[0, -len(drafted) - 1 :] if self.raw else None,
            )  # fmt: skip
        except Exception as error:  # an engine must not fail for this
            self.recorder.count_failure(error)


def _joined(parts: list[mx.array]) -> np.ndarray:
    return np.concatenate([np.zeros(0), *(np.array(part).reshape(-1) for part in parts)])


def _rows(drawn: list[_Drawn]) -> np.ndarray:
    """Return the distributions that the tokens were drawn from, [tokens, V]."""
    scores = mx.concatenate([d.scores.astype(mx.float32) for d in drawn])
    return np.array(mx.softmax(scores, axis=-1))
