"""The exact law of the first tokens that the loop writes on a small forged pair: the loop as a program over chance."""

from typing import Any

from ....models.generating.loop import generate
from ....models.generating.loop_verifiers import LoopVerifier, block_by_block
from ....models.law import Prefix, prefix_key
from ....models.problem import as_json
from ....models.rationals import as_float
from ....proofs.enumeration import Branching, EnumeratedChance
from ....proofs.field import in_field
from ....proofs.laws import joint_law
from ....verifiers.evidence import HOLDS, REFUTED, Evidence, Witness
from .forged_law import Known
from .session import LoopSession
from .text_counts import reference_of

MOST_PATHS = 20_000
"""Ways chance can fall that are walked."""

LONGEST = 512
"""Tokens of a text that is walked at temperature 0, where there is one path."""

ROUNDING = 1e-6
"""Total variation a token that the rounding of rows in float32 may make."""


class TooMany(Exception):
    """More paths than are walked."""


class ExactLaw:
    """The verifier in its exact form, one block at a time, driven by the loop on every way chance can fall.

    The loop's own random streams and its batched verifier are not in it; ``counted`` and ``texts`` are of those.
    """

    name = "exact law"

    def __init__(self, session: LoopSession, known: Known):
        self.session, self.known = session, known
        self.length = session.settings["gamma"] + 2
        if session.settings["temperature"] == 0:
            self.length = max(self.length, min(LONGEST, session.options.new_tokens))
        self.holds = False
        self.law: dict[Prefix, float] | None = None

    def run(self) -> None:
        """The longest texts that can be walked, from gamma + 2 tokens down to one; at temperature 0, from all of them."""
        while self.length:
            try:
                self.law = self.walked()
                return
            except TooMany:
                self.length = self.length // 2

    def walked(self) -> dict[Prefix, float]:
        """law(text) = sum over the paths that end in it; all open paths in one batch. Raises: TooMany."""
        session, law, scripts, paths = self.session, {}, [((), 1.0)], 0
        reference = reference_of(session, float)
        verify: Any = reference.verify
        rule = LoopVerifier(session.rule.name, block_by_block(verify), session.rule.modifies_target, session.rule.lossy)
        while scripts:
            session.step(f"the exact law of {self.length} tokens", paths, paths + len(scripts))
            if paths + len(scripts) > MOST_PATHS:
                raise TooMany
            walks = []
            for script in scripts:
                walks.append(Branching(1.0))
                walks[-1].pending = [script]
                walks[-1].begin()
            found = generate(
                session.pair.target, session.pair.draft, [[session.start]] * len(walks), rule,
                chance=[EnumeratedChance(walk) for walk in walks], loop=session.patient(session.loop),
                vocabulary=session.pair.vocabulary, max_new_tokens=self.length, **session.settings,
            )  # fmt: skip
            for walk, tokens in zip(walks, found.tokens, strict=True):
                text = self.known.text(tokens, self.length)
                law[text] = law.get(text, 0.0) + walk.probability
            paths += len(walks)
            scripts = [script for walk in walks for script in walk.pending]
        return law

    def evidence(self, complete: bool) -> list[Evidence]:
        if self.law is None:
            return []
        problem = self.known.problem
        expected = {text: as_float(p) for text, p in joint_law(in_field(problem).target, self.length).items()}
        texts = self.law.keys() | expected.keys()
        apart = sum(abs(self.law.get(x, 0.0) - expected.get(x, 0.0)) for x in texts) / 2
        allowed, off = ROUNDING * self.length, None
        if apart > allowed:
            worst = max(sorted(texts), key=lambda x: abs(self.law.get(x, 0.0) - expected.get(x, 0.0)))
            off = Witness(
                problem=as_json(problem),
                sequence=prefix_key(worst),
                expected=f"{expected.get(worst, 0.0):.6g}",
                observed=f"{self.law.get(worst, 0.0):.6g}",
            )
        self.holds = off is None
        evidence = Evidence(
            claim="lossless",
            method="enumeration",
            verdict=REFUTED if off else HOLDS,
            problem=problem.name,
            total_variation=min(1.0, apart),
            bound=allowed,
            witness=off,
            detail={
                "dtype": self.session.pair.dtype, "tokens": self.length, "law": self.known.source,
                "chance": "enumerated, in the place of the loop's streams", "verifier": "one block at a time",
            },
        )  # fmt: skip
        return [evidence]
