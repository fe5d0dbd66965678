"""An end-to-end run: its parts one after the other; what was measured before one fails is kept."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from ....models.environment import environment
from ....models.threads import torch_threads
from ..error_rates import ALPHA
from ..functions.settings import Progress
from ..report import EndToEnd, Report
from ..runner import Examination, examine
from .drift import Drifts
from .exact import ExactLaw
from .forged_law import known_law
from .options import Options
from .rows import Rows
from .session import SMALL, LoopSession, session
from .text_counts import TextCounts
from .texts import Texts
from .timing import Timing

CLAIMS = ("lossless", "rows", "drafts", "noise", "acceptance")
"""All of these decide the verdict of an end-to-end run."""

TESTS = 4
"""Statistical tests that share the rate of false alarms: law, acceptance, texts, drafts."""

MEMORY_HINT = " (a smaller --batch or fewer --new-tokens need less)"

HASHED = 2**30
"""Bytes of a checkpoint up to which it is read for its digest."""


def run_e2e(options: Options, progress: Progress = lambda stage, done, total: None) -> Report:
    """Examine a decoding loop on a pair of models.

    Guarantee: a loop that is lossless, reads its texts and draws its drafts as it says is refuted by a statistical
    test with probability at most ALPHA, all tests together. What single tests would have seen is in the evidence.
    Raises: InputError for what cannot be run at all. Out of memory, out of time, interrupted: a report with the
    failure and everything before it; so for a mutant of the loop that raises.
    """
    opened = session(options, progress)
    small = opened.pair.device == "cpu" and opened.pair.target.num_parameters() <= SMALL
    with torch_threads(1 if small else None):
        return _examined(opened)


def _examined(session: LoopSession) -> Report:
    options, end_to_end = session.options, EndToEnd(_setting(session))
    versions = environment() | _versions(session)
    report = Report(_subject(session), CLAIMS, options.seed, versions, end_to_end=end_to_end)
    if session.rule.lossy:
        lossy = f"{session.rule.name} is lossy by name ({session.rule.lossy}): it does not claim the target's law"
        report.notice({"lossy": lossy})
    if session.mutant:
        report.notice({"planted": f"this loop is the mutant {session.mutant.name}: {session.mutant.title}"})
    drifts = Drifts(session)
    if examine(report, [drifts], MEMORY_HINT):
        _examine_loop(session, drifts, report, end_to_end)
    end_to_end.drift = drifts.as_json()
    report.evidence = [
        replace(item, replay=options.command()) if item.refuted and item.witness else item for item in report.evidence
    ]
    return report


def _examine_loop(session: LoopSession, drifts: Drifts, report: Report, end_to_end: EndToEnd) -> None:
    alpha = ALPHA / TESTS
    rows, timing = Rows(session, drifts, alpha), Timing(session)
    laws, exact = _laws(session, alpha)
    texts = Texts(session, drifts, alpha, exact)
    examine(report, [rows, *laws, texts, timing], MEMORY_HINT)
    report.notice(rows.left_out() | texts.reach())
    end_to_end.figures = timing.figures()


def _laws(session: LoopSession, alpha: float) -> tuple[list[Examination], ExactLaw | None]:
    """What examines the law of the first tokens, which is known on a forged pair; the exact law apart, if it is computed."""
    if session.start is None or session.options.prompts is not None:
        return [], None
    known, parts, exact = known_law(session), [], None
    if isinstance(session.settings["gamma"], int):
        parts.append(exact := ExactLaw(session, known))
    if session.settings["temperature"] != 0:
        parts.append(TextCounts(session, known, alpha))
    return parts, exact


def _subject(session: LoopSession) -> dict[str, Any]:
    name = session.options.verifier or session.rule.name
    return {
        "name": f"{name}, mutant {session.mutant.name}" if session.mutant else name,
        "source": " and ".join(session.pair.names), "digest": _digest(session), "dtypes": [session.pair.dtype],
        "lossy": session.rule.lossy,
    }  # fmt: skip


def _setting(session: LoopSession) -> dict[str, Any]:
    settings, options = session.settings, session.options
    eos = settings["eos"]
    sampling = ", ".join(f"{name} {settings[name]}" for name in ("temperature", "top_k", "top_p"))
    return {
        "target": session.pair.names[0], "draft": session.pair.names[1], "device": session.pair.device, "dtype": session.pair.dtype,
        "loop": f"{session.rule.name}, gamma {options.gamma}, {sampling}, {session.rows} rows, {options.new_tokens} new tokens",
        "gamma": options.gamma, **{name: settings[name] for name in ("temperature", "top_k", "top_p")},
        "eos": [eos] if isinstance(eos, int) else list(eos), "new_tokens": options.new_tokens, "batch": session.rows,
        "lossy": session.rule.lossy, "mutant": session.mutant.name if session.mutant else None, "command": options.command(),
    }  # fmt: skip


def _versions(session: LoopSession) -> dict[str, str]:
    found = {"device": session.pair.device}
    if session.pair.device.startswith("cuda"):
        found["device"] += f" ({torch.cuda.get_device_name(session.pair.device)})"
    return found | {"dtype": session.pair.dtype, "threads": str(torch.get_num_threads())}


def _digest(session: LoopSession) -> str:
    """Of both models: the commits of Hub snapshots, else of their files, if they are not too large."""
    found = hashlib.sha256()
    for name, commit in zip(session.pair.names, session.pair.commits, strict=True):
        if commit:
            found.update(commit.encode())
            continue
        files = sorted(file for file in Path(name).expanduser().glob("*") if file.is_file())
        if not files or sum(file.stat().st_size for file in files) > HASHED:
            return "unknown"
        for file in files:
            found.update(file.name.encode() + file.read_bytes())
    return found.hexdigest()
