"""A pair, a verifier and a loop, ready to be examined; and the clock that all parts of a run share."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from time import monotonic, process_time
from typing import Any

import msgspec
import numpy as np

from ....models.errors import InputError, RunFailed
from ....models.generating.generate import verifier_for
from ....models.generating.loop import NO_VERIFIER, DecodingLoop, PlainLoop
from ....models.generating.loop_verifiers import LoopVerifier
from ....models.generating.result import Generated
from ....models.generating.sampling import Warp, warp
from ....models.generating.settings import LoopSettings
from ....models.generating.several_paths import SeveralPaths
from ....models.libraries import means_no_memory, reason
from ....models.pairs.loading import load_pair
from ....models.pairs.pair import Pair
from ....models.pairs.presets import load_preset
from ....models.pairs.prompts import EMBEDDED, prompts
from ....proofs.interception.loading import load
from ....proofs.time_limits import WALL_CLOCK_FACTOR
from ....verifiers.adapters.calling_convention import NotASubject
from ....verifiers.chance import Chance
from ....verifiers.details import AnyDetail
from ....verifiers.evidence import REFUTED, Evidence, EvidenceVerdict, Method, Witness
from ..settings import Progress, silent
from .options import LoopOptions

DEFAULT_BATCH = 8
"""Rows of a batch, if the command does not say."""

SEEDED_PARTS = "counts", "texts", "drift", "rows", "timing"
"""The parts of a run with seeds of their own; the order is part of what a seed means."""


@dataclass
class LoopSession:
    """A pair and a loop that are examined.

    options: what was asked for.
    pair: target and draft, loaded.
    verifier: that of the loop.
    loop: the class that decodes.
    settings: of the loop; each batch has its own seed and length.
    start: the start token of a forged pair, else None.
    prompts: token ids after which texts are written.
    progress: called with the stage, the steps done, and their number.
    began, used: wall-clock and processor time in seconds when the run began. Loading is part of the run.
    """

    options: LoopOptions
    pair: Pair
    verifier: LoopVerifier
    loop: type[DecodingLoop]
    settings: LoopSettings
    start: int | None
    prompts: list[list[int]]
    progress: Progress = silent
    began: float = field(default_factory=monotonic)
    used: float = field(default_factory=process_time)

    @property
    def exact_verifier(self) -> LoopVerifier:
        """The verifier for one block or tree at a time, as a given chance drives it."""
        verifier, gamma = self.verifier, self.settings.longest_gamma
        return verifier_for(verifier.reference(), verifier.paths, gamma, batched=False)[0]

    @property
    def batch_size(self) -> int:
        return self.options.batch or DEFAULT_BATCH

    @property
    def models(self) -> dict[str, Any]:
        return {"target": self.pair.target, "draft": self.pair.draft}

    @property
    def warp(self) -> Warp:
        return warp(self.settings.temperature, self.settings.top_k, self.settings.top_p)

    def step(self, stage: str, done: int, total: int) -> None:
        """Report the progress of a part. Raises: RunFailed when the time is up."""
        self.progress(stage, done, total)
        self.check_time()

    @property
    def spent(self) -> float:
        """Return the seconds that count: processor time, so that a busy machine ends no run.

        With several threads the clock is less, and counts; one in WALL_CLOCK_FACTOR by the clock counts in any case.
        """
        clock = monotonic() - self.began
        return max(min(clock, process_time() - self.used), clock / WALL_CLOCK_FACTOR)

    def past(self, share: float) -> bool:
        """Check whether this share of the run's seconds is over. A part that can end early then does."""
        return self.spent > share * self.options.timeout

    def check_time(self) -> None:
        """Raise RunFailed when the seconds of the whole run are over."""
        if self.past(1.0):
            raise RunFailed("timeout", f"not done within {self.options.timeout:g} s")

    def seeds(self, part: str) -> Iterator[int]:
        """Yield seeds for the batches of one of SEEDED_PARTS."""
        sequence = np.random.SeedSequence(self.options.seed, spawn_key=(SEEDED_PARTS.index(part) + 1,))
        while True:
            yield int(sequence.spawn(1)[0].generate_state(1, np.uint64)[0])

    def decode(
        self, prompts: Sequence[Sequence[int]], length: int, seed: int = 0, *, loop: type[DecodingLoop] | None = None,
        verifier: LoopVerifier | None = None, chance: Sequence[Chance] | None = None,
    ) -> Generated:  # fmt: skip
        """Continue a batch of prompts with the loop that is examined.

        loop, verifier: those to use instead of the session's.
        chance: see ``generating.generate``.
        Raises: RunFailed if the user's loop raises or returns no run of these prompts, and before an iteration or a
            draft token when the time is up.
        """
        settings = replace(self.settings, seed=seed, max_new_tokens=length)
        verifier, (target, draft), kind = verifier or self.verifier, self.models.values(), loop or self.loop
        try:
            running = kind(target, draft, prompts, verifier, settings, chance, before_step=self.check_time)
            return _checked_run(running.run(), len(prompts), self.pair.vocabulary)
        except Exception as error:
            if self.options.loop is None or isinstance(error, (RunFailed, InputError)) or means_no_memory(error):
                raise
            raise RunFailed("raises", f"the loop raised {type(error).__name__}: {reason(error)}") from error

    def decode_plainly(self, prompts: Sequence[Sequence[int]], length: int, seed: int, **changes: Any) -> Generated:
        """Continue a batch by plain decoding. changes: of the settings. Raises: RunFailed when the time is up."""
        settings = replace(self.settings, gamma=1, seed=seed, max_new_tokens=length, **changes)
        return PlainLoop(self.pair.target, None, prompts, NO_VERIFIER, settings, before_step=self.check_time).run()

    def finding(
        self, claim: str, method: Method, verdict: EvidenceVerdict, problem: str, detail: AnyDetail,
        witness: Witness | None = None, total_variation: float | None = None, bound: float | None = None,
    ) -> Evidence:  # fmt: skip
        """Return evidence in the pair's dtype. Only a refutation keeps its witness."""
        return Evidence(
            claim=claim, method=method, verdict=verdict, problem=problem, total_variation=total_variation, bound=bound,
            witness=witness if verdict == REFUTED else None,
            detail=msgspec.structs.replace(detail, dtype=self.pair.dtype),
        )  # fmt: skip

    def batch(self, rows: int | None = None) -> list[list[int]]:
        """Return prompts for a batch, those of the session in turn."""
        return list(islice(cycle(self.prompts), rows or self.batch_size))


