"""The child process in which a decoder is traced: for each request the law of what one call of it yields."""

import inspect
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ...models.decoding_settings import BETWEEN_TEXTS, OF_EARLIER, ReportedLogprobs, joined, note_logprobs, requests_of
from ...models.digests import versions
from ...models.errors import RunFailed
from ...verifiers.adapters.calling_convention import NotASubject, tokens_of
from ...verifiers.verdicts import Strength
from . import explore, harness, reads
from .digests import digest_of, loaded_parts
from .exploration import Exploration
from .explore import Explored
from .kept import changing
from .loading import load
from .outcomes import Outcome, Raised, kind_of
from .ruled import RuledTracer, before_the_call
from .serving import Server
from .slots import MOST_AFTERWARDS, MOST_CHOICES_AFTERWARDS, MOST_TOGETHER, laws_by_slot
from .tracer import MOST_CHOICES, active

# A decoder may hash its seed into numbers that are not followed: with two seeds one call in two repeats another.
SEEDS = tuple(
    seed ^ (k * 0x9E37_79B1 & 0x7FFF_FFFF) for k in range(32) for seed in (0x2AAA_AAAA, 0x5555_5555)
)  # fmt: skip
"""Seeds of the calls, in turn. Two in a row share no bit, so that what a decoder drops of a seed shows."""

FILLS = (0, 1, 2)
"""What memory that is made without being written holds, one after the other: call by call another one."""

REPEATED_SEEDS = 12
"""Seeds with which a decoder without a law is called again, to see whether it repeats itself."""

SEEDS_OF_KEPT = 48
"""Seeds with which it is called again to see what it keeps: what one text in twelve changes is missed with 0.02."""

NEVER = 1e-9
"""Largest probability of the outputs that a law leaves out at which a real call returns none of them."""

EMPTY = ("empty", "empty_like")
TORCH_EMPTY = {*EMPTY, "new_empty", "empty_strided", "new_empty_strided"}


LOOKED_AT: dict[tuple[str, ...], list[str]] = {}
"""Names of settings -> what changes with every call of the one decoder of this process."""


@contextmanager
def filled_memory(value: int) -> Iterator[None]:
    """Fill arrays and tensors that are made without being written with this value, in calls within.

    Not seen: names that were imported out of NumPy before, and memory that compiled code makes.
    """
    plain = {name: getattr(np, name) for name in EMPTY}

    def filling(make: Callable) -> Callable:
        def made(*arguments: Any, **options: Any) -> Any:
            array = make(*arguments, **options)
            if array.dtype.kind in "biufc":
                array.fill(value)
            return array

        return made

    for name, make in plain.items():
        setattr(np, name, filling(make))
    try:
        if "torch" not in sys.modules:
            yield
        else:
            from torch.overrides import TorchFunctionMode

            class FilledMemory(TorchFunctionMode):
                def __torch_function__(self, func, types, args=(), kwargs=None):
                    made = func(*args, **(kwargs or {}))
                    return made.fill_(value) if getattr(func, "__name__", "") in TORCH_EMPTY else made

            with FilledMemory():
                yield
    finally:
        for name, make in plain.items():
            setattr(np, name, make)


