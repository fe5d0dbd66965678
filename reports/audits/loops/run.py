"""An end-to-end run: its parts one after the other. What was measured before one fails is in the report."""

import hashlib
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import torch

from ....models.digests import environment
from ....models.generating.settings import text_config
from ....models.generating.several_paths import independent_paths
from ....models.libraries import torch_threads
from ....stattests.arguments import ALPHA
from ....verifiers.claims import LOOP, claims_of
from ..report import OUT_OF_TIME, Report
from ..runner import Examination, examine
from ..settings import Progress, silent
from .block_inputs import BlockInputs
from .drift import DriftMeasurement
from .forged_law import EnumeratedLaw, TextCounts, forged_law
from .options import LoopOptions
from .session import LoopSession, open_session
from .timing import Timing
from .written_texts import GreedyTexts, SampledTexts

DECIDING_CLAIMS = tuple(claims_of(LOOP))
"""The claims that decide the verdict of an end-to-end run: all."""

STATISTICAL_TESTS = 4
"""Tests that share the rate of false alarms: law, acceptance, texts, drafts."""

MEMORY_HINT = " (a smaller --batch or fewer --new-tokens need less)"
"""Hint for a run that is out of memory."""

CACHES_OF_FORGED = (
    "keys and values in the caches that are lost, shifted or of another output: a forged model's row depends on the "
    "last token only (--preset has models with more)"
)
"""What a run on a forged pair says nothing of: its models' keys and values are all 0."""

MAX_SINGLE_THREAD_PARAMETERS = 30_000_000
"""Parameters of a target up to which one thread is used: as fast as several, without waiting for other programs."""

MAX_DIGEST_BYTES = 2**30
"""Bytes of a checkpoint up to which it is read for its digest."""


def run_e2e(options: LoopOptions, progress: Progress = silent) -> Report:
    """Examine a decoding loop on a pair of models.

    Guarantee: a loop that is lossless, reads its texts and draws its drafts from their rows is refuted by a statistical
    test with probability at most ALPHA, all tests together. The evidence has the detection limit of each test.
    If memory runs out, the run is interrupted or the user's loop raises, the report has the failure and what was found.
    If time runs out, the report has what there is, is at best inconclusive, and says what was not examined.
    Raises: InputError for what cannot be run at all.
    """
    session = open_session(options, progress)
    small = session.pair.device == "cpu" and session.pair.target.num_parameters() <= MAX_SINGLE_THREAD_PARAMETERS
    with torch_threads(1 if small else None):
        return _examined(session)


def _examined(session: LoopSession) -> Report:
    options, run, verifier = session.options, {**_setting(session), "figures": {}, "drift": {}}, session.verifier
    versions = environment() | _device(session)
    report = Report(_subject(session), DECIDING_CLAIMS, options.seed, versions, end_to_end=run)
    if verifier.lossy:
        lossy = f"{verifier.name} is lossy by name ({verifier.lossy}): it does not claim the target's distribution"
        report.notice({"lossy": lossy})
    if options.loop:
        report.notice({"own loop": f"decoded by {options.loop} in the place of draftproof's loop"})
    drift = DriftMeasurement(session)
    if examine(report, [drift], MEMORY_HINT):
        alpha = ALPHA / STATISTICAL_TESTS
        inputs, timing = BlockInputs(session, drift, alpha), Timing(session)
        laws, enumerated = _laws(session, alpha)
        greedy = session.settings.greedy
        texts = GreedyTexts(session, drift, enumerated) if greedy else SampledTexts(session, drift, alpha)
        parts = {
            "rows": [inputs],
            "the distribution of the first tokens": laws,
            "texts": [texts],
            "wall clock": [timing],
        }
        done = list(takewhile(lambda name: examine(report, parts[name], MEMORY_HINT), parts))
        _in_the_time_given(report, session, [name for name, part in parts.items() if part and name not in done])
        report.notice(inputs.notices() | texts.notices() | timing.notices())
        run["figures"] = timing.figures()
        run["not_examined"] += texts.not_examined()
    else:
        _in_the_time_given(report, session, ["drift, and all that needs it"])
    run["drift"] = drift.as_json()
    report.evidence = [
        replace(item, replay=options.command()) if item.refuted and item.witness else item for item in report.evidence
    ]
    return report


