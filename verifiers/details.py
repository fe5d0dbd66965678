"""The facts that belong to a method, one type a method: what ``Evidence.detail`` holds, and its JSON form.

The field ``kind`` of the JSON form names the type. A field without a default is always written, another one where it
has a value.
"""

from typing import Any

from msgspec import Struct

from .verdicts import Strength


class Detail(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="plain"):
    """A detail that any method may state.

    dtype: the numbers it speaks of.
    vocabulary, gamma, smallest_probability, nodes, drafting, children: of the problem (``models.problem.size_of``).
    requests_a_call: how many texts one call verifies; one if it is not stated.
    reason: why nothing is decided. why: why the claim is not made.
    detection_limit: the deviation that samples would have shown, where the bound is another number.
    law: that the problem declares, in words, where it is not the target's.
    too_wide: whether drift is too wide to judge.
    out_of_scope: whether nothing is decided for its number of ways or its style alone: a verdict may leave
        it out.
    """

    dtype: str | None = None
    vocabulary: int | None = None
    gamma: int | None = None
    smallest_probability: float | None = None
    nodes: int | None = None
    drafting: str | None = None
    children: list[str] | None = None
    requests_a_call: int | None = None
    reason: str | None = None
    why: str | None = None
    detection_limit: float | None = None
    law: str | None = None
    too_wide: bool | None = None
    out_of_scope: bool | None = None

    @property
    def wide(self) -> "WideDetail | None":
        """Return the detail if it speaks of a wide problem."""
        return self if isinstance(self, WideDetail) else None

    @property
    def by_calls(self) -> "DrivenDetail | TextLawDetail | WideDetail | None":
        """Return the detail if it speaks of a law that was found by calls."""
        if isinstance(self, TextLawDetail | WideDetail) and not self.confirmations:
            return None
        return self if isinstance(self, DrivenDetail | TextLawDetail | WideDetail) else None


class Rounding(Struct, frozen=True, omit_defaults=True):
    """A set of measures of rounding (docs/claims.md), as total variations.

    rule: one epsilon a decision. theorem: the theorem's bound on this problem, for sums in order; theorem_pairwise: for
    sums in pairs, of wide problems.
    theorem_of: which of our own rules it is, whose operations the theorem follows: then it alone is asked.
    """

    rule: float
    theorem: float
    theorem_pairwise: float | None = None
    theorem_of: str | None = None


class RealCalls(Struct, frozen=True):
    """A count of calls with real random numbers. limit: the total variation from a law that they would have shown."""

    calls: int
    limit: float


class LawDetail(Detail, frozen=True, kw_only=True, tag="law"):
    """A detail of a claim judged on the law of a function.

    exactness: how the law is known. paths: ways the random numbers can fall, along which it was followed.
    arithmetic: the type in which it computes, where that is finer than the rows'; if_it_computes_in: where operations
        may have gone unseen: that the claim to be lossless holds if they are in this type, and is not decided else.
    rounding: of the claim to be lossless. real_calls: that the law was compared with, if it was.
    decided: of the claim to be lossless: sets of positions of a block that the problem decides together, the largest.
    zeros: of the claim of support: whether the target gives any token probability 0.
    expected_accepted, optimum, tokens_per_call_lost: of the claim to be optimal; reached: what a valid rule accepts,
        where the optimum is only known to lie above; above: what it means to accept more than the optimum.
    transport_bound, first_accepted: of trees: the largest probability with which any valid rule accepts a first token,
        and this one's.
    loop: how the law was completed, where that is not by the target.
    between_levels: of races of noise: total variation that may hide between the levels at which they were looked at.
    """

    exactness: Strength | None = None
    paths: int | None = None
    arithmetic: str | None = None
    if_it_computes_in: str | None = None
    rounding: Rounding | None = None
    real_calls: RealCalls | None = None
    decided: list[list[int]] | None = None
    zeros: bool | None = None
    expected_accepted: str | None = None
    optimum: str | None = None
    tokens_per_call_lost: float | None = None
    reached: str | None = None
    above: str | None = None
    transport_bound: float | None = None
    first_accepted: float | None = None
    loop: str | None = None
    between_levels: float | None = None


class DrivenDetail(LawDetail, frozen=True, kw_only=True, tag="driven-law"):
    """A detail of a law found by choosing a function's random numbers.

    missed: total variation that random requests to confirm the law may not have met; confirmations: how many there
        were.
    numbers: what each random number decides: thresholds, a race, products, nothing.
    """

    missed: float
    confirmations: int
    numbers: dict[str, str] = {}