class FollowedDecoder:
    """A decoder under one request's settings.

    exploration: what is remembered of it. calls: the number of calls so far.
    logprobs: text -> the least and the largest that was reported at each place.
    earlier: requests to make before it each time, unless the decoder makes them itself.
    behind: how the last of them ended.
    untraced: seed -> the outcome of the last call with real random numbers.
    """

    def __init__(self, decode: Callable, server: Server, request: Mapping[str, Any]):
        self.decode, self.server, self.request, self.calls = decode, server, request, 0
        self.exploration = Exploration(seed=SEEDS[0], replays=len(explore.ENDS))
        folders = [request[name] and Path(request[name]) for name in ("target", "draft")]
        self.given = *folders, request["start"], request["tokens"], request["gamma"]
        self.settings = dict(request["settings"])
        own = "earlier" in inspect.signature(decode).parameters
        self.earlier = [] if own else self.settings.pop("earlier", [])
        self.behind = ""
        self.untraced: dict[int, Outcome] = {}
        self.logprobs: ReportedLogprobs = {}

    def yielded(self, seed: int, fill: int) -> Outcome:
        """Make one call, and return the ids of its text; those of several texts have a mark between them."""
        with filled_memory(fill):
            for earlier in self.earlier[-1:]:
                before = self.made(earlier, seed)
                self.behind = "it was cancelled" if before is None else f"its output was {before}"
            texts = [*self.decode(*self.given, [seed], **self.settings)]
        if len(texts) != 1:
            raise ValueError(f"it yields {len(texts)} outputs for one seed")
        (text,) = texts
        reported = None
        if self.settings.get("logprobs"):
            text, reported = text
        several = not isinstance(text, str) and len(text) > 0 and np.ndim(text[0]) != 0
        outcomes = [tokens_of(one) if len(one) else () for one in (text if several else [text])]
        if len(outcomes) != len(requests_of(self.settings)):
            raise ValueError(f"it yields {len(outcomes)} outputs for {len(requests_of(self.settings))} requests")
        if any(BETWEEN_TEXTS in one for one in outcomes):
            raise ValueError(f"it yields {BETWEEN_TEXTS}, which is no token")
        outcome = joined(outcomes)
        if self.settings.get("logprobs"):
            if reported is None:
                raise ValueError("it reports no logprobs")
            note_logprobs(self.logprobs, outcome, [*map(float, reported)])
        return outcome

    def explored(self, most_choices: int = MOST_CHOICES) -> Explored:
        """Explore the call. most_choices: as of ``Tracer``."""
        kind = partial(RuledTracer, clear=self.make_first, most_choices=most_choices)
        return explore.explore(self.call, self.exploration, kind=kind)

    def make_first(self) -> None:
        """Make all earlier requests but the last with real random numbers, always the same ones.

        So what the call before left behind is replaced by what these leave.
        """
        for k, earlier in enumerate(self.earlier[:-1]):
            self.made(earlier, k)

    def made(self, earlier: Any, seed: int) -> Any:
        """Make an earlier request, and return its text; None if it was cancelled."""
        settings = dict(earlier) if isinstance(earlier, Mapping) else {"prompt": earlier}
        target, draft, start, tokens, gamma = self.given
        tokens, cancelled, drawn = (settings.pop(n, default) for n, default in zip(OF_EARLIER, (tokens, None, 0)))
        text = None
        with before_the_call(drawn, cancelled):
            (text,) = self.decode(target, draft, start, tokens, gamma, [seed], **settings)
        return text

    def call(self, seed: int | None = None, fill: int | None = None) -> Outcome:
        """Make a call within the limits of time, as one that is traced or repeated."""
        self.calls += 1
        if seed is None:
            seed = self.exploration.seed = SEEDS[self.calls % len(SEEDS)]
        fill = FILLS[self.calls % len(FILLS)] if fill is None else fill
        outcome = harness.timed_call(self.server.limits, self.calls == 1, lambda: self.yielded(seed, fill))
        if active() is None:
            self.untraced[seed] = outcome
        return outcome

    def keeps(self) -> list[str]:
        """Return the names of what changes with every call, looked at once for each set of settings."""
        given = tuple(sorted(self.settings))
        if given not in LOOKED_AT:
            LOOKED_AT[given] = changing(self.decode, [self.repeated])
        return LOOKED_AT[given]

    def repeated(self) -> None:
        """Make the calls for the same texts again: many, since some counters change in few of them."""
        for seed in (*SEEDS[:2], *range(SEEDS_OF_KEPT)):
            self.call(seed, FILLS[0])

    def unforeseen(self, found: Explored) -> str | None:
        """Return why the law is not that of calls with real random numbers, if one of them shows it.

        A decoder that draws nothing that is followed is called with many seeds, since few calls may agree by chance.
        """
        assert found.law is not None
        if "earlier" in self.request["settings"] or found.resolution + found.between_levels > NEVER:
            return None  # the law is one after a certain output of the request before, or leaves outputs out
        if not found.numbers and len(self.untraced) < SEEDS_OF_KEPT:
            self.repeated()
        foreseen = {*map(kind_of, found.law)}
        for seed, outcome in self.untraced.items():
            if kind_of(outcome) not in foreseen:
                return f"with seed {seed} it returned {outcome}, which its random numbers that are followed never give"
        return None

    def seen(self) -> dict[str, Any]:
        """Return what repeated calls with real random numbers show: texts by seed and content of memory."""
        texts: dict[tuple[int, int], dict[str, None]] = defaultdict(dict)
        for seed in range(REPEATED_SEEDS):
            for fill in (*FILLS, *FILLS):
                texts[seed, fill][str(self.call(seed, fill))] = None
        for seed in range(REPEATED_SEEDS):
            differ = [[*texts[seed, fill]] for fill in FILLS if len(texts[seed, fill]) > 1]
            if differ:
                return {"differs": "from call to call", "seed": seed, "texts": differ[0]}
        for seed in range(REPEATED_SEEDS):
            by_fill = [*{fill: next(iter(texts[seed, fill])) for fill in FILLS}.values()]
            if len({*by_fill}) > 1:
                return {"differs": "with memory that was never written", "seed": seed, "texts": by_fill}
        return {}


def use_without_settings(decode: Callable, server: Server, request: Mapping[str, Any]) -> None:
    """Make requests without settings before one with some: what they leave in a cache must not reach it."""
    if request["settings"]:
        bare = FollowedDecoder(decode, server, {**request, "settings": {}})
        if not isinstance(bare.call(), Raised):
            bare.repeated()


