"""The child process of a campaign over a batched function: the interception's child with its own load and sample."""

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from ....proofs.interception import child, harness
from ....proofs.interception.digests import digest_of
from ....proofs.interception.loading import load
from ....proofs.interception.outcomes import Raised, encoded
from ....proofs.interception.serving import Server
from ....stattests.campaign.batched import BatchedSource


class _Loaded:
    """A function that was called once for real, so that what cannot be called is reported now.

    Raises: NotASubject if that call does not return tokens.
    """

    def __init__(self, server: Server, request: dict[str, Any]):
        name, array, dtype = request["subject"], request["array"], request["dtype"]
        server.begin(f"importing {name}", server.limits.timeout)
        function = load(name)
        problem, batch = request["problems"][0], int(sys.argv[1])
        digest = digest_of(function)  # before a call changes what it remembers
        self.source = BatchedSource(function, problem, batch, name=name, array=array, dtype=dtype)
        server.begin(f"the first call of {name}", server.limits.timeout)
        tally = self.source.sample(np.random.SeedSequence(0), batch)
        if tally.failures == tally.n:
            (kind, seen), *_ = tally.strange.items()
            raise harness.NotASubject(f"{name} fails on its first call: {kind}: {seen.example}")
        convention = {"array": array, "random": self.source.plan.random or "global generators"}
        self.description = {"digest": digest, "convention": convention, "findings": {}, "versions": {}}
        self.calls = 0  # not counted

    def until(self, moment: float) -> None:
        """Set no limit: a campaign has none on its processor time."""


def _sample(loaded: _Loaded, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    tally = loaded.source.sample(np.random.SeedSequence(request["seed"]), request["count"])
    yield {"counts": [[encoded(tokens), times] for tokens, times in tally.items()]}
    yield {"counts": [[encoded(Raised(kind, seen.example)), seen.times] for kind, seen in tally.strange.items()]}


def main() -> None:
    """Serve "load" and "sample" as the interception's child does. Argument: the number of blocks a call."""
    child.main(load=_Loaded, sample=_sample)