class WideDetail(LawDetail, frozen=True, kw_only=True, tag="wide-law"):
    """A detail of the law on a wide problem.

    ids_called: calls that confirmed that tokens are treated equally; fewest_ids_of_a_row: the fewest on one row.
    ids_drafted, ids_emitted: how many different ones were drafted, and emitted by calls.
    mass_not_called: of tokens without such a call. mass_unknown: of outcomes that are not known.
    allowed_to_look_ups, look_ups_explained: what of the bound is for running sums, by the rule and by the theorem.
    missed, confirmations: of a draw by chunk and token, as of DrivenDetail.
    """

    ids_called: int
    fewest_ids_of_a_row: int | None
    ids_drafted: int | None = None
    ids_emitted: int | None = None
    mass_not_called: float
    allowed_to_look_ups: float
    look_ups_explained: float
    mass_unknown: float | None = None
    missed: float = 0.0
    confirmations: int = 0


class TextLawDetail(LawDetail, frozen=True, kw_only=True, tag="text-law"):
    """A detail of the law of a decoder's texts under settings.

    tokens: the cap of a text. sampling: plain, speculative (from the draft model) or lookup (from the text itself).
    settings: of the request. setting: what it is called in the grid. calls: made for the law.
    without_effect: settings without which the law that is asked for is the same.
    untold: known mistakes about the settings that none of the requests chosen for them tells apart.
    ways_of_plain: whether it went as many ways with as many random numbers as without speculation, as if it drafted
        nothing; None if not compared.
    missed, confirmations: of a driven law, as of DrivenDetail.
    drawn: in how many ways the other requests' numbers fell, given each of which a request's law is known; 0 if the law
        is of all requests together.
    """

    tokens: int
    sampling: str
    settings: dict[str, Any]
    setting: str = ""
    calls: int = 0
    without_effect: list[str] = []
    untold: list[str] = []
    ways_of_plain: bool | None = None
    missed: float = 0.0
    confirmations: int = 0
    drawn: int = 0


class LoopLawDetail(Detail, frozen=True, kw_only=True, tag="loop-law"):
    """A detail of the enumerated law of a decoding loop's texts.

    tokens: of a text. law: where the target's comes from. chance: what was enumerated. verifier: how it was called.
    """

    tokens: int
    law: str  # pyright: ignore[reportGeneralTypeIssues]  # required here
    chance: str
    verifier: str


class SamplesDetail(Detail, frozen=True, kw_only=True, tag="samples"):
    """A detail of counts compared with a law.

    samples: how many. p_value: of the test, by the method p_value_by, with statistic and degrees_of_freedom, in cells.
    false_alarm_rate, miss_rate: of the test, and at its limit.
    total_variation_at_least, total_variation_at_most: from the law, by the counts.
    rounding_allowed: total variation that is no refutation. why_not_exact: why there is no law in place of samples.
    limit_speaks_of: the deviations that the limit is about, where those are not all.
    """

    samples: int
    p_value: float
    p_value_by: str | None = None
    statistic: float | None = None
    degrees_of_freedom: int | None = None
    cells: int | None = None
    false_alarm_rate: float
    miss_rate: float
    total_variation_at_least: float | None = None
    total_variation_at_most: float | None = None
    rounding_allowed: float | None = None
    why_not_exact: str | None = None
    limit_speaks_of: str | None = None


class TextsDetail(SamplesDetail, frozen=True, kw_only=True, tag="texts"):
    """A detail of counts of an engine's texts.

    tokens: of a text; of the grid of a server all that were counted. bounds: the limits by the places of the tokens, or
        by what their rows depend on. impossible: tokens of probability 0 that came.
    sampling: plain or speculative; of a server the kind of request. seed, settings: of the run. setting: what it is
        called in the grid. law: of a loop, where the target's law comes from. together: what was counted of several
        choices.
    lost, redrawn: requests that gave no text, or were sent again; lost_at_most: bound on the probability of either.
    """

    tokens: int
    bounds: dict[str, float] | None = None
    impossible: int | None = None
    sampling: str | None = None
    seed: int | None = None
    settings: dict[str, Any] | None = None
    setting: str = ""
    law: str | None = None
    together: str | None = None
    lost: int | None = None
    redrawn: int | None = None
    lost_at_most: float | None = None


