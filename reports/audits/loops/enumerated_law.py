"""The exact law of the first tokens that the loop writes on a small forged pair: the loop as a program over chance."""

from ....models.law import Prefix, prefix_key
from ....models.problem import as_json
from ....models.rationals import as_float
from ....proofs import verdict_rule
from ....proofs.enumeration import Branching, EnumeratedChance
from ....proofs.field import in_field
from ....proofs.laws import joint_law
from ....verifiers.details import LoopLawDetail
from ....verifiers.evidence import HOLDS, REFUTED, Evidence, Method
from .forged_law import ForgedLaw
from .session import LoopSession, seen

MAX_PATHS = 20_000
"""Ways chance can fall that are walked."""

MAX_GREEDY_TOKENS = 512
"""Tokens of a text that is walked at temperature 0, where there is one path."""

ROUNDING_PER_TOKEN = 1e-6
"""Total variation that the rounding of rows in float32 may make, for each token."""


class EnumeratedLaw:
    """The verifier in its exact form, one block at a time, driven by the loop on every way chance can fall.

    The loop's own random streams and its batched verifier are examined by ``text_counts`` and ``written_texts``.
    """

    def __init__(self, session: LoopSession, forged: ForgedLaw):
        self.session, self.forged = session, forged
        self.length = session.settings.first_gamma + 2
        drafts = session.verifier.paths * session.settings.first_gamma
        if session.verifier.paths > 1 and forged.start ** (2 * drafts + 2) > MAX_PATHS:
            self.length = 2  # of two iterations the ways are too many
        if session.settings.greedy:
            self.length = max(self.length, min(MAX_GREEDY_TOKENS, session.options.new_tokens))
        self.holds = False
        self.law: dict[Prefix, float] | None = None

    def run(self) -> None:
        """The longest texts that can be walked, from gamma + 2 tokens down to one; at temperature 0 from all."""
        while self.length and self.law is None:
            self.law = self.walked()
            if self.law is None:
                self.length //= 2

    def walked(self) -> dict[Prefix, float] | None:
        """law(text) = sum over the paths that end in it; None if they are too many. All open paths in one batch."""
        session, verifier = self.session, self.session.exact_verifier
        law: dict[Prefix, float] = {}
        scripts, paths = [((), 1.0)], 0
        while scripts:
            session.step(f"the exact law of {self.length} tokens", paths, paths + len(scripts))
            if paths + len(scripts) > MAX_PATHS:
                return None
            walks = []
            for script in scripts:
                walks.append(Branching(1.0))
                walks[-1].pending = [script]
                walks[-1].begin()
            prompts, chance = [[self.forged.start]] * len(walks), [EnumeratedChance(walk) for walk in walks]
            written = session.decode(prompts, self.length, verifier=verifier, chance=chance)
            for walk, tokens in zip(walks, written.tokens, strict=True):
                text = self.forged.text(tokens, self.length)
                law[text] = law.get(text, 0.0) + walk.probability
            paths += len(walks)
            scripts = [script for walk in walks for script in walk.pending]
        return law

    def evidence(self, complete: bool) -> list[Evidence]:
        if self.law is None:
            return []
        problem, observed = self.forged.problem, self.law
        expected = {text: as_float(p) for text, p in joint_law(in_field(problem).target, self.length).items()}
        errors = {
            x: abs(observed.get(x, 0.0) - expected.get(x, 0.0)) for x in sorted(observed.keys() | expected.keys())
        }
        total_variation, allowed, witness = sum(errors.values()) / 2, ROUNDING_PER_TOKEN * self.length, None
        verdict = verdict_rule.decide(total_variation, allowed, allowed)
        if verdict == REFUTED:
            worst = max(errors, key=lambda x: errors[x])
            both = (f"{law.get(worst, 0.0):.6g}" for law in (expected, observed))
            witness = seen(as_json(problem), prefix_key(worst), *both)
        self.holds = verdict == HOLDS
        detail = LoopLawDetail(
            tokens=self.length, law=self.forged.source, chance="enumerated, in the place of the loop's streams",
            verifier="one tree at a time" if self.session.verifier.rule else "one block at a time",
        )  # fmt: skip
        measured = {"total_variation": min(1.0, total_variation), "bound": allowed}
        finding = self.session.finding
        return [finding("lossless", Method.ENUMERATION, verdict, problem.name, detail, witness, **measured)]
