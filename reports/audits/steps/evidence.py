"""What a judged recording is evidence of, claim by claim."""

from collections.abc import Iterator
from math import inf

import numpy as np
from msgspec.structs import replace

from ....models.recorded_steps import ROW_OFF
from ....stattests.arguments import BETA
from ....stattests.betting import Fortune
from ....stattests.sequence_design import detectable_shift
from ....stattests.tilts import SETS, p_value
from ....verifiers.conditional.rules import RULES
from ....verifiers.conditional.tree_rules import on_chains
from ....verifiers.details import BettingDetail, Detail
from ....verifiers.evidence import HOLDS, NO_EVIDENCE, REFUTED, Evidence, Method, Witness
from ..replay import command_line
from .judge import LOGPROB_OFF, RecordingJudge, repeated_uniforms
from .purses import SHARE, TokenPurse
from .witness import witness_of

PROBLEM = "recorded steps"
"""Name of what evidence on a recording is about."""


def evidence_of(judge: RecordingJudge, limits: dict[str, int | None]) -> list[Evidence]:
    """Return the evidence on every claim that the recording has something to say of.

    limits: of ``RecordingJudge.limits``.
    """
    found = [*_follows_rule(judge, limits), *_lossless(judge), *_drafts(judge), *_rows(judge), *_logprobs(judge)]
    return [*found, *_batch(judge)]


def replay(judge: RecordingJudge) -> str:
    """Return the command that judges the recording again."""
    claimed = None if judge.rule == judge.recording.header.rule else judge.rule
    return command_line("steps", str(judge.recording.folder), rule=claimed, seed=judge.seed or None)


def _made(
    judge: RecordingJudge, claim: str, witness: Witness | None, detail: Detail, method: Method = Method.BETTING,
    **bounds: float,
) -> Evidence:  # fmt: skip
    """Return the evidence: refuted with a witness; without one bets decide nothing, and a comparison of all holds."""
    unrefuted = NO_EVIDENCE if method.sampled else HOLDS
    return Evidence(
        claim=claim, method=method, verdict=REFUTED if witness else unrefuted, problem=PROBLEM, witness=witness,
        replay=replay(judge) if witness else None, detail=detail, **bounds,
    )  # fmt: skip


def _betting(
    judge: RecordingJudge, tokens: int, fortunes: list[Fortune], limits: dict[str, float], slack: float = 0.0
) -> BettingDetail:
    header = judge.recording.header
    return BettingDetail(
        dtype=header.dtype, vocabulary=header.vocabulary, tokens=tokens, p_value=p_value(fortunes), limits=limits,
        slack=slack, false_alarm_rate=SHARE, miss_rate=BETA, log_evidence=max(f.log_evidence for f in fortunes)
        if all(np.isfinite(f.log_evidence) for f in fortunes) else None,
    )  # fmt: skip


def _follows_rule(judge: RecordingJudge, limits: dict[str, int | None]) -> Iterator[Evidence]:
    if not judge.steps or not (judge.steps.fortune.steps or judge.impossible or judge.greedy):
        return
    witness, fortune = None, judge.steps.fortune
    fortunes = [fortune]
    name, behaves = RULES[on_chains(judge.rule)].title, next(iter(judge.likely()), None)
    if judge.impossible:
        witness = witness_of(judge.recording, judge.impossible[0], f"never, under {name}", judge.against, behaves)
    elif judge.differences:
        witness = witness_of(
            judge.recording, judge.differences[0], f"what its own uniforms give, under {name}", judge.against
        )
    elif fortune.refuted_at is not None:
        shown = judge.shown[0]
        words = f"less often, under {name}, than under: {behaves.title}" if behaves else "less often"
        witness = witness_of(judge.recording, shown, words, judge.against, behaves)
    elif judge.groups and judge.groups.refuted:
        what, value = judge.groups.refuted[0]
        group = judge.groups.purses[what, value]
        why = next(iter(group.likely()), None)
        sequence = f"the {group.fortune.steps:,} steps with {what} {value}"
        witness = Witness(sequence=sequence, expected=name, observed="another rule", why=why)
        fortunes = [fortune, *(purse.fortune for purse in judge.groups.purses.values())]
    needed = {name: float(n) for name, n in limits.items() if n is not None}
    detail = _betting(judge, fortune.steps, fortunes, needed)
    if judge.impossible or judge.differences:
        detail = replace(detail, p_value=0.0)
    yield _made(judge, "follows-rule", witness, detail)


