"""The decoding loop on models of transformers: Algorithm 3 with any verifier, Algorithm 6 for the greedy one.

``models.decoding`` is the loop in its exact form. This is the loop that runs: caches, batches, temperature, ends.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from time import perf_counter
from typing import Any

import torch
from torch import Tensor

from ...verifiers.batched.emitted import Emitted, EmittedPaths
from ...verifiers.batched.rows import BatchRows
from ...verifiers.batched.verification import Modification, carried, modified
from ...verifiers.chance import Chance
from ..errors import InputError, OutOfMemoryError
from ..libraries import means_no_memory
from .caches import CachedModel
from .draft_length import DraftLength
from .loop_verifiers import Drafted, LoopVerifier
from .result import Generated, Iteration
from .sampling import BatchChance, GivenChances, Streams, warp
from .settings import LoopSettings, checked_device, checked_models, checked_prompts, checked_vocabulary


class NestedModifications:
    """A list of the modifications in force, oldest first."""

    def __init__(self) -> None:
        self.in_force: list[Modification] = []

    def applied(self, drafted: Drafted) -> tuple[Drafted, list[BatchRows]]:
        """Return the block with the modified target, and the rows that each modification refers to.

        The last of these rows are the block's own, to which the iteration's new modification will refer.
        """
        now = drafted.probabilities()
        seen = [now.rows()]
        for modification in self.in_force:
            now = now._replace(target=modified(now.target, seen[-1], now.draft, modification))
            seen.append(now.rows())
        return now, seen

    def followed(self, seen: list[BatchRows], given: Emitted) -> None:
        """Carry all modifications over the tokens of one iteration, and begin a new one with it."""
        gamma = torch.full_like(given.accepted, seen[-1].tokens.shape[1])
        new = Modification(gamma, torch.zeros_like(gamma, dtype=torch.float64))
        after = (carried(one, rows, given) for one, rows in zip([*self.in_force, new], seen, strict=True))
        self.in_force = [one for one in after if one.remaining.any()]

    def select(self, rows: Sequence[int]) -> None:
        """Go on with these rows of the batch."""
        for at, one in enumerate(self.in_force):
            chosen = torch.tensor(rows, device=one.remaining.device)
            self.in_force[at] = Modification(one.remaining[chosen], one.log_ratio[chosen])


class DecodingLoop:
    """A run over a batch, in methods and classes that a subclass can replace one at a time."""

    target_cache: type[CachedModel] = CachedModel
    draft_cache: type[CachedModel] = CachedModel
    streams: type[Streams] = Streams

    def __init__(
        self, target: Any, draft: Any | None, prompts: Sequence[Sequence[int]], verifier: LoopVerifier,
        settings: LoopSettings, chance: Sequence[Chance] | None = None, device: str | None = None,
        before_step: Callable[[], None] = lambda: None,
    ):  # fmt: skip
        """Check the input. before_step: called before each iteration and draft token; it may raise to end the run."""
        models = {"target": target, "draft": draft} if draft is not None else {"target": target}
        checked_models(models)
        self.vocabulary = checked_vocabulary(models, settings.vocabulary)
        self.texts = checked_prompts(prompts, models, self.vocabulary, settings)
        self.device = checked_device(device, target)
        kinds = {"target": self.target_cache, "draft": self.draft_cache}
        self.caches = {n: kinds[n](m.to(self.device), len(self.texts), n) for n, m in models.items()}
        self.verifier, self.settings = verifier, settings
        self.warp = warp(settings.temperature, settings.top_k, settings.top_p)
        if chance is not None and len(chance) != len(self.texts):
            raise InputError(f"{len(chance)} chances for {len(self.texts)} prompts; expected one each")
        self.chances: BatchChance = GivenChances(chance) if chance else self.streams(settings.seed, len(self.texts))
        self.draft_length, self.nested = DraftLength(settings.gamma), NestedModifications()
        self.open = list(range(len(self.texts)))
        self.eos, self.before_step = settings.end_tokens, before_step
        self.ends = [len(text) + settings.max_new_tokens for text in self.texts]
        dtype = str(target.dtype).removeprefix("torch.")
        self.result = Generated(verifier.name, verifier.lossy, str(self.device), dtype, [[] for _ in self.texts])

    @torch.inference_mode()
    def run(self) -> Generated:
        """Prefill, then iterate until all texts have ended. Raises: OutOfMemoryError."""
        try:
            return self._run()
        except (RuntimeError, MemoryError) as error:
            if not means_no_memory(error):
                raise
            used = f"out of memory on {self.device} with {len(self.texts)} prompts"
            raise OutOfMemoryError(f"{used}; expected fewer or shorter ones") from None

    def _run(self) -> Generated:
        began = self.clock()
        for cached in self.caches.values():
            cached.prefill([text[:-1] for text in self.texts])
        ready = self.clock()
        while self.open:
            self.before_step()
            self.result.iterations.append(self.iteration())
            self.draft_length.observe(self.result.iterations[-1])
        self.result.prefill_seconds, self.result.seconds = ready - began, self.clock() - ready
        return self.result

    def iteration(self) -> Iteration:
        """Draft, verify, append, and take both caches back to the text."""
        texts = [self.texts[row] for row in self.open]
        gamma = self.draft_length.gamma()
        times = [self.clock()]
        tokens, proposed = self.drafts(texts, gamma)
        times.append(self.clock())
        target = self.caches["target"]
        last, real = target.unread(texts)
        real = torch.cat([real, torch.ones(tokens.shape, dtype=torch.bool)], 1)
        rows = self.target_scores(target.logits(torch.cat([last, tokens], 1), real)[:, -gamma - 1 :])
        times.append(self.clock())
        given = self.verified(Drafted(rows, proposed, tokens))
        accepted, emitted = given.accepted.tolist(), given.tokens.tolist()
        rows_now, added = tuple(self.open), self.append(emitted, accepted)
        times.append(self.clock())
        spent = (after - before for before, after in pairwise(times))
        return Iteration(gamma, rows_now, tuple(accepted), tuple(added), *spent)

    def drafts(self, texts: Sequence[Sequence[int]], gamma: int) -> tuple[Tensor, Tensor]:
        """Draft X^gamma of each row, [B, gamma], with the scores they are verified by, [B, gamma, V]."""
        tokens, scores, draft = [], [], self.caches["draft"]
        read, real = draft.unread(texts)
        for _ in range(gamma):
            self.before_step()
            token, score = self.proposal(draft.logits(read, real)[:, -1, : self.vocabulary])
            read, real = token[:, None], None
            tokens.append(token)
            scores.append(score)
        return torch.stack(tokens, 1), torch.stack(scores, 1)

    def proposal(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """Draw one draft token of each row; return it with the logarithms of the law it was drawn from."""
        scores = self.warp(logits)
        return self.chances.draw(scores), scores

    def target_scores(self, logits: Tensor) -> Tensor:
        """Return the logarithms of the target's law at each row of the blocks, up to constants."""
        return self.warp(logits[..., : self.vocabulary])

    def verified(self, drafted: Drafted) -> Emitted | EmittedPaths:
        """Verify a batch of blocks; under Algorithm 6 against the modified target, and noting the new one."""
        if not self.verifier.modifies_target:
            return self.verifier.verify(drafted, self.chances)
        now, seen = self.nested.applied(drafted)
        given = self.verifier.verify(now, self.chances)
        assert isinstance(given, Emitted), "several paths do not modify the target"
        self.nested.followed(seen, given)
        return given

    def append(self, emitted: list[list[int]], accepted: list[int]) -> list[int]:
        """Add X^tau, Y to each open text, close those that have ended; how much each grew."""
        added, still = [], []
        for at, (row, tokens, tau) in enumerate(zip(self.open, emitted, accepted, strict=True)):
            text = self.texts[row]
            new = self.cut(tokens[: tau + 1])[: self.ends[row] - len(text)]
            text += new
            self.result.tokens[row] += new
            added.append(len(new))
            if len(text) < self.ends[row] and new[-1] not in self.eos:
                still.append(at)
        self.continue_with(still)
        return added

    def cut(self, tokens: list[int]) -> list[int]:
        """Cut what is behind an end token."""
        return tokens[: next((at + 1 for at, token in enumerate(tokens) if token in self.eos), len(tokens))]

    def continue_with(self, rows: list[int]) -> None:
        """Drop the rows of the batch that have ended; of the others forget what is not their text."""
        if rows and len(rows) < len(self.open):
            for part in (*self.caches.values(), self.chances, self.nested):
                part.select(rows)
        self.open = [self.open[at] for at in rows]
        if rows:
            for cached in self.caches.values():
                cached.rewind(torch.tensor([len(self.texts[row]) - 1 for row in self.open]))

    def clock(self) -> float:
        """Return seconds, with the device's work done."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return perf_counter()


def _no_verifier(*_: Any) -> Any:
    raise AssertionError("plain decoding verifies nothing")


NO_VERIFIER = LoopVerifier("plain", _no_verifier)


class PlainLoop(DecodingLoop):
    """A loop without a draft."""

    def iteration(self) -> Iteration:
        times = [self.clock()]
        tokens, real = self.caches["target"].unread([self.texts[row] for row in self.open])
        scores = self.target_scores(self.caches["target"].logits(tokens, real)[:, -1])
        times.append(self.clock())
        rows, none = tuple(self.open), [0] * len(self.open)
        added = self.append(self.chances.draw(scores)[:, None].tolist(), none)
        times.append(self.clock())
        return Iteration(0, rows, tuple(none), tuple(added), 0.0, times[1] - times[0], times[2] - times[1])
