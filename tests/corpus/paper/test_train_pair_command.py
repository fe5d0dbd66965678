"""The command draftproof train-pair: figures in a few lines, resumed after a kill, wrong use in one line."""

import os
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner

from draftproof.models.errors import InputError
from draftproof.tests.models.pairs_parts import MINIATURE
from draftproof_paper.commands.train_pair import command as train_pair_command
from draftproof_paper.training.recipe import STEPS_PER_CHECKPOINT, Recipe

CHILD = """
import os, signal, sys
import draftproof_paper.training.trained_pair as trained
from draftproof.tests.models.pairs_parts import MINIATURE

def progress(what, done, of):
    if done == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

trained.train_pair(sys.argv[1], 0, MINIATURE, progress)
"""


@pytest.fixture
def miniature(monkeypatch, tmp_path):
    """The command with a recipe of seconds, and a cache of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(Recipe, "for_minutes", lambda self, minutes: MINIATURE)


def train_pair(*arguments):
    return CliRunner().invoke(train_pair_command, list(map(str, arguments)))


@pytest.mark.long
@pytest.mark.engine
def test_a_killed_run_goes_on_and_the_figures_are_those_of_an_unbroken_one(miniature, tmp_path, monkeypatch):
    if not hasattr(signal, "SIGKILL"):
        pytest.skip("this system cannot kill a process outright")
    out = tmp_path / "out"
    killed = subprocess.run(
        [sys.executable, "-c", CHILD, out, str(STEPS_PER_CHECKPOINT + 3)], env=os.environ, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert not any(out.iterdir())
    assert len(list((tmp_path / "cache").rglob("training.pt"))) == 1
    done = train_pair("--out", out)
    assert done.exit_code == 0, done.output
    target, draft, small, trained, written = done.output.splitlines()[-5:]  # after the progress bar
    assert target.startswith("target      2 layers of 64, ")
    assert draft.startswith("draft       1 layer of 64, ")
    assert "nats a token, acceptance rate 0." in draft
    assert small.startswith("small-draft 1 layer of 16, ")
    assert trained.startswith("trained     seed 0, 40 steps of 192 tokens, ")
    assert written == f"written     {out}: target, draft, small-draft, prompts.jsonl (10 prompts)"
    assert not list((tmp_path / "cache").rglob("training.pt*"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
    whole = train_pair("--out", tmp_path / "whole")
    assert whole.output.splitlines()[-5:-2] == [target, draft, small]
    for model in ("target", "draft", "small-draft"):
        mine, theirs = (folder / model / "model.safetensors" for folder in (out, tmp_path / "whole"))
        assert mine.read_bytes() == theirs.read_bytes()


@pytest.mark.engine
def test_ctrl_c_is_status_130_and_says_where_it_goes_on(miniature, tmp_path, monkeypatch):
    from draftproof_paper.training import trained_pair as trained

    def interrupted(folder, seed, recipe, progress, device):
        progress("training", 57, recipe.steps)
        raise KeyboardInterrupt

    monkeypatch.setattr(trained, "train_pair", interrupted)
    done = train_pair("--out", tmp_path / "out")
    assert done.exit_code == 130
    assert done.output.splitlines()[-1] == "draftproof: interrupted; the same command resumes from step 50"


@pytest.mark.engine
def test_a_device_that_is_not_there_is_bad_input_and_nothing_is_written(miniature, tmp_path):
    done = train_pair("--out", tmp_path / "out", "--device", "cuda:7")
    assert isinstance(done.exception, InputError)
    assert str(done.exception).startswith("device 'cuda:7': not available here; expected one of cpu")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "arguments", [[], ["--out", "x", "--seed", -1], ["--out", "x", "--minutes", 0], ["--out", "x", "--minutes", "long"]]
)
def test_wrong_use_is_status_2(arguments):
    assert train_pair(*arguments).exit_code == 2