def _checked_run(run: Any, prompts: int, vocabulary: int) -> Generated:
    """Return what a loop's run returned. Raises: RunFailed if it is not a run of so many prompts."""
    returned, expected = "", ""
    if not isinstance(run, Generated):
        returned, expected = type(run).__name__, Generated.__name__
    elif len(run.tokens) != prompts:
        returned, expected = f"{len(run.tokens)} outputs", f"{prompts}, one for each prompt"
    elif not all(run.tokens) or not all(0 <= token < vocabulary for text in run.tokens for token in text):
        returned, expected = "another output", f"one or more tokens, each 0 to {vocabulary - 1}"
    elif {row for each in run.iterations for row in each.rows} != set(range(prompts)):
        returned, expected = f"{len(run.iterations)} iterations", "one or more of each prompt"
    if expected:
        raise RunFailed("raises", f"run() of the loop returned {returned}; expected {expected}")
    return run


def seen(problem: dict[str, Any], sequence: str, expected: str, observed: str) -> Witness:
    """Return the witness of an outcome that differs from what was expected."""
    return Witness(problem=problem, sequence=sequence, expected=expected, observed=observed)


def open_session(options: LoopOptions, progress: Progress = silent) -> LoopSession:
    """Load the pair and the prompts.

    Raises: InputError in one line for what cannot be run: see ``loading.load_pair``, ``settings``, ``prompts``.
    """
    settings = options.settings()
    verifier, usual = verifier_for(options.verifier, options.paths, settings.longest_gamma)
    loop = _loop(options.loop, usual)
    began, used = monotonic(), process_time()
    progress("loading", 0, 1)
    if options.preset:
        pair = load_preset(options.preset, options.drafter, options.device, options.dtype)
    else:
        assert options.target and options.draft, "options without a pair"
        pair = load_pair(options.target, options.draft, options.device, options.dtype)
    if pair.target is pair.draft:  # what is read by either model is recorded apart
        pair = replace(pair, draft=deepcopy(pair.draft))
    outside = [token for token in settings.end_tokens if not 0 <= token < pair.vocabulary]
    if outside:
        raise InputError(f"eos {outside[0]}: expected a token, 0 to {pair.vocabulary - 1}")
    settings = replace(settings, eos=settings.end_tokens or pair.end, vocabulary=pair.vocabulary)
    start = start_token(pair)
    if start is not None and options.prompts is None:
        texts = forged_prompts(start, pair, options)
    else:
        texts = [pair.encode(text, options.new_tokens) for text in prompts(options.prompts or EMBEDDED)]
    return LoopSession(options, pair, verifier, loop, settings, start, texts, progress, began, used)


def _loop(name: str | None, usual: type[DecodingLoop]) -> type[DecodingLoop]:
    """Return the class of that name, the usual one if there is no name. Raises: InputError for another kind of loop."""
    if name is None:
        return usual
    try:
        given = load(name)
    except NotASubject as error:
        raise InputError(str(error)) from None
    if not (isinstance(given, type) and issubclass(given, DecodingLoop)):
        raise InputError(f"loop {name}: expected a subclass of {DecodingLoop.__module__}.DecodingLoop")
    if issubclass(given, SeveralPaths) != (usual is SeveralPaths):
        raise InputError(f"loop {name}: expected a subclass of {usual.__name__} for this verifier")
    return given


def start_token(pair: Pair) -> int | None:
    """Return the token after which a forged pair's law is known; None if the pair is not forged."""
    configs = pair.target.config, pair.draft.config
    if not all(getattr(config, "forged_from", None) for config in configs):
        return None
    return configs[0].bos_token_id


def forged_prompts(start: int, pair: Pair, options: LoopOptions) -> list[list[int]]:
    """Return prompts of a forged pair: the start token and 0, 1, 2, ... of its tokens, so that a batch is ragged."""
    lengths = range(min(DEFAULT_BATCH, (pair.context or 4096) - options.new_tokens))
    if not lengths:
        raise InputError(f"{options.new_tokens} new tokens: expected fewer than the context of {pair.context}")
    return [[start, *((k * k + n) % start for k in range(n))] for n in lengths]
