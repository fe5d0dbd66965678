"""A third-party function as the source of a campaign: every chunk in a child process of its own, with limits."""

import secrets
from typing import Any

import numpy as np

from ....models.battery import drawn, toy
from ....models.problem import Problem
from ....proofs.interception.digests import UNKNOWN
from ....proofs.interception.outcomes import decoded
from ....proofs.sandbox import Sandbox
from ....stattests.campaign.compiled import fingerprint
from ....stattests.campaign.tally import Outcomes, Tally
from ..subject import SubjectSpec


class ThirdPartySource:
    """Calls of a third-party function.

    A fresh child process for every chunk: what the function remembers from call to call cannot make the counts depend
    on which worker drew which chunk.
    batch: draft blocks of a call; None for one, without the dimension of a batch.
    timeout: limit for a chunk, in seconds of processor time.
    memory: of the child process, in GiB.
    Raises (sample): RunFailed if the function cannot be loaded, crashes, or takes too long.
    """

    def __init__(self, subject: SubjectSpec, problem: Problem, *, batch: int | None = None, timeout: float = 600.0,
                 memory: float = 8.0):  # fmt: skip
        self.subject, self.problem, self.batch, self.dtype = subject, problem, batch, subject.dtypes[0]
        self.limits = {"timeout": timeout, "memory": memory, "torch": subject.torch}
        self.chunk = 200_000 if batch else 20_000
        self.outcomes = Outcomes(problem.vocabulary, problem.gamma + 1)
        with self._sandbox() as sandbox:
            self.digest: str = sandbox.start(self._probe())["digest"]
        self.identity = {
            "subject": f"{subject.name} ({_distinguished(self.digest)})",
            "problem": fingerprint(problem),
            "rows": f"{subject.array or 'as it takes them'} {self.dtype}, {batch or 1} a call",
        }

    def sample(self, seed: np.random.SeedSequence, n: int) -> Tally:
        """n calls, or batches enough for n blocks."""
        tally = Tally(self.outcomes)
        with self._sandbox() as sandbox:
            sandbox.start(self._probe())
            for answer in sandbox.sample(self.problem, n, int.from_bytes(seed.generate_state(8).tobytes(), "little")):
                for outcome, times in answer.get("counts", ()):
                    tally.count(decoded(outcome), times)
        return tally

    def _probe(self) -> list[Problem]:
        return [self.problem] if self.batch else [self.problem, toy(1), drawn(3, 2, "generic")]

    def _sandbox(self) -> Sandbox:
        named = self.subject.target or self.subject.name, self.subject.array, self.dtype
        return BatchedSandbox(self.batch, *named, **self.limits) if self.batch else Sandbox(*named, **self.limits)


def _distinguished(digest: str) -> str:
    """A digest as it stands; what has none is another subject each time, so that no checkpoint mixes versions of it."""
    return digest if digest != UNKNOWN else f"version unknown, as loaded for run {secrets.token_hex(4)}"


class BatchedSandbox(Sandbox):
    """The sandbox, with a child that calls a function on many blocks at once."""

    child = "draftproof.reports.audits.campaigns.child"

    def __init__(self, batch: int, subject: str, array: str | None = None, dtype: str = "float64", **settings: Any):
        super().__init__(subject, array or "numpy", dtype, **settings)
        self.arguments = (str(batch),)
