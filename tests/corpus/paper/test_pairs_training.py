"""A miniature of the trained pair, by the code that trains the real one: it learns, is the same again, and goes on."""

import json
import os
from dataclasses import replace

import pytest
import torch

from draftproof.models.errors import InputError, OutOfMemoryError
from draftproof.models.pairs.loading import load_pair
from draftproof.models.pairs.packaged_pair import trained_folder
from draftproof.models.pairs.presets import load_preset
from draftproof.models.pairs.prompts import prompts
from draftproof.tests.models.pairs_parts import MINIATURE, TEXT
from draftproof_paper.training import trained_pair as trained
from draftproof_paper.training import training
from draftproof_paper.training.recipe import (
    MIN_VOCABULARY,
    STEPS_PER_CHECKPOINT,
    Recipe,
    concatenated_ids,
    train_tokenizer,
)
from draftproof_paper.training.trained_pair import train_pair
from draftproof_paper.training.training import evaluate, train

pytestmark = pytest.mark.engine

SHORT = replace(MINIATURE, steps=STEPS_PER_CHECKPOINT + 5, batch=2, context=16)


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """A cache of this module's own."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of a miniature pair, and its figures."""
    folder = tmp_path_factory.mktemp("pair") / "new"
    return folder, train_pair(folder, 0, MINIATURE)


@pytest.fixture(scope="module")
def ids():
    return torch.tensor(concatenated_ids(train_tokenizer(TEXT, MIN_VOCABULARY), TEXT * 3))


def weights(models) -> dict:
    return {f"{name} {key}": value for name, model in models.items() for key, value in model.state_dict().items()}


def same(models, others) -> bool:
    mine, theirs = weights(models), weights(others)
    return mine.keys() == theirs.keys() and all(torch.equal(mine[key], theirs[key]) for key in mine)


def learned(before: dict, after: dict) -> bool:
    """Whether every model's loss fell by a tenth."""
    return all(after[name].loss < 0.9 * before[name].loss for name in before)


def losses(recipe: Recipe, ids, steps: int, tmp_path):
    models, _ = train(replace(recipe, steps=steps), 0, ids, tmp_path / f"{steps} {recipe.rate}")
    return evaluate(models, ids, recipe)


def test_the_losses_fall_and_would_not_at_a_learning_rate_of_0(ids, tmp_path):
    before = losses(SHORT, ids, 0, tmp_path)
    assert learned(before, losses(SHORT, ids, 30, tmp_path))
    assert not learned(before, losses(replace(SHORT, rate=0.0, embedding_rate=0.0), ids, 30, tmp_path))


def test_the_bigger_drafter_is_accepted_more_often_and_exchanged_they_are_not(made, ids, tmp_path):
    _, figures = made
    alpha = {name: found["alpha"] for name, found in figures["models"].items()}
    assert alpha["target"] == pytest.approx(1)
    assert 1 > alpha["draft"] > alpha["small-draft"] + 0.02
    exchanged = replace(MINIATURE, draft=MINIATURE.small_draft, small_draft=MINIATURE.draft)
    alpha = {name: found.alpha for name, found in losses(exchanged, ids, 30, tmp_path).items()}
    assert alpha["draft"] < alpha["small-draft"]


def test_what_is_written_is_loaded_as_open_models_are(made):
    folder, figures = made
    for draft in ("draft", "small-draft"):
        pair = load_pair(folder / "target", folder / draft)
        assert pair.vocabulary == MINIATURE.vocabulary
        assert (pair.end, pair.context) == ((1,), MINIATURE.context)
        for model, name in ((pair.target, "target"), (pair.draft, draft)):
            assert sum(p.numel() for p in model.parameters()) == figures["models"][name]["parameters"]
            rows = model(torch.tensor([pair.encode("def f(")])).logits
            assert rows.shape[-1] == MINIATURE.vocabulary
        text = "héllo,\n\tworld 你好"
        assert pair.tokenizer.decode(pair.encode(text), skip_special_tokens=True) == text
    assert len(prompts(folder)) == MINIATURE.prompts


def test_what_is_written_has_the_loss_that_was_measured(made):
    _, figures = made
    pair = load_preset("trained", drafter=1)
    assert pair.names[0].endswith(f"{figures['key']}/target")
    models = {"target": pair.target, "small-draft": pair.draft}
    held_out = [document.text for document in trained.corpus().held_out]
    text = torch.tensor([i for part in held_out for i in (*pair.tokenizer(part).input_ids[1:], 1)])
    found = evaluate(models, text, MINIATURE)
    for name in models:
        assert found[name].loss == pytest.approx(figures["models"][name]["loss"], rel=1e-5)
        assert found[name].alpha == pytest.approx(figures["models"][name]["alpha"], rel=1e-5)


