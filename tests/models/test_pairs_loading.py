"""Pairs from folders and the Hub's cache: one vocabulary for both, and whatever is wrong is said in one line."""

import hashlib
import json
import os
import shutil

import pytest
import torch
import transformers

from draftproof.models.errors import InputError
from draftproof.models.generating.settings import LoopSettings
from draftproof.models.pairs.loading import load_pair, must_agree
from draftproof.tests.models.pairs_parts import WORDS, save

pytestmark = pytest.mark.engine

NAME = "somebody/model"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """By rows: the same model, its ids padded to 320 and 352."""
    where = tmp_path_factory.mktemp("checkpoints")
    return {rows: save(where / str(rows), rows) for rows in (WORDS, 320, 352)}


@pytest.fixture
def broken(folders, tmp_path):
    """A copy to be broken."""
    return shutil.copytree(folders[WORDS], tmp_path / "broken")


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """An empty cache of the Hub, and no network."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    return tmp_path / "hub" / f"models--{NAME.replace('/', '--')}"


def message_of(*arguments, **options) -> str:
    """What is said to be wrong, in one line."""
    with pytest.raises(InputError) as raised:
        load_pair(*arguments, **options)
    message = str(raised.value)
    assert "\n" not in message
    assert "Traceback" not in message
    return message


def laws(model, masked):
    with torch.no_grad():
        return masked(model(torch.tensor([[0, 5, 7]])).logits).softmax(-1)


def test_models_padded_differently_have_one_law_once_masked(folders):
    pair = load_pair(folders[320], folders[352])
    assert pair.vocabulary == WORDS
    target, draft = laws(pair.target, pair.mask), laws(pair.draft, pair.mask)
    alone = load_pair(folders[WORDS], folders[WORDS])
    assert target.shape == (1, 3, WORDS)
    assert torch.equal(target, draft)
    assert torch.equal(target, laws(alone.target, alone.mask))


def test_without_the_mask_padding_takes_mass_and_after_the_softmax_it_is_lost(folders):
    pair = load_pair(folders[320], folders[352])
    target, draft = laws(pair.target, lambda rows: rows), laws(pair.draft, lambda rows: rows)
    for law in (target, draft):
        assert law[..., WORDS:].sum(-1).min() > 0.05
    assert (target[..., :WORDS] - draft[..., :WORDS]).abs().sum(-1).min() > 0.01


def test_a_pair_knows_where_texts_end_and_how_long_they_may_be(folders, tmp_path):
    pair = load_pair(folders[WORDS], save(tmp_path / "d", eos=[1, 5], context=24), template="Q: {prompt} A:")
    assert (pair.end, pair.pad, pair.context) == ((1,), 1, 24)
    assert pair.decode(pair.encode("def f")) == "Q: def f A:"
    assert pair.encode("x")[0] == 0
    with pytest.raises(InputError, match=r"prompt 'x+': .* tokens and 8 to come; expected at most 24, the context of"):
        pair.encode("x" * 20, room=8)
    swapped = load_pair(tmp_path / "d", folders[WORDS])
    assert swapped.end == (1, 5)


def test_ends_beyond_the_vocabulary_are_none_and_the_tokenizer_s_stand_in_for_what_is_not_said(folders, tmp_path):
    beyond = save(tmp_path / "beyond", eos=[400, 1])
    assert load_pair(beyond, folders[WORDS]).end == (1,)
    silent = save(tmp_path / "silent")
    for file in ("generation_config.json", "config.json"):
        settings = json.loads((silent / file).read_text())
        (silent / file).write_text(json.dumps({**settings, "eos_token_id": None}))
    assert load_pair(silent, folders[WORDS]).end == (1,)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float64"])
def test_both_models_are_in_the_precision_asked_for_and_evaluate(folders, dtype):
    pair = load_pair(folders[WORDS], folders[320], dtype=dtype)
    for model in (pair.target, pair.draft):
        assert {parameter.dtype for parameter in model.parameters()} == {getattr(torch, dtype)}
        assert not model.training


def test_tokenizers_that_differ_are_rejected_with_the_first_id_that_differs():
    ours = {"a": 0, "b": 1, "c": 2}
    must_agree(("x", "y"), [ours, dict(ours)], 3)
    with pytest.raises(InputError, match="the tokenizers differ: id 1 is 'b' to x, and 'c' to y; expected"):
        must_agree(("x", "y"), [ours, {"a": 0, "c": 1, "b": 2}], 3)
    with pytest.raises(InputError, match="id 2 is 'c' to x, and nothing to y"):
        must_agree(("x", "y"), [ours, {"a": 0, "b": 1}], 3)
    with pytest.raises(InputError, match="id 0 is 'a' to x, and 'a' and 'z' to y"):
        must_agree(("x", "y"), [ours, {**ours, "z": 0}], 3)


def test_tokens_that_a_model_has_no_row_for_may_differ():
    must_agree(("x", "y"), [{"a": 0, "b": 1, "<pad>": 2}, {"a": 0, "b": 1}], 2)


def test_a_pair_with_other_tokenizers_is_not_loaded(folders, tmp_path):
    other = save(tmp_path / "other", rows=320, words=WORDS - 4)
    message = message_of(folders[320], other)
    assert message.startswith(f"the tokenizers differ: id {WORDS - 4} is ")
    assert f"and nothing to {other}; expected models with one tokenizer" in message


def test_a_folder_that_is_not_a_checkpoint_says_what_it_lacks(folders, broken, tmp_path):
    (tmp_path / "empty").mkdir()
    assert message_of(tmp_path / "empty", folders[WORDS]).startswith(
        f"{tmp_path}/empty: not a checkpoint, it has no config"
    )
    (broken / "model.safetensors").unlink()
    assert f"{broken}: not a checkpoint, it has no model.safetensors" in message_of(folders[WORDS], broken)
    index = broken / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "model-1-of-1.safetensors"}}))
    assert "it has no model-1-of-1.safetensors" in message_of(folders[WORDS], broken)
    index.write_text("[]")
    assert "expected object, got array" in message_of(folders[WORDS], broken)


def test_a_file_that_cannot_be_used_is_told_with_the_folder(folders, broken, monkeypatch):
    weights = (broken / "model.safetensors").read_bytes()
    (broken / "model.safetensors").write_bytes(weights[:1000])
    assert message_of(broken, folders[WORDS]).startswith(f"{broken}: cannot be loaded (")
    (broken / "tokenizer.json").write_text("{")
    assert message_of(broken, folders[WORDS]).startswith(f"{broken}: its tokenizer cannot be loaded (")
    (broken / "tokenizer.json").unlink()
    monkeypatch.setattr("draftproof.models.pairs.loading.find_spec", lambda package: None)
    assert message_of(broken, folders[WORDS]).endswith(
        "without a tokenizer.json it needs the packages sentencepiece and protobuf"
    )
    (broken / "config.json").write_text('{"model_type": "none"}')
    assert message_of(broken, folders[WORDS]).startswith(f"{broken}: its config.json cannot be used (")


def test_weights_of_another_model_are_not_taken(folders, broken):
    """transformers would draw the missing ones at random, and only warn."""
    from safetensors.torch import load_file, save_file

    weights = load_file(broken / "model.safetensors")
    del weights["model.layers.0.mlp.up_proj.weight"]
    save_file(weights, broken / "model.safetensors", {"format": "pt"})
    assert "its weights have no model.layers.0.mlp.up_proj.weight" in message_of(broken, folders[WORDS])


@pytest.mark.parametrize("name", ["./nowhere", "/nowhere/at/all", "~/nowhere", "a/b/c"])
def test_a_folder_that_is_not_there_is_not_looked_up_on_the_hub(name, folders):
    assert message_of(name, folders[WORDS]) == (
        f"{name}: no such folder; expected one with a checkpoint, or a name of the Hub"
    )


def test_offline_a_model_that_is_not_in_the_cache_says_what_to_download_and_where_to_put_it(hub, folders):
    message = message_of(NAME, folders[WORDS])
    assert message.startswith(f"{NAME}: not downloaded yet, and HF_HUB_OFFLINE is set; hf download {NAME}, or put its")
    assert str(hub.parent) in message
    assert "(HF_HOME)" in message


def test_what_the_hub_s_cache_has_is_loaded_offline_with_its_commit(hub, folders):
    commit = "0123456789abcdef0123456789abcdef01234567"
    shutil.copytree(folders[320], hub / "snapshots" / commit)
    (hub / "refs").mkdir()
    (hub / "refs" / "main").write_text(commit)
    pair = load_pair(NAME, folders[WORDS])
    assert pair.names == (NAME, str(folders[WORDS]))
    assert pair.commits == (commit, None)
    (hub / "snapshots" / commit / "model.safetensors").unlink()
    assert "not downloaded yet" in message_of(NAME, folders[WORDS])


def mirror(cache, name, folder):
    """A model in the Hub's layout: blobs, a snapshot of links to them, refs/main."""
    place, commit = cache / f"models--{name.replace('/', '--')}", "89abcdef" * 5
    snapshot = place / "snapshots" / commit
    for part in (snapshot, place / "blobs", place / "refs"):
        part.mkdir(parents=True)
    (place / "refs" / "main").write_text(commit)
    for file in folder.iterdir():
        blob = place / "blobs" / hashlib.sha256(file.read_bytes()).hexdigest()
        shutil.copy(file, blob)
        (snapshot / file.name).symlink_to(os.path.relpath(blob, snapshot))
    return snapshot


