"""The child process of a campaign over a batched function: the interception's child, with other work to do."""

import sys
from typing import Any

import numpy as np

from ....models.problem import problem_from
from ....proofs.interception import child
from ....proofs.interception.digests import digest_of
from ....proofs.interception.outcomes import Raised, encoded
from ....stattests.campaign.batched import BatchedSource


def main() -> None:
    """Serve "load" and "sample" as the interception's child does. Argument: the blocks a call."""
    batch = int(sys.argv[1])
    child.main(load=lambda harness, request: _Loaded(harness, request, batch), sample=_sample)


class _Loaded:
    """The function, called once for real so that what cannot be called is told now.

    Raises: NotASubject if that call does not return tokens.
    """

    def __init__(self, harness: Any, request: dict, batch: int):
        name, array, dtype = request["subject"], request["array"], request["dtype"]
        self.findings: dict[str, str] = {}
        function = harness.load(name)
        problem = problem_from(request["probe"][0])
        digest = digest_of(function)  # before a call changes what it keeps
        self.source = BatchedSource(function, problem, batch, name=name, array=array, dtype=dtype)
        tally = self.source.sample(np.random.SeedSequence(0), batch)
        if tally.failures == tally.n:
            (kind, seen), *_ = tally.strange.items()
            raise harness.NotASubject(f"{name} fails on its first call: {kind}: {seen.example}")
        self.description = {
            "digest": digest,
            "convention": {"array": array, "random": self.source.plan.random or "global generators"},
            "findings": {},
            "versions": {},
        }


def _sample(harness: Any, loaded: _Loaded, request: dict, answer: Any) -> None:
    tally = loaded.source.sample(np.random.SeedSequence(request["seed"]), request["count"])
    answer(counts=[[encoded(tokens), times] for tokens, times in tally.items()])
    answer(
        counts=[[encoded(Raised(kind, seen.example)), seen.times] for kind, seen in tally.strange.items()],
        done=True,
        findings={},
    )
