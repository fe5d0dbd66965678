"""Record the verification steps of transformers' generate(assistant_model=...)."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import transformers
from transformers.generation import utils

from draftproof.recording import Recorder


@contextmanager
def recording_generate(
    folder: str | os.PathLike, vocabulary: int, settings: dict[str, Any] | None = None, **options: Any
) -> Iterator[Recorder]:  # fmt: skip
    """Record every step that ``generate`` verifies by speculative sampling while the context lasts.

    vocabulary: V, the width of the logits. settings: of the requests, for ``rows``. options: of ``Recorder``.
    Equality with a sample and greedy requests are not verified by this function, and are not recorded.
    """
    own = utils._speculative_sampling
    about = {"rule": "token", "dtype": "float32", "engine": "transformers", "engine_version": transformers.__version__}
    with Recorder(folder, vocabulary, settings=settings, **{**about, **options}) as recorder:
        request = 0
        last = -1

        def recording(candidate_input_ids: Any, candidate_logits: Any, candidate_length: int, new_logits: Any,
                      *more: Any, **named: Any) -> Any:  # fmt: skip
            nonlocal request, last
            place = int(candidate_input_ids.shape[1] - candidate_length)
            request, last = request + (place <= last), place
            chosen = recorder.chosen()
            rows = [x[0].softmax(-1) for x in (new_logits, candidate_logits)] if chosen else []
            emitted, accepted = own(candidate_input_ids, candidate_logits, candidate_length, new_logits, *more, **named)
            if chosen:
                recorder.step(
                    rows[0], candidate_input_ids[0, place:], emitted[0], rows[1], request=request, place=place, slot=0
                )
            return emitted, accepted

        utils._speculative_sampling = recording
        try:
            yield recorder
        finally:
            utils._speculative_sampling = own
