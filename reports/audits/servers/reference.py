"""A server that serves real weights: every token that it emits is bet on under the rows of the same weights here.

The rows of the server's arithmetic (quantised kernels, say) are not those of the reference. How far they are apart is
measured first, by what the server reports without speculation, and every bet pays for it.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from math import comb, inf
from typing import Any

import numpy as np

from ....models.errors import InputError, RunFailed
from ....models.generating.generate import generate
from ....models.generating.sampling import warp
from ....models.law import Prefix
from ....models.pairs.loading import load_pair
from ....models.pairs.pair import Pair
from ....models.pairs.prompts import EMBEDDED, prompts
from ....models.recorded_steps import ROW_OFF
from ....stattests.arguments import BETA, REFERENCE_ALPHA
from ....stattests.betting import UNTOUCHED, Fortune, SetBetting
from ....stattests.repeats import REPEATED, Repeats
from ....stattests.sequence_design import detectable_shift
from ....stattests.tilts import (
    SETS,
    TILTS,
    WITH_DRAFTS,
    Allowance,
    DriftExcess,
    TiltBetting,
    allowance,
    bets_on_transform,
    excess,
    p_value,
    placed,
)  # fmt: skip
from ....verifiers.details import BettingDetail
from ....verifiers.evidence import NO_EVIDENCE, REFUTED, Evidence, Method, Witness
from ..engines.child import ENDED
from ..loops.forward_passes import full_pass
from ..report import Report
from ..settings import Progress, silent
from .completions import Completions
from .examination import ServerExamination
from .journal import Journal
from .reference_requests import REPORTED, ReferenceRequests
from .remarks import Seen
from .requests import Kind
from .sampling import Sampler
from .settings import NEUTRAL, ReferenceSettings

TEXT_TOKENS = 64
"""Tokens of a text."""

DRIFT_TEXTS = 4
"""Texts on whose rows drift is measured."""

DRIFT_TOKENS = 32
"""Tokens of such a text."""

DRIFT_STEP = 4
"""Distance of the places of such a text at which the server itself is asked, in requests of one token."""

DRIFT_CHATS = 4
"""Chats of each question, cut short, after which such a server is asked for one token."""

MARGIN = 2.0
"""Multiple of the measured mean excess that bets pay."""

STANDARD_ERRORS = 2.0
"""Standard errors of that mean that bets pay in addition."""

SHARES = (0.25, 0.5, 0.25)
"""Shares of REFERENCE_ALPHA: of bets on tilts, of bets on sets, and of outputs that are repeated."""

LIMITED_BY = SETS[:2]
"""Sets whose largest detection limit is the bound of a pass; the others are hit too seldom to have one of few texts."""

MAX_DRIFT = 0.25
"""Mean total variation of the rows above which the bets are no evidence."""

SEED_STEP = 100_003
"""Distance between the first requests' seeds of two audits with successive seeds."""


def probabilities_of(logprobs: Sequence[float], where: str) -> np.ndarray:
    """Return the probabilities of reported tokens, at most 1 in all. Raises: RunFailed where they are of no row."""
    probabilities = np.exp(logprobs)
    total = probabilities.sum()
    if not total <= 1 + ROW_OFF["bfloat16"]:
        raise RunFailed("crash", f"{where}: reported probabilities sum to {total:.6g}, expected at most 1")
    return probabilities / max(1.0, total)


def _mass(name: str) -> float:
    """Return the probability of one of SETS under the reference's rows."""
    return float(name.split()[-1])


def limit_of(name: str, tokens: int, slack: float) -> float:
    """Return the total variation beyond which bets on one of SETS refute. slack: its share that drift may take."""
    return detectable_shift(np.full(tokens, _mass(name)), SHARES[1] * REFERENCE_ALPHA, BETA, slack, len(SETS))


def audit_reference(
    url: str, reference: str, settings: ReferenceSettings, seed: int = 0, progress: Progress = silent
) -> Report:
    """Audit a server by the rows of the weights that it serves.

    reference: a folder with a checkpoint, or a name of ``hub.checkpoint_folder``.
    Guarantee: a server whose tokens follow the reference's rows, as far as drift allows on average over the texts, is
    refuted with probability at most REFERENCE_ALPHA (``TiltBetting``, ``SetBetting``, ``Repeats``), whenever the run
    ends.
    Raises: InputError for an address that is none, a reference that cannot be loaded.
    """
    with settings.connected(url, settings.without) as clients:
        texts = ReferenceTexts(url, {"reference": reference}, clients, settings, seed, progress)
        report = texts.audit()
    report.notice(texts.drift_notice())
    return report