def sharded(folder, tied, **said):
    """The same checkpoint in several files, with what else models of the Hub have."""
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    model.config.tie_word_embeddings = tied
    model.tie_weights()
    model.generation_config = transformers.GenerationConfig(**said)
    for file in folder.glob("model*"):
        file.unlink()
    model.save_pretrained(folder, max_shard_size="20KB")
    assert len([*folder.glob("model-*.safetensors")]) > 1
    return folder


def test_a_mirror_in_the_hubs_layout_is_loaded_offline_in_shards_with_tied_weights_and_settings_of_its_own(
    hub, tmp_path
):
    settings = {"do_sample": True, "temperature": 0.6, "top_k": 20, "eos_token_id": [1, 5]}
    snapshots = [
        mirror(hub.parent, name, sharded(save(tmp_path / name, 320, seed=k), tied=bool(k), **settings))
        for k, name in enumerate(("org/target", "org/draft"))
    ]
    pair = load_pair("org/target", "org/draft")
    assert (pair.vocabulary, pair.end) == (WORDS, (1, 5)) and pair.commits == ("89abcdef" * 5,) * 2
    assert pair.draft.get_input_embeddings().weight is pair.draft.get_output_embeddings().weight
    assert pair.target.get_input_embeddings().weight is not pair.target.get_output_embeddings().weight
    assert LoopSettings().temperature == 1.0, "what a model recommends is not what is verified"
    mirror(hub.parent, "org/other", save(tmp_path / "other", words=264))
    assert message_of("org/target", "org/other").startswith("the tokenizers differ: id 264 is ")
    next(snapshots[0].glob("model-*.safetensors")).resolve().unlink()  # a download that was cut short
    assert message_of("org/target", "org/draft").startswith("org/target: not downloaded yet, and HF_HUB_OFFLINE is set")
    (snapshots[1] / "model.safetensors.index.json").unlink()
    (snapshots[1] / "model.safetensors.index.json").write_text("[]")
    assert "expected object, got array" in message_of("org/draft", "org/draft")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ("RepositoryNotFoundError", "no such folder, and no such model on the Hub"),
        ("GatedRepoError", "its owner grants access; ask for it on the model's page and set HF_TOKEN"),
        (None, "not downloaded yet, and the Hub cannot be reached (no route to host); where there is a network: "),
    ],
)
def test_what_the_hub_answers_is_told_in_one_line(error, message, hub, folders, monkeypatch):
    from huggingface_hub import HfApi, utils

    def refuse(*arguments, **options):
        kind = getattr(utils, error) if error else ConnectionError
        raised = kind.__new__(kind)
        raised.args = ("no route to host\nand more",)
        raise raised

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr(HfApi, "model_info", refuse)
    assert f"{NAME}: {message}" in message_of(NAME, folders[WORDS])