def _in_the_time_given(report: Report, session: LoopSession, lacked: list[str]) -> None:
    """Turn a failure by time into a notice: such a run is at best inconclusive, and says what it lacked."""
    failure = report.failure
    if failure and failure["kind"] == "timeout" and session.past(1.0):
        report.failure = None
        report.notice({OUT_OF_TIME: f"{failure['message']} (--timeout); not examined, or in part: {', '.join(lacked)}"})


def _laws(session: LoopSession, alpha: float) -> tuple[list[Examination], EnumeratedLaw | None]:
    """Return what examines the distribution of a forged pair's first tokens; the enumerated law also apart, if any."""
    if session.start is None or session.options.prompts is not None:
        return [], None
    law = forged_law(session, session.start)
    enumerated = EnumeratedLaw(session, law) if isinstance(session.settings.gamma, int) else None
    parts: list[Examination] = [enumerated] if enumerated else []
    if not session.settings.greedy:
        parts.append(TextCounts(session, law, alpha))
    return parts, enumerated


def _subject(session: LoopSession) -> dict[str, Any]:
    name, own = _decoding(session), session.options.loop
    return {
        "name": f"{name}, loop {own}" if own else name,
        "source": " and ".join(session.pair.names), "digest": _digest(session), "dtypes": [session.pair.dtype],
        "lossy": session.verifier.lossy,
    }  # fmt: skip


def _setting(session: LoopSession) -> dict[str, Any]:
    options, pair, rows = session.options, session.pair, session.batch_size
    sampling = {name: getattr(session.settings, name) for name in ("temperature", "top_k", "top_p")}
    sampled = ", ".join(f"{name} {value}" for name, value in sampling.items())
    setting = {
        "vocabulary": text_config(pair.target).vocab_size, "target": pair.names[0], "draft": pair.names[1],
        "device": pair.device, "dtype": pair.dtype,
        "loop": f"{_decoding(session)}, gamma {options.gamma}, {sampled}, {rows} outputs, "
        f"{options.new_tokens} new tokens",
        "gamma": options.gamma, "paths": session.verifier.paths, **sampling, "eos": sorted(session.settings.end_tokens),
        "new_tokens": options.new_tokens, "batch": rows, "lossy": session.verifier.lossy,
        "command": options.command(), "not_examined": [] if session.start is None else [CACHES_OF_FORGED],
    }  # fmt: skip
    if session.verifier.rule:  # how the longest paths are drawn, as of a problem that draws trees
        drafting = independent_paths(session.verifier.paths, session.settings.longest_gamma)
        setting |= {"nodes": drafting.nodes, "drafting": drafting.how, "children": list(drafting.children)}
    return setting


def _decoding(session: LoopSession) -> str:
    """Return the verifier's name, and the draft paths that it is given of each text."""
    name, paths = session.options.verifier, session.verifier.paths
    return f"{name} with {paths} draft paths" if session.verifier.rule else name


def _device(session: LoopSession) -> dict[str, str]:
    device = name = session.pair.device
    if device.startswith("cuda"):
        name += f" ({torch.cuda.get_device_name(device)})"
    return {"device": name, "dtype": session.pair.dtype, "threads": str(torch.get_num_threads())}


def _digest(session: LoopSession) -> str:
    """Return a digest of both models: of the commits of Hub snapshots, else of files that are not too large."""
    digest = hashlib.sha256()
    for name, commit in zip(session.pair.names, session.pair.commits, strict=True):
        files = [] if commit else sorted(file for file in Path(name).expanduser().glob("*") if file.is_file())
        if not commit and not 0 < sum(file.stat().st_size for file in files) <= MAX_DIGEST_BYTES:
            return "unknown"
        for part in (commit or "", *files):
            digest.update(part.encode() if isinstance(part, str) else part.name.encode() + part.read_bytes())
    return digest.hexdigest()
