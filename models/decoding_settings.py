"""The settings of decoders: what they mean, in which order engines apply them, and the law of a text under them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise, product
from math import exp, inf, log, prod, sqrt
from typing import Any, NamedTuple

from ..verifiers.arithmetic import normalised
from .errors import InputError
from .law import Model, Prefix

Row = list[float]

AMBIGUOUS = 1e-4
"""Distance of a cut-off from a token's probability within which the rounding of float32 decides what is cut."""

BETWEEN_TEXTS = -1
"""Separator of the texts of one call, if a request asks for several or requests are made together."""

PLAIN, DRAFT, LOOKUP = "plain", "speculative", "lookup"
"""Ways of sampling: without speculation, with a draft model, with drafts looked up in the text itself."""

ReportedLogprobs = dict[Prefix, tuple[Row, Row]]
"""Text -> the least and the largest logprob that was reported at each place."""


class NoTextLaw(InputError):
    """An error of settings that leave no law that is the same for every engine: a tie, or no token that is allowed."""


class EnginesDiffer(NoTextLaw):
    """An error of settings that cut where rounding, or the order of tokens as likely, decides what stays."""


class Setting(NamedTuple):
    """A setting of a decoder. kind: the form of its value; meaning: in words; law: whether the law of the text depends
    on it.
    """

    kind: str
    meaning: str
    law: bool = True


SETTINGS = {
    "temperature": Setting("number", "scores are divided by it; 0 takes the largest score"),
    "top_k": Setting("whole", "the k tokens with the largest scores stay"),
    "top_p": Setting("number", "the fewest most probable tokens whose mass reaches it stay"),
    "min_p": Setting("number", "tokens with at least so many times the largest probability stay"),
    "typical_p": Setting("number", "the fewest tokens nearest to the entropy whose mass reaches it stay"),
    "epsilon_cutoff": Setting("number", "tokens with at least this probability stay"),
    "eta_cutoff": Setting("number", "tokens of at least min(e, sqrt(e) exp(-entropy)) stay"),
    "repetition_penalty": Setting("number", "scores of tokens in the prompt and output are divided by it, or "
                                  "multiplied if they are negative"),
    "presence_penalty": Setting("number", "subtracted from the scores of output tokens"),
    "frequency_penalty": Setting("number", "subtracted from the scores of output tokens, once for each occurrence"),
    "logit_bias": Setting("numbers by token", "added to the scores of these tokens"),
    "banned": Setting("tokens", "never emitted"),
    "allowed": Setting("tokens", "no other token is emitted"),
    "grammar": Setting("tokens by token", "what may follow a token; tokens that are not named may be followed by all"),
    "no_repeat_ngram": Setting("whole", "no sequence of this many tokens occurs twice in prompt and output"),
    "eos": Setting("tokens", "each of these tokens ends an output, and is its last token"),
    "min_tokens": Setting("whole", "eos ends no output before this many tokens"),
    "forced_eos": Setting("tokens", "the last token of an output that reaches its cap is the first of these"),
    "stop": Setting("texts", "an output ends after these tokens, wherever blocks end"),
    "n": Setting("whole", "independent outputs of one request"),
    "together": Setting("requests", "further requests of the same batch, each its settings"),
    "prompt": Setting("tokens", "read after the start token, before the output"),
    "logprobs": Setting("yes or no", "yield (tokens, logprobs) in place of tokens", law=False),
    "lookup": Setting("yes or no", "draft from the prompt and output, without the draft model", law=False),
    "earlier": Setting("earlier requests", "prompts decoded before, by the same engine, or settings of such requests, "
                       "with their cap (tokens), after how many random numbers they are cancelled (cancelled), and the "
                       "number of a way in which those fall (drawn)", law=False),
}  # fmt: skip
"""By name; an engine says which it has, and may have others of its own, on which the law does not depend."""

TRANSFORMERS = (
    "logit_bias", "repetition_penalty", "no_repeat_ngram", "banned", "min_tokens", "allowed", "grammar", "forced_eos",
    "temperature", "top_k", "top_p", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff",
)  # fmt: skip