def test_a_name_that_the_hub_cannot_have_is_an_error(hub, folders):
    assert message_of("no such name!", folders[WORDS]) == (
        "'no such name!': neither a folder nor a name of the Hub; expected OWNER/MODEL"
    )


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_cuda_where_there_is_none_is_one_line(folders):
    assert message_of(folders[WORDS], folders[WORDS], device="cuda").startswith(
        "device 'cuda': not available here; expected"
    )


def test_a_device_or_precision_there_is_not_is_an_error(folders):
    assert message_of(folders[WORDS], folders[WORDS], device="abacus").startswith("device 'abacus': not available here")
    assert message_of(folders[WORDS], folders[WORDS], dtype="int8") == (
        "dtype 'int8': expected one of float32, bfloat16, float16, float64"
    )


@pytest.mark.parametrize("where", ["gpu", "its runtime", "machine"])
def test_memory_that_runs_out_is_one_line_that_says_what_was_loaded(where, folders, monkeypatch):
    def exhausted(*arguments, **options):
        if where == "gpu":
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
        if where == "its runtime":
            raise RuntimeError("CUDA error: out of memory")
        return torch.empty(1 << 60)

    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", exhausted)
    assert message_of(folders[WORDS], folders[320], dtype="bfloat16").startswith(
        f"{folders[WORDS]}: out of memory in bfloat16 on cpu; expected a smaller model"
    )
