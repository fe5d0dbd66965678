"""A server that serves real weights: every token that it emits bet on under the rows of the same weights here.

The rows of the server's arithmetic (quantised kernels, say) are not those of the reference. How far they are apart is
measured first, by what the server reports without speculation, and every bet pays for it.
"""

import shlex
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ....models.errors import InputError, RunFailed
from ....models.generating.loop import decode_plainly
from ....models.generating.sampling import warp
from ....models.pairs.loading import load_pair
from ....models.pairs.pair import Pair
from ....models.pairs.prompts import EMBEDDED, prompts
from ....stattests.arguments import BETA, REFERENCE_ALPHA
from ....stattests.betting import Fortune, SetBetting
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
from ..loops.forward_passes import full_pass
from ..report import Report
from ..runner import examine
from ..settings import Progress
from .completions import Completion, Completions, Lost, Refused, Wrong, api_base
from .settings import ServerSettings

TEXT_TOKENS = 64
"""Tokens of a text."""

TEXTS = 64
"""Texts, where the command does not say."""

DRIFT_TEXTS, DRIFT_TOKENS = 4, 32
"""Texts on whose rows drift is measured; of the server itself every fourth place, one request each."""

REPORTED = 20
"""Most probable tokens that are asked for with a row."""

MARGIN, STANDARD_ERRORS = 2.0, 2.0
"""What bets pay: so many times the mean excess that was measured, and so many of its standard errors."""

LIMITED_BY = SETS[:2]
"""Sets whose largest detection limit is the bound of a pass; the others are hit too seldom to have one of few texts."""

MAX_DRIFT = 0.25
"""Mean total variation of the rows beyond which the bets are no evidence."""


class EmittedText(NamedTuple):
    """One text. tokens: ids. rows: at each the ids that were reported as most probable with log-probabilities, or none.

    ended: whether it ends with the end of the text rather than its length.
    """

    tokens: list[int]
    rows: list[tuple[list[int], list[float]]]
    ended: bool


def emitted(answer: Completion) -> EmittedText:
    """The tokens of the first choice, by ``token_ids``, or by the ids in its ``logprobs``.

    Raises: Wrong where an answer does not say which tokens it has: their texts do not tell.
    """
    given = answer.logprobs[0] if answer.logprobs else None
    rows: list[tuple[list[int], list[float]]] = []
    tokens: list[Any] = []
    if isinstance(given, dict) and isinstance(given.get("content"), list):
        for place in given["content"]:
            tokens.append(place.get("id"))
            tops = [top for top in place.get("top_logprobs") or () if top.get("id") is not None]
            rows.append(([top["id"] for top in tops], [top["logprob"] for top in tops]))
    elif isinstance(given, dict) and isinstance(given.get("tokens"), list):
        tokens = [_id(token) for token in given["tokens"]]
        for top in given.get("top_logprobs") or [{}] * len(tokens):
            named = {_id(token): value for token, value in (top or {}).items()}
            known = {token: value for token, value in named.items() if token is not None}
            rows.append(([*known], [*known.values()]))
    tokens = answer.token_ids[0] if answer.token_ids and answer.token_ids[0] is not None else tokens
    if not all(isinstance(token, int) for token in tokens) or (not tokens and any(answer.texts)):
        raise Wrong("the answer does not say which tokens it has; expected token_ids, or logprobs with ids")
    rows = rows if len(rows) == len(tokens) else [([], [])] * len(tokens)
    return EmittedText(list(tokens), rows, answer.ended[:1] == ["stop"])


def _id(token: str) -> int | None:
    """Of a token as vLLM writes it with return_tokens_as_token_ids."""
    name, colon, number = token.partition(":")
    return int(number) if (name, colon) == ("token_id", ":") and number.isdigit() else None


@dataclass
class AskedServer:
    """A connection, with the fields of every request."""

    client: Completions
    fields: dict[str, Any]

    def text(self, prompt: Sequence[int], length: int, seed: int) -> EmittedText:
        """One text behind a prompt. Raises: Lost, Wrong, RunFailed for a server that takes no request."""
        body = {**self.fields, "prompt": list(prompt), "max_tokens": length, "seed": seed, "logprobs": REPORTED,
                "return_token_ids": True}  # fmt: skip
        body |= {name: value for name, value in self.fields.items() if name in body}
        for wait in (0.2, 1.0, 5.0, None):
            try:
                return emitted(self.client.ask({name: value for name, value in body.items() if value is not None}))
            except Refused as refused:
                if wait is None:
                    raise RunFailed("crash", str(refused)) from None
                time.sleep(refused.wait or wait)
        raise AssertionError


