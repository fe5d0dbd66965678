"""Audit a recording: the report of ``draftproof steps``."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from ....models.errors import InputError
from ....models.recorded_steps import ROW_OFF, Recording
from ....models.step_lines import StepLines
from ....verifiers.conditional.tree_rules import TREES_NOT_COMPARED, on_chains, on_trees
from ....verifiers.trees.draft_tree import TOP
from ..report import Report
from ..settings import Progress, silent
from .acceptance import Acceptance
from .evidence import evidence_of, findings_of
from .judge import UNKNOWN_RULE, RecordingJudge, known_bugs
from .lines import not_examined
from .progress import judge_all
from .purses import SHARE
from .settings_of_rows import RowsSeen

CLAIMS = ("lossless", "follows-rule", "drafts", "rows", "logprobs", "batch")
"""Claims that a recording is judged by."""

TO_LISTEN_FOR = "vocabularies, settings, devices and loads other than those recorded"


def opened(folder: str | Path, rule: str | None = None) -> Recording:
    """Return a recording: a folder of shards, or a file of JSON lines. rule: that is claimed, in place of its own."""
    return StepLines.open(folder, rule) if Path(folder).is_file() else Recording.open(folder)


def audit_steps(
    folder: str | Path, rule: str | None = None, seed: int = 0, jobs: int | None = 1, progress: Progress = silent,
    cluster: str | None = None, checkpoint: str | None = None,
) -> Report:  # fmt: skip
    """Judge the recorded steps in a folder.

    rule: that is claimed, in place of the header's. seed: of the auditor's random numbers. jobs, cluster, checkpoint:
    as of ``judge_all``.
    Guarantee: what is right is refuted with probability at most ALPHA over all claims; the report is the same for any
    number of jobs, on any cluster, after any interruptions.
    Raises: InputError if the folder is no recording, or none of its shards can be read; and as ``judge_all``.
    """
    recording = opened(folder, rule)
    if not recording.shards:
        raise InputError(f"{folder}: no shard in it; expected steps-000000.safetensors and so on", "DP206")
    judge = judge_all(RecordingJudge(recording, rule, seed), jobs, cluster, checkpoint, progress)
    if not judge.shards:
        raise InputError(f"{folder}: no shard can be read: {judge.errors[0]}", "DP206")
    return report_of(judge)


def report_of(judge: RecordingJudge) -> Report:
    """Return the report of a judged recording."""
    header = judge.recording.header
    engine = " ".join(filter(None, (header.engine or "an engine that is not named", header.engine_version)))
    source = f"recorded steps of {engine}" + (f" on {header.device}" if header.device else "")
    report = Report.begin(str(judge.recording.folder), source, [header.dtype], judge.seed, CLAIMS)
    report.subject["digest"] = judge.recording.digest
    limits = judge.limits()
    report.add(evidence_of(judge, limits))
    report.notice(findings_of(judge))
    report.steps = _section(judge, limits)
    return report


def _section(judge: RecordingJudge, limits: dict[str, int | None]) -> dict[str, Any]:
    """Return the report's ``steps``."""
    header, purse = judge.recording.header, judge.steps
    trees = {"trees": judge.trees} if judge.trees else {}
    return {
        "header": msgspec.to_builtins(header) | {"edges": []},
        "rule": judge.rule,
        "counts": judge.counts,
        "shards": judge.shards,
        "judged": {"steps": purse.fortune.steps if purse else 0, "greedy": judge.greedy, "emitted": judge.texts.tokens,
                   "drafted": judge.drafts.tokens, "rows": judge.rows.checked, "replayed": judge.replayed} | trees,
        "left_out": dict(judge.left_out),
        "alpha": SHARE,
        "refuted_at": purse.fortune.refuted_at if purse else None,
        "path": [list(point) for point in _finite(purse.path)] if purse else [],
        "transform": judge.texts.bins.tolist(),
        "behaves_like": [{"name": law.name, "title": law.title} for law in judge.likely()[:3]],
        "limits": limits,
        "known_bugs": known_bugs(on_chains(judge.rule)),
        "shown": [{"place": str(shown.place), "why": shown.why} for shown in judge.shown],
        "acceptance": gains(judge.acceptance, on_chains(judge.rule)),
        "tree_acceptance": gains(judge.on_trees, on_trees(judge.rule)),
        "by_place": judge.acceptance.by_place.tolist(),
        "groups": [
            {"what": what, "value": value, "steps": one.fortune.steps, "refuted": one.fortune.refuted_at is not None}
            for (what, value), one in (judge.groups.purses.items() if judge.groups else ())
        ],
        "not_examined": _not_examined(judge),
    }  # fmt: skip