ORDERS: dict[str, tuple[str, ...]] = {
    "transformers": TRANSFORMERS,
    "vllm": ("allowed", "grammar", "banned", "min_tokens", "logit_bias", "repetition_penalty", "frequency_penalty",
             "presence_penalty", "temperature", "min_p", "top_k", "top_p"),
    "mlx-lm": ("logit_bias", "repetition_penalty", "presence_penalty", "frequency_penalty", "top_p", "min_p", "top_k",
               "temperature"),
    "llama.cpp": ("logit_bias", "banned", "allowed", "grammar", "repetition_penalty", "frequency_penalty",
                  "presence_penalty", "top_k", "typical_p", "top_p", "min_p", "temperature"),
    "openai": ("logit_bias", "presence_penalty", "frequency_penalty", "temperature", "top_p"),
    "draftproof-loop": ("temperature", "top_k", "top_p"),
    "draftproof-reference": (*TRANSFORMERS[:2], "presence_penalty", "frequency_penalty", *TRANSFORMERS[2:]),
}  # fmt: skip
"""By engine what it does to a row of scores, first to last, as its source has it."""

ENDS = ("eos", "stop", "n", "together", "prompt")
"""Settings of a text and not of a row, which have no place in an order."""

OF_EARLIER = ("tokens", "cancelled", "drawn")
"""What the settings of an earlier request say beyond those of others."""