@dataclass
class ReferenceTexts:
    """The texts of a server; see ``audit_reference``."""

    server: AskedServer
    without: AskedServer | None
    pair: Pair
    settings: ServerSettings
    seed: int
    report: Report
    progress: Progress
    name: str
    drafted: bool
    lost: Counter = field(default_factory=Counter)
    texts: int = 0

    def __post_init__(self) -> None:
        self.until = time.monotonic() + self.settings.timeout
        self.uniforms = np.random.default_rng((self.seed, 1))
        self.warp = warp(self.settings.temperature, self.settings.top_k, self.settings.top_p)
        self.prompts = [self.pair.encode_question(text, TEXT_TOKENS) for text in prompts(EMBEDDED)]
        self.ends = sorted({*self.pair.end})
        self.drift: Allowance | None = None
        self.counts = dict.fromkeys(SETS, 0)
        self.fortunes: list[Fortune] = []

    def run(self) -> None:
        """Measure drift, then bet until the bets have won, or all texts are there."""
        self.progress("drift", 0, 1)
        measured = [*self._drift()]
        if len(measured) < 2:
            lacks = "reports no probabilities of its tokens, without which drift is not known"
            expected = "expected a server with logprobs, or --without one that has them"
            raise RunFailed("crash", f"the server {lacks}; {expected}")
        self.drift = allowance(measured, MARGIN, STANDARD_ERRORS)
        self.tilts = TiltBetting(REFERENCE_ALPHA / 2, self.drift.tilts, WITH_DRAFTS if self.drafted else TILTS)
        self.sets = SetBetting(SETS, REFERENCE_ALPHA / 2, min(self.drift.slack, MAX_DRIFT))
        self.fortunes = [Fortune(0.0, 0.0, None, None, 0)] * 2
        width, total = self.settings.at_once, self.settings.samples
        for first in range(0, total, width):
            self.progress("texts", first, total)
            slots = range(first, min(first + width, total))
            with ThreadPoolExecutor(width) as pool:
                for prompt, text in zip(map(self._prompt, slots), pool.map(self._asked, slots), strict=True):
                    if text is not None and text.tokens:
                        self.bet(prompt, text)
            if self.refuting is not None:
                return
            if time.monotonic() > self.until:
                if not self.texts:
                    raise RunFailed("timeout", f"not done within {self.settings.timeout:g} s")
                said = f"{self.texts} of {total} texts, in the time given (--timeout {self.settings.timeout:g})"
                self.report.notice({"fewer texts": f"{said}; limits are as wide as that makes them"})
                return

    def _prompt(self, slot: int) -> list[int]:
        return self.prompts[slot % len(self.prompts)]

    def _asked(self, slot: int) -> EmittedText | None:
        """The text of a request; None if its answer is lost: another one in its place would not be of its law."""
        try:
            return self.server.text(self._prompt(slot), TEXT_TOKENS, (self.seed * 100_003 + slot + 1) % 2**31)
        except Lost as lost:
            self.lost[str(lost)] += 1
            if sum(self.lost.values()) > max(10, self.settings.samples // 10):
                raise RunFailed("crash", f"{sum(self.lost.values())} answers lost, the last one: {lost}") from None
        except Wrong as wrong:
            raise RunFailed("crash", str(wrong)) from None
        return None

    # ------------------------------------------------------------ drift

    def _drift(self) -> Iterator[DriftExcess]:
        """What the rows served without speculation make of the bets, on rows of texts that the reference wrote, or of
        the server without speculation itself. Raises: RunFailed where no row is reported."""
        for prompt, text in self._plain_texts():
            for row, draft, (tokens, logs) in zip(*self.rows(prompt, text.tokens), text.rows):
                if tokens:
                    served = np.exp(logs)
                    yield excess(row, tokens, served / max(1.0, served.sum()), draft)

    def _plain_texts(self) -> Iterator[tuple[list[int], EmittedText]]:
        chosen = self.prompts[:DRIFT_TEXTS]
        try:
            if self.without is not None:
                for k, prompt in enumerate(chosen):
                    yield prompt, self.without.text(prompt, DRIFT_TOKENS, self.seed + k + 1)
                return
            settings = {"max_new_tokens": DRIFT_TOKENS, "eos": self.pair.end, "seed": self.seed}
            written = decode_plainly(self.pair.target, chosen, vocabulary=self.pair.vocabulary, **settings).tokens
            for prompt, tokens in zip(chosen, written, strict=True):
                for place in range(0, len(tokens), 4):
                    context = [*prompt, *tokens[:place]]
                    yield context, self.server.text(context, 1, self.seed + place + 1)
        except (Lost, Wrong) as error:
            raise RunFailed("crash", f"drift could not be measured: {error}") from None

    def rows(self, prompt: Sequence[int], tokens: Sequence[int], warped: bool = False) -> list[Any]:
        """The reference's row before each token, [len(tokens), V], and the draft's, or None for each."""
        text, found = [*prompt, *tokens], list[Any]()
        for model in (self.pair.target, *([self.pair.draft] if self.drafted else [])):
            logits = full_pass(model, text, self.pair.vocabulary)[len(prompt) - 1 : -1]
            rows = (self.warp(logits) if warped else logits).double().softmax(-1).cpu().numpy()
            if warped:  # the ways in which a text may end count as one token
                rows[:, self.ends[:1]] = rows[:, self.ends].sum(1, keepdims=True)
                rows[:, self.ends[1:]] = 0.0
            found.append(rows)
        return found if self.drafted else [*found, [None] * len(tokens)]

    # ------------------------------------------------------------ bets

    def bet(self, prompt: Sequence[int], text: EmittedText) -> None:
        """Settle the bets on one text."""
        tokens = [token for token in text.tokens if token < self.pair.vocabulary]
        outside = len(tokens) < len(text.tokens)
        if text.ended and self.ends and (not tokens or tokens[-1] not in self.ends):
            tokens.append(self.ends[0])
        above, own, tilts = [], [], []
        for row, draft, token in zip(*self.rows(prompt, tokens, warped=True), tokens):
            place = placed(row, [self.ends[0] if token in self.ends else token], draft)
            above.append(place.above[0])
            own.append(place.own[0])
            tilts.append(place.log_tilts[:, 0])
        possible = np.array(own) > 0
        transform = np.clip(np.array(above) + self.uniforms.random(len(own)) * np.array(own), 0, 1)
        if outside:
            raise RunFailed("crash", f"a token beyond the reference's {self.pair.vocabulary} ids: another tokenizer")
        bets = bets_on_transform(transform)
        for name, bet in bets.items():
            self.counts[name] += int(bet.hit.sum())
        self.fortunes = [self.tilts.observe(np.array(tilts).T, possible), self.sets.observe(bets)]
        self.texts += 1

    @property
    def tokens(self) -> int:
        return self.fortunes[0].steps if self.fortunes else 0

    @property
    def refuting(self) -> Fortune | None:
        """The purse that has won first."""
        won = [fortune for fortune in self.fortunes if fortune.refuted_at is not None]
        return min(won, key=lambda fortune: fortune.refuted_at or 0, default=None)

    def evidence(self, complete: bool) -> list[Evidence]:
        drift, n = self.drift, self.tokens
        if drift is None or not n:
            return []
        too_wide, won = drift.distance > MAX_DRIFT, self.refuting
        slack = min(drift.slack, MAX_DRIFT)
        limits = {
            name: detectable_shift(np.full(n, float(name.split()[-1])), REFERENCE_ALPHA / 2, BETA, slack, len(SETS))
            for name in SETS
        }
        refuted, witness = won is not None and not too_wide, None
        if refuted and won:
            expected, observed = self._shown(str(won.family), n)
            sequence = f"{won.family}, by token {won.refuted_at} of {n:,}"
            witness = Witness(problem={"texts": self.texts}, sequence=sequence, expected=expected, observed=observed)
        families = {name: {"expected": n * (1 - float(name.split()[-1])), "observed": float(self.counts[name])}
                    for name in SETS}  # fmt: skip
        detail = BettingDetail(
            tokens=n, p_value=p_value(self.fortunes), limits=limits, slack=slack, texts=self.texts,
            false_alarm_rate=REFERENCE_ALPHA, miss_rate=BETA, too_wide=too_wide, families=families,
            log_evidence=max(fortune.log_evidence for fortune in self.fortunes),
            refuted_at_token=won.refuted_at if won else None, vocabulary=self.pair.vocabulary,
        )  # fmt: skip
        bound = None if refuted else 1.0 if too_wide else max(limits[name] for name in LIMITED_BY)
        return [Evidence(
            claim="lossless", method=Method.BETTING, verdict=REFUTED if refuted else NO_EVIDENCE, bound=bound,
            problem=f"texts of {TEXT_TOKENS} tokens", detail=detail, witness=witness,
            replay=self._replay() if witness else "",
        )]  # fmt: skip

    def _shown(self, family: str, n: int) -> tuple[str, str]:
        if family in self.counts:
            return f"{n * (1 - float(family.split()[-1])):.1f} tokens", f"{self.counts[family]} tokens"
        return "a fortune of 1 on average", f"of e^{self.tilts.fortunes[family]:.1f}"

    def _replay(self) -> str:
        s = self.settings
        words = ["draftproof", "engine", self.report.subject["name"], "--reference", self.name]
        words += ["--without", self.without.client.base] if self.without else []
        words += ["--top-k", str(s.top_k)] if s.top_k else []
        words += ["--top-p", str(s.top_p)] if s.top_p < 1 else []
        words += ["--draft", self.pair.names[1]] if self.drafted else []
        words += ["--samples", str(s.samples), "--seed", str(self.seed), "--temperature", str(s.temperature)]
        return shlex.join(words)

    def section(self, models: list[str], header: str) -> dict[str, Any]:
        """The report's ``server``."""
        measured = "a server without speculation" if self.without else "the server itself, one token a request"
        return {
            "url": self.server.client.base, "models": models, "header": header, "answered_as": [],
            "fingerprints": [], "choices": {}, "together_against_alone": None, "at_once": self.settings.at_once,
            "kinds": {"texts": {"asked": self.settings.samples, "counted": self.texts, "lost": dict(self.lost),
                                "lost_prompts": {}}},
            "refused": {}, "resumed": 0, "longer_than_asked": 0,
            "speculation": {"seen": "is not looked for: every token is judged, whoever drafted it"},
            "not_examined": [
                "a fault smaller than the drift that the bets pay for, which was measured on " + measured,
                *(["a model that differs from the reference as a whole: on the server itself that is drift"]
                  if self.without is None else []),
                *(["draft tokens taken unverified, below what shows in other bets: --draft names their model"]
                  if not self.drafted else []),
                *(["what lost answers would have been"] if self.lost else []),
            ],
        }  # fmt: skip

    def notices(self) -> dict[str, str]:
        """How far the rows are apart, what the bets pay for that, and what was lost."""
        return self._lost_notice() | self._drift_notice()

    def _lost_notice(self) -> dict[str, str]:
        why = "; ".join(f"{n} times: {reason}" for reason, n in self.lost.items())
        return {"answers-lost": f"{self.lost.total()} answers, not drawn again ({why})"} if why else {}

    def _drift_notice(self) -> dict[str, str]:
        if self.drift is None:
            return {}
        d = self.drift
        on = "a server without speculation" if self.without else "the server itself, one token a request"
        said = f"rows reported by {on} are off the reference's by TV {d.distance:.2g} on average, at most {d.worst:.2g}"
        paid = f"bets pay up to {d.tilts.max():.2g} a token, and {d.slack:.2g} of a set's probability"
        wide = f"; beyond TV {MAX_DRIFT:g} they are no evidence" if d.distance > MAX_DRIFT else ""
        return {"drift": f"{said} ({d.rows} rows of {REPORTED} tokens); {paid}{wide}"}


def audit_reference(
    url: str, reference: str, settings: ServerSettings, without: str | None = None, seed: int = 0,
    progress: Progress = lambda stage, done, total: None, draft: str | None = None,
) -> Report:  # fmt: skip
    """Audit a server by the rows of the weights that it serves.

    reference: a folder with a checkpoint, or a name of ``hub.checkpoint_folder``. without: address of the same server
    without speculation, on which drift is measured; the server itself if None. draft: the draft's weights, whose share
    in what is emitted is bet on then.
    Guarantee: a server whose tokens follow the reference's rows, as far as drift allows on average over the texts, is
    refuted with probability at most REFERENCE_ALPHA (``TiltBetting``, ``SetBetting``), whenever the run ends.
    Raises: InputError for an address that is none, a reference that cannot be loaded.
    """
    pair = load_pair(reference, draft or reference)
    ids = min(pair.target.get_input_embeddings().weight.shape[0], max(pair.tokenizer.get_vocab().values()) + 1)
    if pair.vocabulary < ids:
        raise InputError(f"{draft}: has rows for {pair.vocabulary} ids; expected the {ids} of {reference}")
    if not pair.end:
        raise InputError(f"{reference}: says no end token; expected one in its generation_config.json")
    bases = [api_base(url), *([api_base(without)] if without else [])]
    clients = [Completions(base, settings.request_timeout, settings.at_once, settings.key) for base in bases]
    try:
        names, header = clients[0].models()
        fields = dict(settings.sent)
        if "model" not in fields and len(names) == 1:
            fields["model"] = names[0]
        report = Report.begin(url, f"server: {header or 'no name'}", ["float32"], seed)
        servers = [AskedServer(client, fields) for client in clients]
        plain = AskedServer(clients[1], {**fields, "temperature": 1.0, "top_p": 1.0, "top_k": 0}) if without else None
        texts = ReferenceTexts(servers[0], plain, pair, settings, seed, report, progress, reference,
                               draft is not None)  # fmt: skip
        examine(report, [texts])
    finally:
        for client in clients:
            client.close()
    report.server = texts.section(names, header)
    report.notice(texts.notices())
    return report
