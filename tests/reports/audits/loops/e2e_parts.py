"""Pairs on disk for the tests of end-to-end runs: forged ones, and a miniature that has been trained."""

import json

import pytest

from draftproof.models.battery import drawn_markov
from draftproof.models.forge import forge
from draftproof.reports.audits.loops.options import LoopOptions
from draftproof.tests.models.pairs_parts import MINIATURE
from draftproof.tests.reports.commands.in_process import draftproof

PROMPTS = ["def f(", "for line in", "the", "a list of"]

QUICK = {"samples": 3000, "new_tokens": 24, "gamma": "2"}
"""Of runs on forged pairs."""

SHORT = {"new_tokens": 30, "gamma": "3"}
"""Of runs on the miniature, whose context is 48 tokens."""


def forged_pair(folder, *arguments):
    """Options of a forged pair."""
    pair = forge(drawn_markov(*arguments), folder)
    return {"target": str(pair.target), "draft": str(pair.draft), **QUICK}


def trained_pair(folder):
    """Options of a pair of seconds, trained on a few sources, and prompts for it."""
    from draftproof_paper.training.trained_pair import train_pair

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        train_pair(folder / "pair", 0, MINIATURE, lambda *_: None)
    prompts = folder / "prompts.jsonl"
    prompts.write_text("".join(json.dumps(text) + "\n" for text in PROMPTS))
    pair = {name: str(folder / "pair" / name) for name in ("target", "draft")}
    return {**pair, "prompts": str(prompts), **SHORT}


def examined(pair, **options):
    """The report of a run."""
    from draftproof.reports.audits.loops.run import run_e2e

    return run_e2e(LoopOptions(**{**pair, **options}))


def briefly(monkeypatch):
    """Wall clock, drift and the law of a second block, most of the time of a short run, are not what these tests are
    of."""
    from draftproof.reports.audits.loops import drift, forged_law, timing

    monkeypatch.setattr(forged_law, "MAX_PATHS", 1000)
    monkeypatch.setattr(timing, "TIMED_REPEATS", 2)
    monkeypatch.setattr(drift, "DRIFT_TEXTS", drift.FEWEST_DRIFT_TEXTS)


def refuted(report):
    """Claim and method of what is refuted."""
    return {(item.claim, item.method) for item in report.evidence if item.verdict == "refuted"}


def command(*words):
    """Exit status, standard output and error of draftproof e2e."""
    return draftproof("e2e", *words)


def words_of(pair):
    return [word for name, value in pair.items() for word in (f"--{name.replace('_', '-')}", value)]