CUTS = ("temperature", "top_k", "top_p", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff")
"""What sampling does; where the largest score is taken, they are passed over."""


class TextRequest(NamedTuple):
    """A request as far as it decides a row: the prompt, the text so far, its cap, the settings.

    doubts: what is noted of a cut where engines may differ: whether tokens are as likely there; None: it is an error.
    """

    prompt: Prefix
    text: Prefix
    tokens: int
    settings: Mapping[str, Any]
    doubts: list[bool] | None = None

    @property
    def greedy(self) -> bool:
        return self.settings.get("temperature", 1) == 0


Processor = Callable[[Row, TextRequest, Any], Row]
"""Function of a row of scores, the request and the setting's value that returns other scores."""


def softmax(scores: Sequence[float]) -> Row:
    """Return exp(score) over their sum; -inf is 0."""
    top = max(scores)
    if top == -inf:
        raise NoTextLaw("the settings exclude every token")
    return normalised([exp(s - top) for s in scores])


def kept(scores: Row, keep: Callable[[int], bool]) -> Row:
    """Return the scores, -inf where not ``keep``."""
    return [s if keep(t) else -inf for t, s in enumerate(scores)]


def _doubt(request: TextRequest, why: str, tie: bool = False) -> None:
    if request.doubts is None:
        raise EnginesDiffer(f"{why}, where engines may differ")
    request.doubts.append(tie)


def _clear(request: TextRequest, value: float, threshold: float, what: str, tie: bool = False) -> None:
    """Doubt a cut if a value is within rounding of a threshold. tie: whether both are of tokens as likely."""
    if value > 0 and abs(value - threshold) < AMBIGUOUS * max(value, threshold):
        where = "between tokens that are as likely" if tie else "within rounding of a token's probability"
        _doubt(request, f"{what} cuts {where}", tie)


def _top_k(scores: Row, request: TextRequest, k: int) -> Row:
    if not 0 < k < len(scores):
        return scores
    order = sorted(scores, reverse=True)
    if order[k - 1] > -inf:
        _clear(request, exp(order[k]), exp(order[k - 1]), f"top_k {k}", order[k] == order[k - 1])
    return kept(scores, lambda t: scores[t] >= order[k - 1])


def _most_until(scores: Row, request: TextRequest, mass: float, ranked: Sequence[int], what: str) -> Row:
    """Return the fewest tokens in this order whose probabilities reach the mass."""
    row, total, stay = softmax(scores), 0.0, list[int]()
    for token in ranked:
        if total >= mass:
            if stay:
                _clear(request, row[token], row[stay[-1]], what, row[token] == row[stay[-1]])
            break
        stay.append(token)
        total += row[token]
        _clear(request, total, mass, what)
    return kept(scores, stay.__contains__)


def _top_p(scores: Row, request: TextRequest, p: float) -> Row:
    ranked = sorted(range(len(scores)), key=lambda t: -scores[t])
    return _most_until(scores, request, p, ranked, f"top_p {p}") if p < 1 else scores


def _typical_p(scores: Row, request: TextRequest, p: float) -> Row:
    row = softmax(scores)
    away = [abs(-log(q) - _entropy(row)) if q else inf for q in row]
    ranked = sorted(range(len(row)), key=lambda t: away[t])
    for one, other in pairwise(ranked):
        if away[other] < inf and abs(away[one] - away[other]) < AMBIGUOUS and row[one] != row[other]:
            _doubt(request, f"typical_p {p}: two tokens are as near to the entropy")
    return _most_until(scores, request, p, ranked, f"typical_p {p}") if p < 1 else scores


def _entropy(row: Row) -> float:
    return -sum(q * log(q) for q in row if q)


def _above(scores: Row, request: TextRequest, threshold: float, what: str) -> Row:
    row = softmax(scores)
    for q in row:
        _clear(request, q, threshold, what)
    return kept(scores, lambda t: row[t] >= threshold or row[t] == max(row))


def _ngram(scores: Row, request: TextRequest, n: int) -> Row:
    whole = (*request.prompt, *request.text)
    seen = {whole[i : i + n] for i in range(len(whole) - n + 1)}
    last = whole[len(whole) - n + 1 :]
    return kept(scores, lambda t: len(last) < n - 1 or (*last, t) not in seen)


def _grammar(scores: Row, request: TextRequest, follow: Mapping[Any, Sequence[int]]) -> Row:
    last = (*request.prompt, *request.text)[-1:]
    may = follow.get(str(last[0]) if last else "")
    return scores if may is None else kept(scores, lambda t: t in may)


def _repetition(scores: Row, request: TextRequest, penalty: float) -> Row:
    seen = {*request.prompt, *request.text}
    return [(s / penalty if s > 0 else s * penalty) if t in seen else s for t, s in enumerate(scores)]


def _added(weight: Callable[[TextRequest, int, Any], float]) -> Processor:
    """Return the processor that adds a weight to the score of each token."""
    return lambda scores, request, value: [s + weight(request, t, value) for t, s in enumerate(scores)]


def _only(may: Callable[[TextRequest, int, Any], bool]) -> Processor:
    """Return the processor that keeps the tokens that may be written."""
    return lambda scores, request, value: kept(scores, lambda t: may(request, t, value))


def _shorter(request: TextRequest, tokens: int) -> bool:
    return len(request.text) < tokens


PROCESSORS: dict[str, Processor] = {
    "temperature": lambda scores, request, temperature: [s / temperature for s in scores],
    "top_k": _top_k, "top_p": _top_p, "typical_p": _typical_p,
    "min_p": lambda scores, request, p: _above(scores, request, p * max(softmax(scores)), f"min_p {p}"),
    "epsilon_cutoff": lambda scores, request, e: _above(scores, request, e, f"epsilon_cutoff {e}"),
    "eta_cutoff": lambda scores, request, e: _above(
        scores, request, min(e, sqrt(e) * exp(-_entropy(softmax(scores)))), f"eta_cutoff {e}"
    ),
    "repetition_penalty": _repetition,
    "presence_penalty": _added(lambda request, t, penalty: -penalty * (t in request.text)),
    "frequency_penalty": _added(lambda request, t, penalty: -penalty * request.text.count(t)),
    "logit_bias": _added(lambda request, t, bias: bias.get(str(t), bias.get(t, 0.0))),
    "no_repeat_ngram": _ngram, "grammar": _grammar,
    "min_tokens": _only(
        lambda request, t, least: not _shorter(request, least) or t not in request.settings.get("eos", ())
    ),
    "forced_eos": _only(lambda request, t, ends: _shorter(request, request.tokens - 1) or t == ends[0]),
    "banned": _only(lambda request, t, banned: t not in banned),
    "allowed": _only(lambda request, t, allowed: t in allowed),
}  # fmt: skip
"""By name what a setting does to a row of scores, the logarithms of the model's row at first."""


def modified(row: Sequence[Any], request: TextRequest, order: Sequence[str]) -> Row:
    """Return the law of the next token under the settings.

    row: the model's, V probabilities.
    order: names of PROCESSORS, the first one first.
    Raises: NoTextLaw.
    """
    scores = [log(p) if p else -inf for p in map(float, row)]
    for name in order:
        if (value := request.settings.get(name)) is not None and not (request.greedy and name in CUTS):
            scores = PROCESSORS[name](scores, request, value)
    if not request.greedy:
        return softmax(scores)
    best, *others = sorted(softmax(scores), reverse=True)
    if others:
        _clear(request, others[0], best, "temperature 0", others[0] == best)
    return [float(t == scores.index(max(scores))) for t in range(len(scores))]


def ended(text: Prefix, tokens: int, settings: Mapping[str, Any]) -> bool:
    """Return whether nothing comes behind the text: by its cap, an end token or a stop sequence."""
    stops = (tuple(stop) for stop in settings.get("stop") or ())
    return (
        len(text) >= tokens
        or text[-1:] in [(e,) for e in settings.get("eos") or ()]
        or any(text[-len(stop) :] == stop for stop in stops)
    )


def one_text_law(
    model: Model, tokens: int, settings: Mapping[str, Any], order: Sequence[str], doubts: list[bool] | None = None
) -> dict[Prefix, float]:
    """Return the law of one text: text -> probability. doubts: as of ``TextRequest``."""
    prompt = tuple(settings.get("prompt") or ())

    def row_after(text: Prefix) -> Row:
        return modified(model.row(prompt + text), TextRequest(prompt, text, tokens, settings, doubts), order)

    return law_of_rows(row_after, tokens, settings)


def law_of_rows(row_after: Callable[[Prefix], Row], tokens: int, settings: Mapping[str, Any]) -> dict[Prefix, float]:
    """Return the law of one text: text -> the product of its tokens' probabilities.

    row_after: function from a text to the probabilities of its next token. tokens: the cap of a text.
    """
    law: dict[Prefix, float] = {}
    open_texts: list[tuple[Prefix, float]] = [((), 1.0)]
    while open_texts:
        text, mass = open_texts.pop()
        if ended(text, tokens, settings):
            law[text] = mass
        else:
            open_texts += [((*text, token), mass * p) for token, p in enumerate(row_after(text)) if p]
    return law


def requests_of(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the settings of each text that one call yields: n of the request, then those of its neighbours."""
    own = {name: value for name, value in settings.items() if name not in ("n", "together")}
    return [own] * int(settings.get("n") or 1) + [dict(other) for other in settings.get("together") or ()]


def called_with(settings: Mapping[str, Any], sampling: str) -> dict[str, Any]:
    """Return the settings of a decoder's call: that drafts are looked up is one of them."""
    return {**settings, "lookup": True} if sampling == LOOKUP else {**settings}


def joined(texts: Iterable[Sequence[int]]) -> Prefix:
    """Return the texts of one call in one row."""
    first, *others = texts
    return (*first, *(token for text in others for token in (BETWEEN_TEXTS, *text)))


def separated(row: Iterable[int]) -> tuple[Prefix, ...]:
    """Return the texts of a row that ``joined`` made."""
    texts: list[list[int]] = [[]]
    for token in row:
        if token == BETWEEN_TEXTS:
            texts.append([])
        else:
            texts[-1].append(token)
    return tuple(map(tuple, texts))


def independent(laws: Sequence[Mapping[Prefix, float]]) -> dict[Prefix, float]:
    """Return the law of independent texts: ``joined`` texts -> the product of their probabilities."""
    return {
        joined(text for text, _ in texts): prod(p for _, p in texts)
        for texts in product(*(law.items() for law in laws))
    }


def note_logprobs(reported: ReportedLogprobs, text: Prefix, logprobs: Row) -> None:
    """Widen what was reported with the text by these logprobs. Raises: ValueError if there were more of them, or fewer.

    reported: is changed.
    """
    low, high = reported.setdefault(text, (logprobs, logprobs))
    if len(logprobs) != len(low):
        raise ValueError(f"for one output it reports {len(logprobs)} logprobs, and earlier {len(low)}")
    reported[text] = [*map(min, low, logprobs)], [*map(max, high, logprobs)]


def text_law(model: Model, tokens: int, settings: Mapping[str, Any], order: Sequence[str]) -> dict[Prefix, float]:
    """Return the law of what one call yields under the settings, by their definitions: ``joined`` texts -> probability.

    Texts of several requests are independent. For the arguments see ``text_laws``.
    Raises: NoTextLaw, also where engines may differ about one request.
    """
    laws = text_laws(model, tokens, settings, order)
    for law in laws:
        if isinstance(law, EnginesDiffer):
            raise law
    return independent([law for law in laws if not isinstance(law, EnginesDiffer)])


def text_laws(
    model: Model, tokens: int, settings: Mapping[str, Any], order: Sequence[str]
) -> list[dict[Prefix, float] | EnginesDiffer]:
    """Return the law of each text that one call yields under the settings, by their definitions.

    Where engines may differ about a request, the error that says why stands in place of its law.
    Pr(x_1 .. x_n) = product of ``modified`` rows.
    model: the target. tokens: the cap of a text. order: as of ORDERS.
    Raises: NoTextLaw; InputError for a setting that the order does not have.
    """
    requests = requests_of(settings)
    if strange := [n for r in requests for n in r if SETTINGS.get(n, Setting("", "", False)).law
                   and n not in (*order, *ENDS)]:  # fmt: skip
        raise InputError(f"{strange[0]} has no place in this engine's order")
    return [_law_or_error(model, tokens, request, order) for request in requests]


def _law_or_error(
    model: Model, tokens: int, settings: Mapping[str, Any], order: Sequence[str]
) -> dict[Prefix, float] | EnginesDiffer:
    try:
        return one_text_law(model, tokens, settings, order)
    except EnginesDiffer as error:
        return error