def _loaded(reference: str, draft: str | None, device: str) -> Pair:
    """Return the weights, with the draft's if it is named. Raises: InputError."""
    pair = load_pair(reference, draft or reference, device)
    ids = min(pair.target.get_input_embeddings().weight.shape[0], max(pair.tokenizer.get_vocab().values()) + 1)
    if pair.vocabulary < ids:
        raise InputError(f"{draft}: has rows for {pair.vocabulary} ids; expected the {ids} of {reference}")
    if not pair.end:
        raise InputError(f"{reference}: says no end token; expected one in its generation_config.json")
    return pair


class ReferenceTexts(ServerExamination):
    """An examination of a server's texts by bets; see ``audit_reference``."""

    settings: ReferenceSettings
    texts = 0

    def begin(self) -> None:
        s = self.settings
        self.pair = _loaded(self.given["reference"], s.draft, s.device)
        if any(client.chat for client in self.clients) and not getattr(self.pair.tokenizer, "chat_template", None):
            raise InputError(f"{self.given['reference']}: has no chat template; expected one, or a URL of completions")
        self.fields = dict(s.sent)
        if "model" not in self.fields and len(self.names) == 1:
            self.fields["model"] = self.names[0]
        self.uniforms, self.warp = np.random.default_rng((self.seed, 1)), warp(s.temperature, s.top_k, s.top_p)
        self.questions = prompts(EMBEDDED)
        self.ends, self.kinds = sorted({*self.pair.end}), ["texts"]
        self.drift: Allowance | None = None
        self.counts = dict.fromkeys(SETS, 0)
        self.fortunes: list[Fortune] = []

    def ask(self) -> None:
        """Measure drift, then bet until the bets have won, or all texts are there."""
        self.progress("drift", 0, 1)
        measured = [*self._drift()]
        if len(measured) < 2:
            lacks = "reports no probabilities of its tokens, without which drift is not known"
            expected = "expected a server with logprobs, or --without one that has them"
            raise RunFailed("crash", f"the server {lacks}; {expected}")
        self.drift = allowance(measured, MARGIN, STANDARD_ERRORS)
        tilts = WITH_DRAFTS if self.settings.draft else TILTS
        alphas = [share * REFERENCE_ALPHA for share in SHARES]
        first_seed = self.seed * SEED_STEP + 1
        requests = self._requests("texts", self.clients[0], self.questions, TEXT_TOKENS, first_seed, self.fields)
        times = Counter(tuple(requests.prompt(slot)) for slot in range(self.settings.samples))
        self.tilts = TiltBetting(alphas[0], self.drift.tilts, tilts)
        self.sets = SetBetting(SETS, alphas[1], min(self.drift.slack, MAX_DRIFT))
        # a token's probability is off its row's by the total variation of the two rows at most
        self.repeats = Repeats(sum(comb(n, 2) for n in times.values()), alphas[2], self.drift.worst)
        self.fortunes = [UNTOUCHED] * len(SHARES)
        self._bet_on_texts(requests)

    def _bet_on_texts(self, requests: ReferenceRequests) -> None:
        width, total = self.settings.at_once, self.settings.samples
        sampler = self.sampler(self.clients[0], inf)
        for first in range(0, total, width):
            self.progress("texts", first, total)
            last = min(first + width, total)
            sampler.run(requests, total, until=last)
            for slot in range(first, last):
                for text in self.journal.texts["texts"].get(slot, ()):  # none if its answer is lost
                    if text:
                        self.bet(requests.prompt(slot), text)
            if self.refuting is not None:
                return
            if time.monotonic() > self.until and last < total:
                if not self.texts:
                    raise RunFailed("timeout", f"not done within {self.settings.timeout:g} s")
                said = f"{self.texts} of {total} outputs, in the time given (--timeout {self.settings.timeout:g})"
                self.report.notice({"fewer texts": f"{said}, so limits are wider"})
                return

    def _requests(
        self, name: str, client: Completions, questions: Sequence[str], cap: int, seed: int, fields: dict[str, Any],
    ) -> ReferenceRequests:  # fmt: skip
        """Return requests for answers to questions, in the form that the client sends."""
        ids = [self.pair.encode_question(text, TEXT_TOKENS) for text in questions]
        asked = questions if client.chat else None
        return ReferenceRequests(Kind(name, name), ids, asked, cap, self.ends, seed, fields)

    def _drift(self) -> Iterator[DriftExcess]:
        """Yield what the rows served without speculation make of the bets.

        The texts are those of the server without speculation, or plain decoding's of the reference, at some places of
        which the server itself is asked for one token. A chat cannot be asked in the middle of an answer, so the
        questions are cut short. Raises: RunFailed.
        """
        client, seed = self.clients[-1], self.seed + 1
        chosen, fields = self.questions[:DRIFT_TEXTS], self.fields
        if self.settings.without:
            fields = {**self.fields, **NEUTRAL, **self.settings.fields}
            requests = self._requests("drift", client, chosen, DRIFT_TOKENS, seed, fields)
        elif client.chat:
            cut = [
                text[: -(-len(text) * k // DRIFT_CHATS)] for text in self.questions for k in range(1, DRIFT_CHATS + 1)
            ]
            requests = self._requests("drift", client, cut, 1, seed, fields)
        else:
            settings = {"max_new_tokens": DRIFT_TOKENS, "eos": self.pair.end, "seed": self.seed}
            ids = self._requests("drift", client, chosen, 1, seed, fields).prompts
            written = generate(self.pair.target, None, ids, vocabulary=self.pair.vocabulary, **settings).tokens
            contexts = [[*prompt, *tokens[:place]] for prompt, tokens in zip(ids, written, strict=True)
                        for place in range(0, len(tokens), DRIFT_STEP)]  # fmt: skip
            requests = ReferenceRequests(Kind("drift", "drift"), contexts, None, 1, self.ends, seed, fields)
        journal = Journal(None, {})
        Sampler(client, journal, self.settings, inf).run(requests, len(requests.prompts))
        for lost in journal.lost["drift"].values():
            raise RunFailed("crash", f"drift could not be measured: {lost}")
        for slot, [text] in sorted(journal.texts["drift"].items()):
            tokens, [entries] = [token for token in text if token != ENDED], journal.reported["drift"][slot]
            served = [{t: p for t, p in entry.most.items() if t != ENDED} for entry in entries or ()]
            if len(served) != len(tokens):
                continue
            for place, (row, draft, most) in enumerate(zip(*self.rows(requests.prompt(slot), tokens), served)):
                if most:
                    where = f"request {slot + 1} of those for drift, token {place + 1}"
                    yield excess(row, [*most], probabilities_of([*most.values()], where), draft)

    def rows(self, prompt: Sequence[int], tokens: Sequence[int], warped: bool = False) -> list[Any]:
        """Return the reference's row before each token, [len(tokens), V], and the draft's, or None for each."""
        text, found = [*prompt, *tokens], list[Any]()
        for model in (self.pair.target, *([self.pair.draft] if self.settings.draft else [])):
            logits = full_pass(model, text, self.pair.vocabulary)[len(prompt) - 1 : -1]
            rows = (self.warp(logits) if warped else logits).double().softmax(-1).cpu().numpy()
            if warped:  # the ways in which a text may end count as one token
                rows[:, self.ends[:1]] = rows[:, self.ends].sum(1, keepdims=True)
                rows[:, self.ends[1:]] = 0.0
            found.append(rows)
        return found if self.settings.draft else [*found, [None] * len(tokens)]

    def bet(self, prompt: Sequence[int], text: Prefix) -> None:
        """Settle the bets on one text. Raises: RunFailed for a token that the reference does not have."""
        ended, emitted_ones = text[-1] == ENDED, [token for token in text if token != ENDED]
        tokens = [token for token in emitted_ones if token < self.pair.vocabulary]
        if ended and self.ends and (not tokens or tokens[-1] not in self.ends):
            tokens.append(self.ends[0])
        if len([t for t in emitted_ones if t < self.pair.vocabulary]) < len(emitted_ones):
            raise RunFailed("crash", f"a token beyond the reference's {self.pair.vocabulary} ids: another tokenizer")
        above, own, tilts = [], [], []
        for row, draft, token in zip(*self.rows(prompt, tokens, warped=True), tokens):
            place = placed(row, [self.ends[0] if token in self.ends else token], draft)
            above.append(place.above[0])
            own.append(place.own[0])
            tilts.append(place.log_tilts[:, 0])
        possible = np.array(own) > 0
        transform = np.clip(np.array(above) + self.uniforms.random(len(own)) * np.array(own), 0, 1)
        bets = bets_on_transform(transform)
        for name, bet in bets.items():
            self.counts[name] += int(bet.hit.sum())
        repeated = self.repeats.observe(tuple(prompt), tokens, np.array(own))
        self.fortunes = [self.tilts.observe(np.array(tilts).T, possible), self.sets.observe(bets), repeated]
        self.texts += 1

    @property
    def refuting(self) -> Fortune | None:
        """Return the fortune that has won first."""
        won = [fortune for fortune in self.fortunes if fortune.refuted_at is not None]
        return min(won, key=lambda fortune: fortune.refuted_at or 0, default=None)

    def evidence(self, complete: bool) -> list[Evidence]:
        drift, n = self.drift, self.fortunes[0].steps if self.fortunes else 0
        if drift is None or not n:
            return []
        too_wide, won, slack = drift.distance > MAX_DRIFT, self.refuting, min(drift.slack, MAX_DRIFT)
        masses = {name: _mass(name) for name in SETS}
        limits = {name: limit_of(name, n, slack) for name in SETS}
        families = {name: {"expected": n * (1 - mass), "observed": float(self.counts[name])}
                    for name, mass in masses.items()}  # fmt: skip
        witness = None
        if won is not None and not too_wide:
            family = str(won.family)
            expected, observed = "a fortune of 1 on average", f"of e^{self.tilts.fortunes.get(family, 0.0):.1f}"
            if family in families:
                expected, observed = f"{families[family]['expected']:.1f} tokens", f"{self.counts[family]} tokens"
            if family == REPEATED:
                expected = f"probability e^{-won.highest:.1f} at most for any two outputs of one prompt"
                observed = f"two that begin with {self.repeats.agreed} equal tokens"
            sequence = f"{family}, by token {won.refuted_at} of {n:,}"
            witness = Witness(problem={"texts": self.texts}, sequence=sequence, expected=expected, observed=observed)
        detail = BettingDetail(
            tokens=n, p_value=p_value(self.fortunes, SHARES), limits=limits, slack=slack, texts=self.texts,
            false_alarm_rate=REFERENCE_ALPHA, miss_rate=BETA, too_wide=too_wide, families=families,
            log_evidence=max(fortune.log_evidence for fortune in self.fortunes),
            refuted_at_token=won.refuted_at if won else None, vocabulary=self.pair.vocabulary,
        )  # fmt: skip
        bound = None if witness else 1.0 if too_wide else max(limits[name] for name in LIMITED_BY)
        return [Evidence(
            claim="lossless", method=Method.BETTING, verdict=REFUTED if witness else NO_EVIDENCE, bound=bound,
            problem=f"outputs of {TEXT_TOKENS} tokens", detail=detail, witness=witness,
            replay=self.replay() if witness else "",
        )]  # fmt: skip

    @property
    def _measured_on(self) -> str:
        return "a server without speculation" if self.settings.without else "the server itself, one token a request"

    def not_examined(self, seen: Seen) -> list[str]:
        fault = "a fault smaller than the drift that the bets allow for, which was measured on " + self._measured_on
        model = "a model that differs from the reference as a whole: on the server itself that is drift"
        drafts = "draft tokens accepted unverified, too few to show in other bets: --draft names their model"
        others = f"streaming, several choices, stop strings, outputs of more than {TEXT_TOKENS} tokens"
        prompted = f"other prompts than the {len(self.questions)} that come with draftproof"
        left_out = {f"other requests than these: {others}": True, prompted: True, fault: True,
                    model: not self.settings.without, drafts: not self.settings.draft,
                    "what lost answers would have been": bool(self.journal.lost["texts"])}  # fmt: skip
        return [sentence for sentence, there in left_out.items() if there]

    def section(self) -> dict[str, Any]:
        return super().section() | {"speculation": {"seen": "not looked for: every token is judged, drafted or not"}}

    def drift_notice(self) -> dict[str, str]:
        """Return a notice of how far the rows are apart, and what the bets pay for that."""
        if self.drift is None:
            return {}
        d = self.drift
        said = f"rows reported by {self._measured_on} are off the reference's by TV {d.distance:.2g} on average"
        paid = f"bets pay up to {d.tilts.max():.2g} a token, and {d.slack:.2g} of a set's probability"
        wide = f"; beyond TV {MAX_DRIFT:g} they are no evidence" if d.distance > MAX_DRIFT else ""
        return {"drift": f"{said}, at most {d.worst:.2g} ({d.rows} rows of {REPORTED} tokens); {paid}{wide}"}