def _of_tokens(judge: RecordingJudge, claim: str, purse: TokenPurse) -> Iterator[Evidence]:
    if not purse.tokens:
        return
    slack = purse.sets.slack
    detail = _betting(judge, purse.tokens, list(purse.fortunes), {
        name: detectable_shift(np.full(purse.tokens, float(name.split()[-1])), SHARE / 2, BETA, slack, len(SETS))
        for name in SETS
    }, slack)  # fmt: skip
    won = purse.refuting
    if won is None:
        yield _made(judge, claim, None, detail, bound=max(detail.limits.values()))
        return
    evidence = purse.tilts.fortunes.get(str(won.family), 0.0)
    seen = f"a fortune of e^{evidence:.1f}" if evidence < inf else "a token that the row excludes"
    sequence = f"{won.family}, by token {won.refuted_at:,} of {purse.tokens:,}"
    yield _made(judge, claim, Witness(sequence=sequence, expected="a fortune of 1 on average", observed=seen), detail)


def _lossless(judge: RecordingJudge) -> Iterator[Evidence]:
    yield from _of_tokens(judge, "lossless", judge.texts)


def _drafts(judge: RecordingJudge) -> Iterator[Evidence]:
    yield from _of_tokens(judge, "drafts", judge.drafts)


def _rows(judge: RecordingJudge) -> Iterator[Evidence]:
    rows, header = judge.rows, judge.recording.header
    if not rows.checked:
        return
    witness = None
    if rows.off:
        cause = rows.causes.most_common(1)[0][0]
        witness = Witness(
            sequence=judge.rows_at, expected=f"within TV {ROW_OFF[header.dtype]:g} of the settings' row",
            observed=f"{rows.off:,} of {rows.checked:,} rows, by up to TV {rows.worst:.3g},", why=cause,
        )  # fmt: skip
    detail = Detail(dtype=header.dtype, vocabulary=header.vocabulary)
    yield _made(judge, "rows", witness, detail, method=Method.REPORTED, total_variation=rows.worst,
                bound=max(ROW_OFF[header.dtype], rows.undecided))  # fmt: skip


def _logprobs(judge: RecordingJudge) -> Iterator[Evidence]:
    header = judge.recording.header
    seen, allowed = judge.logprobs, LOGPROB_OFF[header.dtype]
    if not seen.count:
        return
    witness = None
    if seen.off:
        witness = Witness(
            sequence=f"{seen.off:,} of {seen.count:,} reported logprobs", expected=f"within {allowed:g} of the row's",
            observed=f"off by up to {seen.worst:.3g}, on average {seen.total / seen.count:+.3g}",
        )  # fmt: skip
    yield _made(judge, "logprobs", witness, Detail(dtype=header.dtype), method=Method.REPORTED,
                total_variation=min(seen.worst, 1e300), bound=allowed)  # fmt: skip


def _batch(judge: RecordingJudge) -> Iterator[Evidence]:
    groups = judge.groups
    if not groups or len({key for key in groups.purses if key[0] == "place in the batch"}) < 2:
        return
    places = {key: purse for key, purse in groups.purses.items() if key[0] == "place in the batch"}
    refuted = [key for key in groups.refuted if key in places]
    witness = None
    fault = next(iter(places[refuted[0]].likely()), None) if refuted else None
    if fault:  # what no hypothesis explains may be wrong at the other places, too
        right = [key for key, purse in places.items() if key not in refuted and purse.without(fault)]
        if len(right) + len(refuted) == len(places) and right:
            names = ", ".join(f"{what} {value}" for what, value in refuted)
            witness = Witness(
                sequence=f"the rule is refuted at {names}", expected="the rule at every place",
                observed=f"not at the other {len(right)}, where the fault would have shown", why=fault,
            )  # fmt: skip
    fortunes = [purse.fortune for purse in places.values()]
    yield _made(judge, "batch", witness, _betting(judge, sum(f.steps for f in fortunes), fortunes, {}))


def findings_of(judge: RecordingJudge) -> dict[str, str]:
    """Return what was noticed that is no law."""
    found = {}
    count, twice, chance = repeated_uniforms(judge)
    if twice > chance + 10 * (chance + 1) ** 0.5 + 10:
        found["uniform-reused"] = f"{twice:,} of {count:,} recorded uniforms came before; by chance {chance:.2g}"
    if judge.counts.get("failed"):
        found["recording-failed"] = f"{judge.counts['failed']:,} steps could not be recorded: {judge.failure}"
    if judge.steps and not (judge.steps.fortune.steps or judge.impossible or judge.greedy):
        title = RULES[on_chains(judge.rule)].title
        found["rule-not-judged"] = f"the recording claims {title}, and no step has what that needs"
    if judge.errors:
        found["unreadable"] = "; ".join(judge.errors[:3]) + (
            f"; {len(judge.errors) - 3} more" if len(judge.errors) > 3 else ""
        )
    return found
