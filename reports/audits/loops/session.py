"""A pair, a verifier and a loop, ready to be examined; and the clock that all parts of a run share."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import cycle, islice
from time import monotonic
from typing import Any

import numpy as np

from ....models.errors import InputError, RunFailed
from ....models.generating.loop import DecodingLoop, generate
from ....models.generating.loop_verifiers import LoopVerifier, lenient, loop_verifier
from ....models.generating.plain import decode_plainly
from ....models.generating.result import Generated
from ....models.generating.sampling import warp
from ....models.libraries import is_of_memory, reason
from ....models.pairs.loading import load_pair
from ....models.pairs.pair import Pair
from ....models.pairs.presets import load_preset
from ....models.pairs.prompts import EMBEDDED, prompts
from ..functions.settings import Progress
from .mutants import LOOP_MUTANTS, LoopMutant
from .options import Options, lenience_of

SMALL = 30_000_000
"""Parameters of a target up to which one thread is as fast as several, and does not wait for other programs."""

ROWS = 8
"""Rows of a batch, where none are asked for."""


class TimeUp(RunFailed):
    """The seconds of the whole run are over."""

    def __init__(self, message: str):
        super().__init__("timeout", message)


class LoopRaised(RunFailed):
    """A mutant of the loop raised an exception of its own."""

    def __init__(self, message: str):
        super().__init__("raises", message)


@dataclass
class LoopSession:
    """settings: of the loop, but for seed and length. start: the start token of a forged pair, else None.
    prompts: token ids behind which texts are written; a forged pair's end in tokens of its own.
    """

    options: Options
    pair: Pair
    rule: LoopVerifier
    lenience: float | None
    mutant: LoopMutant | None
    settings: dict[str, Any]
    start: int | None
    prompts: list[list[int]]
    progress: Progress = lambda stage, done, total: None
    began: float = field(default_factory=monotonic)

    @property
    def loop(self) -> type[DecodingLoop]:
        return self.mutant.loop if self.mutant else DecodingLoop

    @property
    def rows(self) -> int:
        return self.options.batch or ROWS

    @property
    def warp(self) -> Any:
        return warp(*(self.settings[name] for name in ("temperature", "top_k", "top_p")))

    @property
    def modifies_target(self) -> bool:
        return self.rule.modifies_target

    def step(self, what: str, done: int, of: int) -> None:
        """Tell how far a part is. Raises: TimeUp."""
        self.progress(what, done, of)
        self.in_time()

    def in_time(self) -> None:
        """Raises: TimeUp."""
        if monotonic() - self.began > self.options.timeout:
            raise TimeUp(f"not done within {self.options.timeout:g} s")

    def seeds(self, part: int) -> Iterator[int]:
        """Seeds for the batches of one part of the run, of its own."""
        sequence = np.random.SeedSequence(self.options.seed, spawn_key=(part,))
        while True:
            yield int(sequence.spawn(1)[0].generate_state(1, np.uint64)[0])

    def generated(
        self, texts: list[list[int]], seed: int, length: int, loop: type[DecodingLoop] | None = None
    ) -> Generated:
        """The loop's continuation of a batch of prompts, or the mutant's, if one is examined."""
        return generate(
            self.pair.target, self.pair.draft, texts, self.rule, seed=seed, max_new_tokens=length,
            vocabulary=self.pair.vocabulary, loop=self.patient(loop or self.loop), **self.settings,
        )  # fmt: skip

    def plainly(self, texts: list[list[int]], seed: int, length: int, **settings: Any) -> Generated:
        """Plain decoding of the same prompts; settings: in the place of the run's."""
        return decode_plainly(
            self.pair.target, texts, seed=seed, max_new_tokens=length, vocabulary=self.pair.vocabulary,
            **{**self.settings, "gamma": 1, **settings},
        )  # fmt: skip

    def patient(self, loop: type[DecodingLoop]) -> type[DecodingLoop]:
        """The loop, which looks at the clock of the run before each iteration and each draft token."""
        in_time, foreign = self.in_time, self.mutant is not None

        class Patient(loop):  # type: ignore[valid-type, misc]
            def run(self) -> Any:
                try:
                    return super().run()
                except Exception as error:
                    if not foreign or isinstance(error, (TimeUp, InputError)) or is_of_memory(error):
                        raise
                    raise LoopRaised(f"the loop raised {type(error).__name__}: {reason(error)}") from error

            def iteration(self) -> Any:
                in_time()
                return super().iteration()

            def proposal(self, logits: Any) -> Any:
                in_time()
                return super().proposal(logits)

        return Patient

    def batch(self, rows: int | None = None) -> list[list[int]]:
        """Prompts for a batch, those there are in turn."""
        return list(islice(cycle(self.prompts), rows or self.rows))


def session(options: Options, progress: Progress = lambda stage, done, total: None) -> LoopSession:
    """Load the pair and find out what it is.

    Raises: InputError in one line for what cannot be run: see ``loading.load_pair``, ``settings``, ``prompts``.
    """
    if options.mutant is not None and options.mutant not in LOOP_MUTANTS:
        raise InputError(f"no mutant {options.mutant!r}; known: {', '.join(LOOP_MUTANTS)}")
    mutant = LOOP_MUTANTS[options.mutant] if options.mutant else None
    settings = options.checked(mutant)
    name = options.verifier or (mutant.verifier if mutant else "block")
    lenience = lenience_of(name)
    rule = loop_verifier(name) if lenience is None else lenient(lenience)
    progress("loading", 0, 1)
    if options.preset:
        pair = load_preset(options.preset, options.drafter, options.device, options.dtype)
    else:
        pair = load_pair(options.target, options.draft, options.device, options.dtype)
    start = start_token(pair)
    if settings["eos"] is None:
        settings["eos"] = pair.end
    elif not 0 <= settings["eos"] < pair.vocabulary:
        raise InputError(f"eos {settings['eos']}: expected a token, 0 to {pair.vocabulary - 1}")
    found = (
        of_tokens(start, pair, options) if start is not None and options.prompts is None else of_texts(pair, options)
    )
    return LoopSession(options, pair, rule, lenience, mutant, settings, start, found, progress)


def start_token(pair: Pair) -> int | None:
    """The token behind which a forged pair's law is known; None if the pair is not forged."""
    configs = pair.target.config, pair.draft.config
    if not all(getattr(config, "forged_from", None) for config in configs):
        return None
    return configs[0].bos_token_id


def of_tokens(start: int, pair: Pair, options: Options) -> list[list[int]]:
    """Prompts of a forged pair: the start token and 0, 1, 2, ... tokens that may follow it, so that a batch is ragged."""
    lengths = range(min(ROWS, (pair.context or 4096) - options.new_tokens))
    if not lengths:
        raise InputError(f"{options.new_tokens} new tokens: expected fewer than the context of {pair.context}")
    return [[start, *((k * k + n) % start for k in range(n))] for n in lengths]


def of_texts(pair: Pair, options: Options) -> list[list[int]]:
    """The prompts asked for. Raises: InputError for one that does not fit."""
    return [pair.encode(text, options.new_tokens) for text in prompts(options.prompts or EMBEDDED)]
