"""The command draftproof train-pair: figures in a few lines, resumed after a kill, wrong use in one line."""

import pytest
from click.testing import CliRunner

from draftproof.models.errors import InputError
from draftproof.tests.models.pairs_parts import MINIATURE
from draftproof_paper.commands.train_pair import command as train_pair_command
from draftproof_paper.training.recipe import Recipe


@pytest.fixture
def miniature(monkeypatch, tmp_path):
    """The command with a recipe of seconds, and a cache of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(Recipe, "for_minutes", lambda self, minutes: MINIATURE)


def train_pair(*arguments):
    return CliRunner().invoke(train_pair_command, list(map(str, arguments)))


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