def test_a_seed_gives_the_same_weights_bit_for_bit_and_another_seed_others(ids, tmp_path):
    first, _ = train(SHORT, 3, ids, tmp_path / "first")
    again, _ = train(SHORT, 3, ids, tmp_path / "again")
    other, _ = train(SHORT, 4, ids, tmp_path / "other")
    assert same(first, again)
    assert not same(first, other)


def stopped(ids, checkpoint, at: int = STEPS_PER_CHECKPOINT + 2) -> None:
    """Train up to a step, and stop there as Ctrl-C does."""

    def progress(what, done, of):
        if done == at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(SHORT, 0, ids, checkpoint, progress)


def test_a_run_that_was_stopped_goes_on_to_the_weights_of_one_that_was_not(ids, tmp_path):
    stopped(ids, tmp_path / "stopped")
    seen = []
    resumed, _ = train(SHORT, 0, ids, tmp_path / "stopped", lambda what, done, of: seen.append(done))
    assert seen[0] == STEPS_PER_CHECKPOINT
    whole, _ = train(SHORT, 0, ids, tmp_path / "whole")
    assert same(resumed, whole)
    assert {file.name for file in tmp_path.iterdir()} == {"stopped", "whole"}


def test_windows_drawn_from_a_stream_instead_of_the_step_would_be_seen(ids, tmp_path, monkeypatch):
    steps = iter(range(1000))
    real = training.training_windows
    monkeypatch.setattr(
        training, "training_windows", lambda ids, recipe, seed, step: real(ids, recipe, seed, next(steps))
    )
    whole, _ = train(SHORT, 0, ids, tmp_path / "whole")
    stopped(ids, tmp_path / "stopped")
    resumed, _ = train(SHORT, 0, ids, tmp_path / "stopped")
    assert not same(resumed, whole)


def test_from_a_damaged_checkpoint_it_begins_anew(ids, tmp_path):
    stopped(ids, tmp_path / "stopped")
    whole = (tmp_path / "stopped").read_bytes()
    (tmp_path / "stopped").write_bytes(whole[: len(whole) // 2])
    resumed, _ = train(SHORT, 0, ids, tmp_path / "stopped")
    assert same(resumed, train(SHORT, 0, ids, tmp_path / "whole")[0])


def test_a_pair_in_the_cache_is_copied_and_one_in_the_folder_is_left(made, tmp_path, monkeypatch):
    _, figures = made
    monkeypatch.setattr(training, "train", None)
    assert train_pair(tmp_path / "copy", 0, MINIATURE) == figures
    before = {file: os.stat(file).st_mtime_ns for file in (tmp_path / "copy").rglob("*")}
    assert train_pair(tmp_path / "copy", 0, MINIATURE) == figures
    assert {file: os.stat(file).st_mtime_ns for file in (tmp_path / "copy").rglob("*")} == before


def test_a_folder_in_use_is_refused_and_left_as_it_is(made, tmp_path):
    folder, _ = made
    with pytest.raises(InputError, match="is not empty; expected a folder that is new, empty, or has this very pair"):
        train_pair(folder, 1, MINIATURE)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="file: cannot be written"):
        train_pair(tmp_path / "file", 0, MINIATURE)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_pair_that_is_not_whole_is_not_offered(made, cache, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    half = tmp_path / "draftproof" / "pairs" / "half"
    half.mkdir(parents=True)
    assert trained_folder() is None
    (half / "pair.json").write_text(json.dumps({"format": "something else"}))
    assert trained_folder() is None
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    assert trained_folder().name == made[1]["key"]


@pytest.mark.parametrize(
    "error", [torch.cuda.OutOfMemoryError("CUDA out of memory"), RuntimeError("CUDA error: out of memory")]
)
def test_memory_that_runs_out_in_training_is_one_line(error, tmp_path, monkeypatch):
    def exhausted(*_):
        raise error

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(trained, "_make", exhausted)
    with pytest.raises(OutOfMemoryError, match=r"^out of memory on cpu in training; expected a smaller recipe$"):
        trained.train_pair(tmp_path / "pair", recipe=MINIATURE)
    monkeypatch.setattr(trained, "_make", lambda *_: (_ for _ in ()).throw(RuntimeError("something else")))
    with pytest.raises(RuntimeError, match="something else"):
        trained.train_pair(tmp_path / "pair", recipe=MINIATURE)