class ReportedDetail(Detail, frozen=True, kw_only=True, tag="reported"):
    """A detail of logprobs that a server reported, each compared with its row's: how many, how many are off, in how
    many texts.

    sampling, settings, setting: as of TextsDetail.
    """

    logprobs: int
    off: int
    texts: int
    sampling: str
    settings: dict[str, Any]
    setting: str = ""


class CampaignDetail(SamplesDetail, frozen=True, kw_only=True, tag="campaign"):
    """A detail of a sampling campaign.

    accepted: E[tau] in the sample, its interval, the optimum and the cap; None if no block got tokens.
    strange: what was emitted or raised that is no output -> how often, and an example.
    """

    accepted: dict[str, Any] | None
    strange: dict[str, list[Any]] = {}


class MeanDetail(Detail, frozen=True, kw_only=True, tag="mean"):
    """A detail of accepted draft tokens, counted: their mean and its interval against the expected one."""

    calls: int
    expected_accepted: float
    mean_accepted: float
    interval: list[float]
    false_alarm_rate: float
    miss_rate: float


class WrittenDetail(Detail, frozen=True, kw_only=True, tag="written"):
    """A detail of texts that a decoding loop wrote: how many, of how many tokens, and tokens a call of the target."""

    texts: int
    tokens: int
    block_efficiency: float | None


class EndsDetail(WrittenDetail, frozen=True, kw_only=True, tag="ends"):
    """A detail of the ends of texts. wrong_ends: texts that end too early or too late."""

    wrong_ends: int


class ArgmaxDetail(WrittenDetail, frozen=True, kw_only=True, tag="argmax"):
    """A detail of tokens compared with the target's most probable ones.

    ties_excused: disagreements by less than drift; share_excused: of the tokens; largest_gap_excused: of their logits.
    """

    distinct_texts: int
    distinct_tokens: int
    disagreements: int
    ties_excused: int
    share_excused: float
    largest_gap_excused: float
    tie_below: float
    miss_rate: float


class BiasDetail(WrittenDetail, frozen=True, kw_only=True, tag="bias"):
    """A detail of a verifier that is lossy by name: its name, and its mean bias of first tokens, in closed form."""

    lossy: str
    bias_of_first_tokens: float


class BettingDetail(Detail, frozen=True, kw_only=True, tag="betting"):
    """A detail of bets on tokens against their law.

    tokens: bet on. p_value: that the bets have come to. limits: the detection limit of each family of sets.
    slack: drift that the bets pay for.
    texts, block_efficiency, log_evidence, families, refuted_at_token: of texts: as of ``WrittenDetail``; the logarithm
        of the bets' wealth; tokens expected and observed in each family's sets; the token at which the bets had won.
    """

    tokens: int
    p_value: float
    limits: dict[str, float]
    slack: float
    false_alarm_rate: float
    miss_rate: float
    texts: int | None = None
    block_efficiency: float | None = None
    log_evidence: float | None = None
    families: dict[str, dict[str, float]] | None = None
    refuted_at_token: int | None = None


class ReadingDetail(Detail, frozen=True, kw_only=True, tag="reading"):
    """A detail of the texts that rows were read from. passes: rows asked for; misread: from another text."""

    passes: int
    misread: int


class RowsDetail(Detail, frozen=True, kw_only=True, tag="rows"):
    """A detail of a model's rows compared with our own passes: how many, their mean distance and the allowance."""

    model: str
    rows: int
    mean: float
    mean_allowed: float


class ListeningDetail(Detail, frozen=True, kw_only=True, tag="listening"):
    """A detail of random numbers that were listened to.

    numbers: how many; used_twice: of them; by_chance: expected coincidences. draft_tokens, draft_numbers_heard: drawn
    in the blocks, and the numbers that were heard for them.
    """

    numbers: int
    used_twice: int
    by_chance: float
    draft_tokens: int
    draft_numbers_heard: int


class EProcessDetail(Detail, frozen=True, kw_only=True, tag="e-process"):
    """A detail of an e-process. log_e: of the evidence; draws; false_alarm_rate: in the whole life of the history."""

    log_e: float
    draws: int
    false_alarm_rate: float


AnyDetail = (
    Detail | LawDetail | DrivenDetail | WideDetail | TextLawDetail | LoopLawDetail | SamplesDetail | TextsDetail
    | CampaignDetail | MeanDetail | WrittenDetail | EndsDetail | ArgmaxDetail | BiasDetail | BettingDetail
    | ReportedDetail | ReadingDetail | RowsDetail | ListeningDetail | EProcessDetail
)  # fmt: skip
"""A detail of evidence by any method."""
