"""The sources of a night's draws: a reference verifier, or a third-party function in its sandbox."""

import hashlib
import random
from collections import Counter
from collections.abc import Mapping
from typing import Any

from .... import __version__
from ....models.decoding import Decoded, iteration
from ....models.digests import ROOT, sources
from ....models.errors import RunFailed
from ....models.problem import Problem, with_numbers
from ....models.rationals import as_float
from ....proofs.interception.digests import UNKNOWN
from ....verifiers.chance import RandomChance
from ....verifiers.registry import Reference
from ..sandboxed import probe_problems, sampled, sandbox_of
from ..subject import SubjectSpec


class ReferenceDraws:
    """A source that draws from a reference verifier, on floats, by the code that the proofs are about.

    version: of the implementation and of how it is called; a new one begins new e-processes
    modifies_target: see ``SubjectSpec``
    environment: versions of the packages in use
    """

    def __init__(self, reference: Reference):
        self.reference = reference
        self.version = f"{__version__} {own_digest()}"
        self.modifies_target = reference.modifies_target
        self.environment = {"draftproof": __version__}

    def draw(self, problem: Problem, count: int, seed: int) -> Mapping[Any, int]:
        chance, floats = RandomChance(random.Random(seed)), with_numbers(problem, as_float)
        return Counter(iteration(floats, self.reference, Decoded(), chance).tokens for _ in range(count))

    def close(self) -> None:
        pass


class ThirdPartyDraws:
    """A source that calls a third-party function, unmodified, with real random numbers; fields as of
    ``ReferenceDraws``.

    stated: its version in its owner's words, shown before the digest of its code, or in its place where there is none
    Raises: RunFailed if it cannot be loaded or its version is unknown, and from ``draw`` if it stops answering.
    """

    def __init__(self, subject: SubjectSpec, dtype: str, timeout: float, memory: float, stated: str | None = None):
        self.modifies_target = subject.modifies_target
        self._sandbox = sandbox_of(subject, dtype, timeout=timeout, memory=memory)
        try:
            about = self._sandbox.start(probe_problems([]))
            self.version = _version(subject, about, dtype, stated)
        except BaseException:
            self._sandbox.stop()
            raise
        self.environment = {"draftproof": __version__, **about["versions"]}

    def draw(self, problem: Problem, count: int, seed: int) -> Mapping[Any, int]:
        return sampled(self._sandbox, problem, count, seed)[0]

    def close(self) -> None:
        self._sandbox.stop()


DrawSource = ReferenceDraws | ThirdPartyDraws
"""A source of the draws of one version of a subject."""


def source_of(subject: SubjectSpec, dtype: str, timeout: float, memory: float, stated: str | None = None) -> DrawSource:
    if subject.reference is not None:
        return ReferenceDraws(subject.reference)
    return ThirdPartyDraws(subject, dtype, timeout, memory, stated)


def _version(subject: SubjectSpec, about: Mapping[str, Any], dtype: str, stated: str | None) -> str:
    digest = about["digest"]
    if digest == UNKNOWN and not stated:
        raise RunFailed(
            "version",
            "its versions cannot be distinguished: a part of it has neither source nor readable bytes; expected "
            "--subject-version TEXT",
        )
    package = about["versions"].get(subject.source.partition(".")[0])
    if subject.source.startswith("draftproof."):  # a file alone is not the whole of one
        package, digest = __version__, own_digest()
    # HOW_CALLED of states.py reads the last two
    parts = (stated, package, digest if digest != UNKNOWN else None, dtype, about["convention"]["array"])
    return " ".join(part for part in parts if part)


def own_digest() -> str:
    """Return the digest of all code that draws of draftproof's own verifiers run through: the two lowest rooms."""
    files = sorted(path for pattern in sources("verifiers", "models") for path in ROOT.glob(pattern))
    return f"sha256:{hashlib.sha256(b''.join(path.read_bytes() for path in files)).hexdigest()}"
