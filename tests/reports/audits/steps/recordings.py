"""Recordings of a small engine: its own rows, a verifier of the zoo or of a rule, and faults around it."""

import time
from importlib import import_module

import numpy as np

from draftproof.models.recorded_steps import Recording
from draftproof.recording import Recorder
from draftproof.reports.audits.steps.judge import RecordingJudge
from draftproof.reports.audits.steps.progress import judge_all
from draftproof.verifiers.zoo.catalogue import CONTROLS, MUTANTS

V, GAMMA = 300, 3
TYPICAL_LIMITS = {"M11": 5, "M30": 20, "equality": 10_000}
"""By which step three faults would have shown."""


def verifier(name):
    """The function of an entry of the zoo."""
    module, _, function = (MUTANTS | CONTROLS)[name].target.partition(":")
    return getattr(import_module(module), function)


def softmax(logits, temperature=1.0):
    weights = np.exp((logits - logits.max(-1, keepdims=True)) / temperature)
    return weights / weights.sum(-1, keepdims=True)


class Step:
    """What an engine has in memory at one step. A fault changes it; what it recorded is what it verified with."""

    def __init__(self, rng, vocabulary, gamma):
        self.rng, self.gamma = rng, gamma
        self.logits = rng.normal(size=(gamma + 1, vocabulary)) * 2.5
        self.draft_logits = self.logits[:gamma] + rng.normal(size=(gamma, vocabulary)) * 0.7
        self.target, self.draft = softmax(self.logits), softmax(self.draft_logits)
        self.drafts = [int(rng.choice(vocabulary, p=row)) for row in self.draft]
        self.verify_target, self.verify_draft = self.target, self.draft


def record(folder, verify="C10", steps=200, rule="token", fault=None, seed=0, vocabulary=V, gamma=GAMMA, more=None,
           dtype="float64", **options):  # fmt: skip
    """Record so many steps. fault(step): changes a step before it is verified. more(step): further fields recorded."""
    rng = np.random.default_rng(seed)
    verify = verifier(verify) if isinstance(verify, str) else verify
    recorder = Recorder(folder, vocabulary, rule=rule, dtype=dtype, **{"shard_steps": 128} | options)
    for number in range(steps):
        step = Step(rng, vocabulary, gamma)
        if fault:
            fault(step)
        emitted = verify(step.verify_target.copy(), step.verify_draft.copy(), step.drafts, rng)
        while recorder._queue.full():
            time.sleep(0.001)
        if recorder.chosen():
            recorder.step(
                step.target, step.drafts, [int(t) for t in emitted], step.draft, request=number // 20, place=number,
                slot=number % 3, **(more(step) if more else {}),
            )  # fmt: skip
    recorder.close()
    return recorder


def judge_of(folder, **options):
    """Return what judged the recording in a folder."""
    return judge_all(RecordingJudge(Recording.open(folder), **options))


def greedy(which=0):
    """Make a verifier of the most probable token. which: 0 for the first of equals, -1 for the last."""

    def verify(target, draft, tokens, rng):
        out = []
        for row, token in zip(target, [*tokens, -1]):
            out.append(int(np.flatnonzero(row == row.max())[which]))
            if out[-1] != token:
                break
        return out

    return verify


def rewritten(folder, change):
    """Change the arrays of the first shard."""
    from safetensors import safe_open
    from safetensors.numpy import save_file

    shard = folder / "steps-000000.safetensors"
    with safe_open(shard, "numpy") as file:
        arrays, about = {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118
    change(arrays)
    save_file(arrays, shard, about)
