"""Where the draws of a night come from: a reference verifier run as it is, or a foreign function in its sandbox."""

import hashlib
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

from ... import __version__, verifiers
from ...models.battery import drawn, toy
from ...models.decoding import Decoded, iteration
from ...models.problem import Problem, with_numbers
from ...proofs.sandbox import Sandbox
from ...verifiers.chance import RandomChance
from ...verifiers.registry import Reference
from ..report import Report
from ..sampling import sampled
from ..subject import SubjectSpec


class Source(Protocol):
    """version: of the implementation, a new one begins new e-processes; how: the parameters that belong to it."""

    version: str
    how: Mapping[str, Any]
    modifies_target: bool
    environment: Mapping[str, str]

    def draw(self, problem: Problem, count: int, seed: int) -> Mapping[Any, int]: ...

    def close(self) -> None: ...


class ReferenceSource:
    """Our own verifiers, by the code that the proofs are about, on floats."""

    def __init__(self, reference: Reference):
        self.reference = reference
        self.version = f"{__version__} {_digest_of_the_room()}"
        self.how: Mapping[str, Any] = {}
        self.modifies_target = reference.modifies_target
        self.environment = {"draftproof": __version__}

    def draw(self, problem: Problem, count: int, seed: int) -> Mapping[Any, int]:
        chance = RandomChance(random.Random(seed))
        floats = with_numbers(problem, lambda p: float(Fraction(int(p.numerator), int(p.denominator))))
        start = Decoded()
        return Counter(iteration(floats, self.reference, start, chance).tokens for _ in range(count))

    def close(self) -> None:
        pass


class ForeignSource:
    """Somebody's function, unmodified, with real random numbers.

    Raises: SubjectFailed if it cannot be loaded, and from ``draw`` if it stops answering.
    """

    modifies_target = False

    def __init__(self, subject: SubjectSpec, dtype: str, timeout: float, memory: float):
        self._sandbox = Sandbox(subject.target, subject.array, dtype, timeout=timeout, memory=memory,
                                torch=subject.torch)  # fmt: skip
        try:
            about = self._sandbox.start([toy(1), drawn(3, 2, "generic")])
        except BaseException:
            self._sandbox.stop()
            raise
        self.environment = {"draftproof": __version__, **about["versions"]}
        package = subject.source.partition(".")[0]
        known = f"{about['versions'][package]} " if package in about["versions"] else ""
        self.version = known + about["digest"]
        self.how = {"dtype": dtype, "array": about["convention"]["array"]}

    def draw(self, problem: Problem, count: int, seed: int) -> Mapping[Any, int]:
        return sampled(self._sandbox, problem, count, seed, Report({}))

    def close(self) -> None:
        self._sandbox.stop()


def source_of(subject: SubjectSpec, dtype: str, timeout: float, memory: float) -> Source:
    if subject.reference is not None:
        return ReferenceSource(subject.reference)
    return ForeignSource(subject, dtype, timeout, memory)


def _digest_of_the_room() -> str:
    """SHA-256 of the sources of the room that holds our verifiers."""
    folders: Sequence[str] = list(verifiers.__path__)
    digest = hashlib.sha256()
    for path in sorted(path for folder in folders for path in Path(folder).glob("*.py")):
        digest.update(path.read_bytes())
    return f"sha256:{digest.hexdigest()}"