def law_of(followed: FollowedDecoder) -> dict[str, Any]:
    """Return the law of what one call yields, or why there is none.

    Several texts have a law together if it has few paths. Else each has its law, given what the others drew, and all
    have one together if there is time to follow it in the first half of the request's.
    """
    half_of_the_time = time.process_time() + followed.server.limits.timeout / 2
    warm = followed.call()
    if isinstance(warm, Raised):
        return {"law": None, "reason": f"it raises {warm}", "raises": warm.error}
    alone = _laws_alone(followed) if len(requests_of(followed.settings)) > 1 else []
    if lawless := next((one for one in alone if one.law is None), None):
        return _facts(followed, replace(lawless, reason=f"a request alone: {lawless.reason}")) | {"law": None}
    ways = prod(one.paths for one in alone)
    if ways <= MOST_TOGETHER:
        found, parts = followed.explored(), []
    else:
        parts, stopped = laws_by_slot(followed.call, followed.exploration, [one.law or {} for one in alone])
        found = _together([part.found for part in parts])
        found.reason = found.reason or stopped
        if found.reason is None and ways <= MOST_AFTERWARDS:
            followed.exploration.until = half_of_the_time
            whole = followed.explored(MOST_CHOICES_AFTERWARDS)
            found, parts = (whole, []) if whole.law is not None else (found, parts)
    answer = _facts(followed, found) | {"each_alone": [_encoded(one.law) for one in alone]}
    keeps = [] if found.law is None else followed.keeps()
    if found.law is not None and not parts and (reason := followed.unforeseen(found)):
        found.law, answer["reason"] = None, reason
    if found.law is None:
        return answer | {"law": None, "seen": followed.seen()}
    answer |= {"keeps": keeps, "law": None if parts else _encoded(found.law)}
    return answer | {
        "parts": [{"slots": part.slots, "drawn": part.drawn, "law": _encoded(part.found.law)} for part in parts]
    }


def _laws_alone(followed: FollowedDecoder) -> list[Explored]:
    """Return for each request of a call the law of its text when it is made alone."""
    known: dict[str, Explored] = {}
    names = [json.dumps(settings, sort_keys=True) for settings in requests_of(followed.settings)]
    for name in names:
        if name not in known:
            request = {**followed.request, "settings": json.loads(name)}
            one = FollowedDecoder(followed.decode, followed.server, request)
            warm = one.call()
            stopped = Explored(None, "none", reason=f"it raises {warm}")
            known[name] = stopped if isinstance(warm, Raised) else one.explored()
    return [known[name] for name in names]


def _together(laws: Sequence[Explored]) -> Explored:
    """Return what is common to the laws of parts of a batch, and the last law: None if the laws are not known.

    On which decisions a text depends is known by calls, so that no law is better than that.
    """
    known = [Strength(one.exactness) for one in laws if one.law]
    weakest = max([Strength.BY_CALLS, *known], key=lambda strength: strength.rank)
    findings = {kind: text for one in reversed(laws) for kind, text in one.findings.items()}
    return Explored(laws[-1].law, weakest, max(one.resolution for one in laws),
                    sum(one.paths for one in laws), laws[-1].reason, findings,
                    numbers=sum(one.numbers for one in laws))  # fmt: skip


def _facts(followed: FollowedDecoder, found: Explored) -> dict[str, Any]:
    """Return what an answer says next to the law."""
    return {
        "exactness": found.exactness, "resolution": found.resolution, "paths": found.paths, "reason": found.reason,
        "numbers": found.numbers,
        "findings": found.findings, "calls": followed.calls, "reads": _reads(followed.exploration),
        "behind": followed.behind,
        "logprobs": [[[*text], *both] for text, both in followed.logprobs.items()],
    }  # fmt: skip


def _encoded(law: Mapping[Outcome, Any] | None) -> list[list[Any]]:
    """Return a law as JSON: [text or error, probability]."""
    return [[str(o) if isinstance(o, Raised) else [*o], float(p)] for o, p in (law or {}).items()]


def _reads(exploration: Exploration) -> list[str]:
    """Return what it asks of its surroundings, its models' files excepted."""
    return [reads.as_text(read) for read in exploration.reads.values() if read.of != reads.FILES]


def main() -> None:
    """Serve requests until the parent closes the pipe: the first one loads the decoder, each other one is a law."""
    server = Server()
    reads.install()
    explore.install()
    harness.interrupt_long_calls()
    decode: Any = None
    for request in server.requests():
        try:
            if decode is None:
                server.begin("importing it", server.limits.timeout)
                if request["torch"]:
                    import torch  # noqa: F401  # before third-party code, so that its names are followed

                    reads.install()
                decode = load(request["sample"])
                if bars := sys.modules.get("tqdm"):
                    bars.tqdm.monitor_interval = 0  # its thread would read the clock during calls after ten seconds
                packages = {name.replace("_", "-"): v for name, v in versions(*request["packages"]).items()}
                server.imported()
                server.answer(digest=digest_of(decode), versions=packages)
                continue
            server.begin("following it", server.limits.timeout)
            use_without_settings(decode, server, request)
            answer = law_of(FollowedDecoder(decode, server, request))
            server.answer(**answer, made_of=loaded_parts())
        except NotASubject as error:
            server.answer(error=str(error), kind=error.kind)
        except harness.NeverReturned as late:
            server.answer(error=f"a call did not return {late}", kind="timeout")
        except RunFailed as failure:
            server.answer(error=str(failure), kind=failure.kind)
        except MemoryError:
            server.answer(error=f"it needs more than {server.memory:g} GiB of memory", kind="memory")