def _finite(path: list[tuple[int, float]]) -> list[tuple[int, float]]:
    return [(step, min(evidence, 700.0)) for step, evidence in path]


def gains(acceptance: Acceptance, rule: str | None) -> dict[str, Any] | None:
    """Return the accepted tokens a step, as measured and under each rule on the same rows, with intervals of 95 %.

    rule: that is claimed. None if there are no such steps.
    """
    if not acceptance.steps:
        return None
    base = rule if rule in acceptance.names else None
    rules = {
        name: {"expected": list(acceptance.expected(name)), "gain": list(acceptance.gain(name, base))}
        for name in acceptance.names
    }
    return {"steps": acceptance.steps, "requests": len(acceptance.sums), "measured": list(acceptance.measured()),
            "over": base or "what was measured", "rules": rules}  # fmt: skip


def _rows_not_examined(rows: RowsSeen, allowed: float) -> Iterator[str]:
    """Yield what is not known of rows and the settings that they were made by. allowed: that a row may be off."""
    if rows.left_out:
        yield f"rows under {', '.join(sorted(rows.left_out))}"
    if rows.without_logits:
        number = f"{rows.without_logits:,} rows are" if rows.checked else "the recorded rows are"
        yield f"whether {number} those of the settings: no logits were recorded"
    if rows.beyond:
        yield f"{rows.beyond:,} rows that depend on more than the tokens that are listed"
    if rows.rounded:
        yield f"{rows.rounded:,} rows off by more than TV {allowed:g}, which rounding of their scores may explain"
    if rows.undecided > allowed:
        yield f"up to TV {rows.undecided:.2g} of a row, on tokens that are not listed"


def _not_examined(judge: RecordingJudge) -> list[str]:
    header, sentences = judge.recording.header, []
    if judge.rule == UNKNOWN_RULE:
        sentences.append("whether the engine follows its rule: the recording claims none (--rule)")
    if judge.rule == "greedy-block":
        sentences.append("whether outputs follow the target: greedy block verification changes the rows of later steps")
    for why, number in judge.left_out.items():
        sentences.append(f"{number:,} steps: {why}")
    if dropped := judge.counts.get("dropped"):
        sentences.append(f"{dropped:,} steps that the recorder had no time for")
    if header.chosen.one_of > 1:
        sentences.append(
            f"steps that were not recorded: one of {header.chosen.one_of} was, chosen regardless of content"
        )
    sentences += _rows_not_examined(judge.rows, ROW_OFF[header.dtype])
    if not judge.replayed:
        sentences.append("the engine's own random numbers: none were recorded")
    if not judge.logprobs.count:
        sentences.append("reported logprobs: none were recorded")
    elif judge.logprobs.absent:
        sentences.append(f"{judge.logprobs.absent:,} emitted tokens without a reported logprob")
    if not judge.drafts.tokens:
        sentences.append("whether drafted tokens follow the draft's rows: no rows of the draft were recorded")
    if judge.trees and judge.recording.header.siblings in ("", TOP):
        sentences.append("whether siblings follow the draft's rows: the header does not say that they were drawn")
    if judge.trees and judge.against.on_trees:
        sentences.append(f"{len(TREES_NOT_COMPARED)} known bugs of trees, which keep paths that were not drafted")
    if on_chains(judge.rule) in ("token", "block"):
        bugs = known_bugs(on_chains(judge.rule))
        sentences.append(f"{bugs['not_compared']} known bugs whose outcome depends on more than the rows")
    if isinstance(judge.recording, StepLines):
        sentences += not_examined(judge.recording)
    sentences.append("whether the rows are the model's: they are taken as recorded")
    return [*sentences, TO_LISTEN_FOR]
