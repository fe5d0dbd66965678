"""An end-to-end run: its parts one after the other; what was measured before one fails is kept."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from ....models.environment import environment
from ....models.errors import RunFailed
from ....models.libraries import is_of_memory, reason
from ....models.threads import torch_threads
from ....verifiers.evidence import REFUTED
from ..functions.sampling import ALPHA
from .drift import Drifts
from .exact import Exact
from .forged_law import known_law
from .options import Options
from .report import EndToEnd
from .rows import Rows
from .session import SMALL, Session, session
from .text_counts import Counted
from .texts import Texts
from .timing import Timed

CLAIMS = ("lossless", "rows", "drafts", "noise", "acceptance")
"""All of these decide the verdict of an end-to-end run."""

TESTS = 4
"""Statistical tests that share the rate of false alarms: law, acceptance, texts, drafts."""

HASHED = 2**30
"""Bytes of a checkpoint up to which it is read for its digest."""


def run_e2e(options: Options, told: Callable[[str, int, int], None] = lambda what, done, of: None) -> EndToEnd:
    """Examine a loop on a pair of models.

    Guarantee: a loop that is lossless, reads its texts and draws its drafts as it says is refuted by a statistical
    test with probability at most 1e-6, all tests together. What single tests would have seen is in the evidence.
    Raises: InputError for what cannot be run at all. Out of memory, out of time, interrupted: a report with the
    failure and everything before it; so for a mutant that raises.
    """
    run = session(options, told)
    small = run.pair.device == "cpu" and run.pair.target.num_parameters() <= SMALL
    with torch_threads(1 if small else None):
        return _examined(run)


def _examined(run: Session) -> EndToEnd:
    options = run.options
    report = EndToEnd(_subject(run), CLAIMS, options.seed, environment() | _versions(run), setting=_setting(run))
    if run.rule.lossy:
        report.notice(
            {"lossy": f"{run.rule.name} is lossy by name ({run.rule.lossy}): it does not claim the target's law"}
        )
    if run.mutant:
        report.notice({"planted": f"this loop is the mutant {run.mutant.name}: {run.mutant.title}"})
    drifts, alpha = Drifts(run), ALPHA / TESTS
    if not _done(report, drifts):
        return report
    report.drift = drifts.told()
    parts: list[Any] = [rows := Rows(run, drifts, alpha)]
    exact = None
    if run.start is not None and options.prompts is None:
        known = known_law(run)
        if isinstance(run.settings["gamma"], int):
            parts.append(exact := Exact(run, known))
        if run.settings["temperature"] != 0:
            parts.append(Counted(run, known, alpha))
    parts += [texts := Texts(run, drifts, alpha, exact), timed := Timed(run)]
    for part in parts:
        complete = _done(report, part)
        for item in part.evidence(complete):
            if item.verdict == REFUTED and item.witness:
                item.replay = options.command()
            report.add(None, [item])
        if not complete:
            break
    report.notice(rows.left_out() | texts.reach())
    report.figures = timed.told()
    return report


def _done(report: EndToEnd, part: Any) -> bool:
    """Whether a part of the run came to its end; if not, why is in the report."""
    try:
        part.go()
    except RunFailed as failure:
        report.fail(failure.kind, str(failure))
    except KeyboardInterrupt:
        report.fail("interrupted", "interrupted; what was measured before is in the report")
    except Exception as error:
        if not is_of_memory(error):
            raise
        report.fail("memory", f"{reason(error)} (a smaller --batch or fewer --new-tokens need less)")
    else:
        return True
    return False


def _subject(run: Session) -> dict[str, Any]:
    name = run.options.verifier or run.rule.name
    return {
        "name": f"{name}, mutant {run.mutant.name}" if run.mutant else name,
        "source": " and ".join(run.pair.names), "digest": _digest(run), "dtypes": [run.pair.dtype],
        "lossy": run.rule.lossy,
    }  # fmt: skip


def _setting(run: Session) -> dict[str, Any]:
    settings, options = run.settings, run.options
    eos = settings["eos"]
    told = ", ".join(f"{name} {settings[name]}" for name in ("temperature", "top_k", "top_p"))
    return {
        "target": run.pair.names[0], "draft": run.pair.names[1], "device": run.pair.device, "dtype": run.pair.dtype,
        "loop": f"{run.rule.name}, gamma {options.gamma}, {told}, {run.rows} rows, {options.new_tokens} new tokens",
        "gamma": options.gamma, **{name: settings[name] for name in ("temperature", "top_k", "top_p")},
        "eos": [eos] if isinstance(eos, int) else list(eos), "new_tokens": options.new_tokens, "batch": run.rows,
        "lossy": run.rule.lossy, "defect": run.mutant.name if run.mutant else None, "command": options.command(),
    }  # fmt: skip


def _versions(run: Session) -> dict[str, str]:
    found = {"device": run.pair.device}
    if run.pair.device.startswith("cuda"):
        found["device"] += f" ({torch.cuda.get_device_name(run.pair.device)})"
    return found | {"dtype": run.pair.dtype, "threads": str(torch.get_num_threads())}


def _digest(run: Session) -> str:
    """Of both models: the commits of Hub snapshots, else of their files, if they are not too large."""
    found = hashlib.sha256()
    for name, commit in zip(run.pair.names, run.pair.commits, strict=True):
        if commit:
            found.update(commit.encode())
            continue
        files = sorted(file for file in Path(name).expanduser().glob("*") if file.is_file())
        if not files or sum(file.stat().st_size for file in files) > HASHED:
            return "unknown"
        for file in files:
            found.update(file.name.encode() + file.read_bytes())
    return found.hexdigest()
