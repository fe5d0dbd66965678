"""Record verification steps in an engine's own process: rows, drafted tokens, and what came out.

It needs NumPy and safetensors alone. It never raises into the engine and never waits for it: steps are reduced and
written by a thread of its own, and steps that this thread has no time for are dropped and counted. The form of the
folder is in docs/recorded-steps.md; ``draftproof steps FOLDER`` judges it.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .models.files import write_atomically
from .verifiers.conditional.form import DRAFT_ROW, FORM, NO_DRAFT_ROW, POINT_MASS, UNKNOWN, VERSION, joined
from .verifiers.conditional.sparse import CLASSES, EDGES, LISTED, Reduced, reduced

SHARD_STEPS = 512
"""Number of steps in a shard by default."""

TYPES = "float64", "float32", "float16", "bfloat16"
"""Types that an engine may compute rows in."""

WAITING = 64
"""Steps that may wait to be reduced; further ones are dropped and counted."""


def splitmix(number: int) -> int:
    """Return 64 mixed bits of a number. Source: Steele, Lea and Flood 2014 (SplitMix64)."""
    mask = (1 << 64) - 1
    z = (number + 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


def header() -> Path:
    """Return the path of the C header that records steps of C, C++ and Rust engines: draftproof_recording.h."""
    return Path(__file__).parent / "include" / "draftproof_recording.h"


class _Step(NamedTuple):
    """A step on the host. known: what is known of the draft. fields: what else was recorded, by name."""

    target: np.ndarray
    draft: np.ndarray
    drafts: np.ndarray
    emitted: np.ndarray
    parents: np.ndarray
    known: int
    fields: dict[str, Any]


class Recorder:
    """A writer of recorded steps.

    folder: where to; it may hold an earlier part of the same recording.
    vocabulary: V. dtype: of the engine's arithmetic on rows: float64, float32, bfloat16 or float16.
    rule: what the engine claims: token, block, greedy-block, equality, greedy; of trees spec-infer,
        without-replacement, naive, top-tokens, traversal; or unknown.
    siblings: how siblings of draft trees are drawn: iid, without-replacement, or top (they are not); "" for chains.
    settings: of all requests, if they share them. engine, engine_version, device: for the reader of a report.
    one_of: one step in so many is recorded, chosen by a hash of a counter and the seed, never by what is in it.
    listed, shard_steps: as LISTED and SHARD_STEPS.
    Raises: ValueError if the folder holds a recording with another header, or a field is out of range. No other method
    raises.
    """

    def __init__(
        self, folder: str | os.PathLike, vocabulary: int, *, dtype: str = "float32", rule: str = "unknown",
        siblings: str = "", settings: dict[str, Any] | None = None, engine: str = "", engine_version: str = "",
        device: str = "", one_of: int = 1, seed: int = 0, listed: int = LISTED, shard_steps: int = SHARD_STEPS,
    ):  # fmt: skip
        from safetensors.numpy import save  # what is missing is said now, and not at the first shard

        if vocabulary < 1 or one_of < 1 or listed < 1 or shard_steps < 1:
            raise ValueError("vocabulary, one_of, listed and shard_steps: expected 1 or more")
        if dtype not in TYPES:
            raise ValueError(f"dtype {dtype!r}, expected one of {', '.join(TYPES)}")
        self.folder, self.vocabulary, self.one_of, self.seed = Path(folder), vocabulary, one_of, seed
        self.listed, self.shard_steps, self._save = listed, shard_steps, save
        self._values = np.float64 if dtype == "float64" else np.float32
        header = {
            "form": FORM, "version": VERSION, "engine": engine, "engine_version": engine_version, "device": device,
            "dtype": dtype, "rule": rule, "settings": settings or {}, "vocabulary": vocabulary,
            "chosen": {"one_of": one_of, "seed": seed, "by": "splitmix64 of a counter and the seed"},
            "listed": listed, "edges": EDGES.tolist(), **({"siblings": siblings} if siblings else {}),
        }  # fmt: skip
        text = json.dumps(header, indent=1) + "\n"
        self._digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        self.folder.mkdir(parents=True, exist_ok=True)
        place = self.folder / "header.json"
        if place.exists() and place.read_text(encoding="utf-8") != text:
            raise ValueError(f"{place}: of another recording; expected an empty folder, or one with the same header")
        write_atomically(place, text)
        last = max(self.folder.glob("steps-*.safetensors"), default=None)  # shards before it may have been moved away
        self._number = int(last.stem.rpartition("-")[2]) + 1 if last else 0
        self.seen = self.recorded = self.dropped = self.failed = 0
        self.error = ""
        self._lock, self._closed = threading.Lock(), False
        self._queue: queue.Queue[Callable[[], _Step] | None] = queue.Queue(WAITING)
        self._steps: list[tuple[_Step, Reduced]] = []
        self._thread = threading.Thread(target=self._work, name="draftproof-recording", daemon=True)
        self._thread.start()

    def chosen(self) -> bool:
        """Count a step, and return whether it is to be recorded."""
        with self._lock:
            self.seen += 1
            return not self._closed and splitmix(self.seen ^ (self.seed << 32)) % self.one_of == 0

    def step(
        self, target: Any, drafts: Any, emitted: Any, draft: Any = None, *,
        draft_known: bool = True, parents: Sequence[int] | None = None, request: int = 0, place: int = 0,
        slot: int = -1, settings: dict[str, Any] | None = None, uniforms: Any = None, logprobs: Any = None,
        logits: Any = None, history: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        """Record a step. Call it where ``chosen`` was True.

        target: [drafts + 1, V], the target's rows as they were verified: of the context, then behind each drafted
            token
        drafts, parents: the drafted tokens, and the place of each one's parent, -1 for the context; a chain if not
            given. The first below 0 and all behind it are padding, and so are their rows
        emitted: what came out; entries below 0 are padding
        draft: [drafts, V], the row that each token was drawn from (of siblings, the eldest's counts); None: each was
            certain (a point mass), or, with draft_known=False, nothing is known of it
        request, place, slot: number of the request, tokens before this step, place in the batch
        settings: of this request, where requests have different ones
        uniforms: [drafts], what each drafted token was tested with; NaN where it was not
        logprobs: [emitted], as reported
        logits: [drafts + 1, V], of the target, before any setting; history: the tokens that settings look back at
        """
        try:
            if not self._closed:
                self._put(target, drafts, emitted, draft, draft_known, parents, {
                    "request": request, "place": place, "slot": slot, "settings": settings, "uniforms": uniforms,
                    "logprobs": logprobs, "logits": logits, "history": history,
                })  # fmt: skip
        except Exception as error:  # an engine must not fail for this
            self.count_failure(error)

    def _put(self, target, drafts, emitted, draft, known, parents, fields) -> None:
        """Begin all copies, and queue a function that waits for them."""
        how = UNKNOWN if not known else POINT_MASS if draft is None else DRAFT_ROW
        given = {"target": target, "draft": draft, "drafts": drafts, "emitted": emitted, "parents": parents}
        given |= {name: fields.pop(name) for name in ("logits", "uniforms", "logprobs", "history")}
        copies = {name: _on_host(value) for name, value in given.items() if value is not None}

        def step() -> _Step:
            there = {name: copy() for name, copy in copies.items()}
            tokens, out = (there[name].astype(np.int64).reshape(-1) for name in ("drafts", "emitted"))
            if (tokens < 0).any():
                kept = int((tokens < 0).argmax())
                cuts = {"target": kept + 1, "draft": kept, "logits": kept + 1, "parents": kept, "uniforms": kept}
                there |= {name: there[name][:length] for name, length in cuts.items() if name in there}
                tokens = tokens[:kept]
            above = there["parents"].astype(np.int64) if "parents" in there else np.arange(-1, len(tokens) - 1)
            if above.shape != tokens.shape or ((above < -1) | (above >= len(above))).any():
                raise ValueError(f"parents {above.tolist()} of {len(tokens)} drafted tokens")
            p = there["target"]
            if "draft" in there and there["draft"].shape != (len(tokens), p.shape[-1]):
                raise ValueError(f"draft of shape {there['draft'].shape}, expected {(len(tokens), p.shape[-1])}")
            q = np.zeros_like(p)
            if how == DRAFT_ROW:
                q[above[::-1] + 1] = there["draft"][::-1]  # of siblings the eldest's: the others' follow from it
            elif how == POINT_MASS:
                q[above + 1, tokens] = 1.0
            more = {name: there.get(name) for name in ("logits", "uniforms", "logprobs")}
            more["history"] = there["history"].astype(np.int64).reshape(-1) if "history" in there else None
            return _Step(p, q, tokens, out[out >= 0], above, how, fields | more)

        try:
            self._queue.put_nowait(step)
        except queue.Full:
            with self._lock:
                self.dropped += 1

    def close(self) -> None:
        """Write what waits, and end. Steps that come later are not recorded."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._queue.put(None)
        self._thread.join()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def count_failure(self, error: Exception, steps: int = 1) -> None:
        """Count steps that could not be recorded. The first reason is kept."""
        with self._lock:
            self.failed += steps
            self.error = self.error or f"{type(error).__name__}: {error}"

    def _work(self) -> None:
        while (waiting := self._queue.get()) is not None:
            try:
                step = waiting()
                self._check(step)
                forced, logits = [*step.drafts, *step.emitted[step.emitted < self.vocabulary]], step.fields["logits"]
                self._steps.append((step, reduced(step.target, step.draft, forced, self.listed, logits)))
            except Exception as error:
                self.count_failure(error)
            if len(self._steps) >= self.shard_steps:
                self._write_shard()
        if self._steps or not self._number or self.failed:
            self._write_shard()

    def _check(self, step: _Step) -> None:
        if step.target.shape != (len(step.drafts) + 1, self.vocabulary):
            raise ValueError(f"target of shape {step.target.shape}, expected {(len(step.drafts) + 1, self.vocabulary)}")
        if len(step.drafts) and not 0 <= step.drafts.min() <= step.drafts.max() < self.vocabulary:
            raise ValueError(f"a drafted token outside 0..{self.vocabulary - 1}")
        sizes = {"logits": step.target.shape, "uniforms": step.drafts.shape, "logprobs": step.emitted.shape}
        for name, shape in sizes.items():
            given = step.fields[name]
            if given is not None and (given[: shape[0]] if name == "logprobs" else given).shape != shape:
                raise ValueError(f"{name} of shape {given.shape}, expected {shape}")
        json.dumps(step.fields["settings"])
        np.array([step.fields[name] for name in ("request", "place", "slot")], dtype=np.int64)

    def _write_shard(self) -> None:
        steps, self._steps = self._steps, []
        counts = {name: str(getattr(self, name)) for name in ("seen", "dropped", "failed")}
        counts["recorded"] = str(self.recorded + len(steps))
        about = {"recording": self._digest, "error": self.error, **counts}
        settings = {}
        try:
            arrays = _arrays(steps, self._values, settings)
            about["settings"] = json.dumps(list(settings.values()))
            data = self._save(arrays, metadata=about)
            while (place := self.folder / f"steps-{self._number:06d}.safetensors").exists():
                self._number += 1  # another recorder writes here, too
            write_atomically(place, data)
        except Exception as error:
            self.count_failure(error, len(steps))
            return
        self._number += 1
        self.recorded += len(steps)


def recorded(verify: Callable[..., Any], folder: str | os.PathLike, **options: Any) -> RecordedVerifier:
    """Return a verifier of the plain calling convention that records its steps.

    verify: f(target_probs, draft_probs, draft_tokens[, parents][, rng]) -> tokens
    options: of ``Recorder``; the vocabulary and the type of the rows are seen at the first call.
    What it returns has the verifier's signature, and ``close``. Each call counts as a request of its own.
    """
    return RecordedVerifier(verify, folder, options)


class RecordedVerifier:
    """A verifier that records its steps: see ``recorded``."""

    def __init__(self, verify: Callable[..., Any], folder: str | os.PathLike, options: dict[str, Any]):
        self.__wrapped__, self._folder, self._options, self._trees = verify, folder, options, False
        self.recorder: Recorder | None = None
        with suppress(TypeError, ValueError):
            self._trees = [*inspect.signature(verify).parameters][3:4] == ["parents"]

    def __call__(self, target_probs: Any, draft_probs: Any, draft_tokens: Any, *more: Any, **named: Any) -> Any:
        before = None
        parents = named.get("parents", more[0] if self._trees and more else None)
        if self.recorder is None:
            rows = _on_host(target_probs)()
            options = {"dtype": str(getattr(target_probs, "dtype", "float64")).rpartition(".")[2], **self._options}
            self.recorder = Recorder(self._folder, rows.shape[-1], **options)
        if self.recorder.chosen():  # a verifier may write to its rows
            before = [np.array(_on_host(rows)()) for rows in (target_probs, draft_probs)], _on_host(draft_tokens)()
        emitted = self.__wrapped__(target_probs, draft_probs, draft_tokens, *more, **named)
        if before is not None:
            (target, draft), drafts = before
            self.recorder.step(target, drafts, emitted, draft, parents=parents, request=self.recorder.seen)
        return emitted

    def close(self) -> None:
        """Write what waits, and end the recording."""
        if self.recorder is not None:
            self.recorder.close()


def _on_host(rows: Any) -> Callable[[], np.ndarray]:
    """Return a function that waits for a copy of rows or tokens. The copy itself is begun now, without waiting."""
    if hasattr(rows, "detach"):  # a tensor of torch
        rows = rows.detach()
        if rows.is_cuda:
            import torch

            copy = torch.empty(rows.shape, dtype=rows.dtype, pin_memory=True).copy_(rows, non_blocking=True)
            done = torch.cuda.Event()
            done.record()

            def wait() -> np.ndarray:
                done.synchronize()
                return _as_numbers(copy)

            return wait
        copy = rows.clone()
        return lambda: _as_numbers(copy)
    copied = np.array(rows)
    half = copied.dtype.kind not in "iu" and copied.dtype not in (np.float32, np.float64)
    return lambda: copied.astype(np.float32) if half else copied


def _as_numbers(tensor: Any) -> np.ndarray:
    whole = not tensor.dtype.is_floating_point
    return (tensor if whole or str(tensor.dtype) == "torch.float64" else tensor.float()).numpy()


def _known(item: _Step) -> np.ndarray:
    """Return what is known of the draft at each row of a step."""
    known = np.full(len(item.drafts) + 1, NO_DRAFT_ROW)
    known[item.parents + 1] = item.known
    return known


def _offsets(lengths: Sequence[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(np.asarray(lengths, dtype=np.int64))]).astype(np.int64)


def _arrays(steps: list[tuple[_Step, Reduced]], values: Any, settings: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return the arrays of a shard. settings: filled with those of its requests, by their text."""
    items = [item for item, _ in steps]
    which = []
    for item in items:
        text = json.dumps(item.fields["settings"], sort_keys=True)
        which.append(-1 if item.fields["settings"] is None else list({**settings, text: None}).index(text))
        if which[-1] >= 0:
            settings.setdefault(text, item.fields["settings"])
    listed = [row for _, rows in steps for row in rows.ids]
    arrays = {n: np.array([item.fields[n] for item in items], dtype=np.int64) for n in ("request", "place", "slot")}
    arrays |= {
        "settings": np.array(which, dtype=np.int32),
        "draft_offsets": _offsets([len(item.drafts) for item in items]),
        "draft_tokens": joined([item.drafts for item in items], np.int32),
        "draft_parents": joined([item.parents for item in items], np.int32),
        "emitted_offsets": _offsets([len(item.emitted) for item in items]),
        "emitted": joined([item.emitted for item in items], np.int32),
        "row_offsets": _offsets([len(ids) for ids in listed]),
        "ids": joined(listed, np.int32),
        "target": joined([row for _, rows in steps for row in rows.target], values),
        "draft": joined([row for _, rows in steps for row in rows.draft], values),
        "draft_known": joined(
            [_known(item) for item in items], np.uint8
        ),
        "natural": joined([rows.natural for _, rows in steps], np.int32),
        "rest_count": joined([rows.rest_count for _, rows in steps], np.int32),
    }  # fmt: skip
    for name, width in (("rest_target", CLASSES), ("rest_draft", CLASSES), ("highest", 2)):
        parts = [getattr(rows, name) for _, rows in steps]
        arrays[name] = np.concatenate([np.zeros((0, width)), *parts]).astype(values)
    return arrays | _optional(steps, values)


def _optional(steps: list[tuple[_Step, Reduced]], values: Any) -> dict[str, np.ndarray]:
    """Return the arrays of what not every engine records: NaN, or nothing, in a step without it."""
    arrays = {}
    for name, of in (("uniforms", "drafts"), ("logprobs", "emitted")):
        parts = [item.fields[name] for item, _ in steps]
        if any(part is not None for part in parts):
            sizes = [len(getattr(item, of)) for item, _ in steps]
            arrays[name] = joined(
                [np.full(n, np.nan) if part is None else part[:n] for n, part in zip(sizes, parts)], np.float64
            )
    if any(item.fields["history"] is not None for item, _ in steps):
        parts = [item.fields["history"] if item.fields["history"] is not None else [] for item, _ in steps]
        arrays |= {
            "history_offsets": _offsets([*map(len, parts)]),
            "history": joined([*map(np.array, parts)], np.int32),
        }
    if any(item.fields["logits"] is not None for item, _ in steps):
        listed, rest = [], []
        for item, rows in steps:
            logits = item.fields["logits"]
            for k, ids in enumerate(rows.ids):
                row = None if logits is None else logits[k]
                listed.append(np.full(len(ids), np.nan) if row is None else row[ids])
                rest.append(np.nan if row is None else _log_sum(np.delete(row, ids)))
        arrays |= {"logits": joined(listed, values), "logits_rest": np.array(rest, dtype=np.float64)}
    return arrays


def _log_sum(logits: np.ndarray) -> float:
    """Return log sum exp; -inf of nothing."""
    top = logits.max(initial=-np.inf)
    return float(top + np.log(np.exp(logits - top).sum())) if np.isfinite(top) else -np.inf
