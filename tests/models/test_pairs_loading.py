"""Pairs from folders and the Hub's cache: one vocabulary for both, and whatever is wrong is said in one line."""

import json
import shutil

import pytest
import torch
import transformers

from draftproof.models.errors import InputError
from draftproof.models.pairs.loading import load_pair, must_agree
from draftproof.tests.models.pairs_parts import WORDS, save
from draftproof.tests.refusals import one_line

pytestmark = pytest.mark.engine

NAME = "somebody/model"
COMMIT = "89abcdef" * 5


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """By rows: the same model, its ids padded to 320 and 352."""
    where = tmp_path_factory.mktemp("checkpoints")
    return {rows: save(where / str(rows), rows) for rows in (WORDS, 320, 352)}


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """An empty cache of the Hub, and no network."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    return tmp_path / "hub" / f"models--{NAME.replace('/', '--')}"


def test_models_padded_differently_have_one_law_once_masked_and_padding_takes_mass_without(folders):
    pair, alone = load_pair(folders[320], folders[352]), load_pair(folders[WORDS], folders[WORDS])
    with torch.no_grad():
        rows = [model(torch.tensor([[0, 5, 7]])).logits for model in (pair.target, pair.draft, alone.target)]
    target, draft, unpadded = (row[..., : pair.vocabulary].softmax(-1) for row in rows)
    assert pair.vocabulary == WORDS and target.shape == (1, 3, WORDS)
    assert torch.equal(target, draft) and torch.equal(target, unpadded)
    assert all(row.softmax(-1)[..., WORDS:].sum(-1).min() > 0.05 for row in rows[:2])


def test_a_pair_knows_where_texts_end_and_how_long_they_may_be(folders, tmp_path):
    pair = load_pair(folders[WORDS], save(tmp_path / "d", eos=[1, 5], context=24), template="Q: {prompt} A:")
    assert (pair.end, pair.context) == ((1,), 24)
    assert pair.tokenizer.decode(pair.encode("def f"), skip_special_tokens=True) == "Q: def f A:"
    with pytest.raises(InputError, match=r"prompt 'x+': .* tokens and 8 to come; expected at most 24, the context of"):
        pair.encode("x" * 20, room=8)
    assert load_pair(tmp_path / "d", folders[WORDS]).end == (1, 5)
    assert load_pair(save(tmp_path / "beyond", eos=[400, 1]), folders[WORDS]).end == (1,)
    silent = save(tmp_path / "silent")
    for file in ("generation_config.json", "config.json"):
        settings = json.loads((silent / file).read_text())
        (silent / file).write_text(json.dumps({**settings, "eos_token_id": None}))
    assert load_pair(silent, folders[WORDS]).end == (1,), "the tokenizer's"


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_both_models_are_in_the_precision_asked_for_and_evaluate(folders, dtype):
    pair = load_pair(folders[WORDS], folders[320], dtype=dtype)
    for model in (pair.target, pair.draft):
        assert {parameter.dtype for parameter in model.parameters()} == {getattr(torch, dtype)}
        assert not model.training


def test_tokenizers_that_differ_are_rejected_with_the_first_id_that_differs(folders, tmp_path):
    ours = {"a": 0, "b": 1, "c": 2}
    must_agree(("x", "y"), [ours, dict(ours)], 3)
    must_agree(("x", "y"), [{"a": 0, "b": 1, "<pad>": 2}, {"a": 0, "b": 1}], 2)  # no model has a row for it
    for other, said in (
        ({"a": 0, "c": 1, "b": 2}, "the tokenizers differ: id 1 is 'b' to x, and 'c' to y; expected"),
        ({"a": 0, "b": 1}, "id 2 is 'c' to x, and nothing to y"),
        ({**ours, "z": 0}, "id 0 is 'a' to x, and 'a' and 'z' to y"),
    ):
        with pytest.raises(InputError, match=said):
            must_agree(("x", "y"), [ours, other], 3)
    other = save(tmp_path / "other", rows=320, words=WORDS - 4)
    assert one_line(load_pair, folders[320], other).startswith(f"the tokenizers differ: id {WORDS - 4} is ")


def _lose_weights(folder):
    (folder / "model.safetensors").unlink()


def _lose_a_part(folder):
    _lose_weights(folder)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "model-1.safetensors"}}))


def _wrong_index(folder):
    _lose_weights(folder)
    (folder / "model.safetensors.index.json").write_text("[]")


def _cut_short(folder):
    (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:1000])


def _lose_a_weight(folder):
    """transformers would draw it at random, and only warn."""
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.0.mlp.up_proj.weight"]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_lose_weights, "not a checkpoint, it has no model.safetensors"),
        (_lose_a_part, "it has no model-1.safetensors"),
        (_wrong_index, "expected object, got array"),
        (_cut_short, "cannot be loaded ("),
        (_lose_a_weight, "its weights have no model.layers.0.mlp.up_proj.weight"),
        (lambda folder: (folder / "tokenizer.json").write_text("{"), "its tokenizer cannot be loaded ("),
        (lambda folder: (folder / "tokenizer.json").unlink(), "needs the packages sentencepiece and protobuf"),
        (lambda folder: (folder / "config.json").write_text('{"model_type": "none"}'), "its config.json cannot be"),
        (lambda folder: (folder / "config.json").unlink(), "not a checkpoint, it has no config.json"),
    ],
)
def test_a_folder_that_is_damaged_says_what_is_wrong(damage, said, folders, tmp_path, monkeypatch):
    monkeypatch.setattr("draftproof.models.pairs.loading.find_spec", lambda package: None)
    broken = shutil.copytree(folders[WORDS], tmp_path / "broken")
    damage(broken)
    message = one_line(load_pair, broken, folders[WORDS])
    assert message.startswith(str(broken)) and said in message


@pytest.mark.parametrize("name", ["./nowhere", "~/nowhere", "a/b/c"])
def test_a_folder_that_is_not_there_is_not_looked_up_on_the_hub(name, folders):
    said = f"{name}: no such folder; expected one with a checkpoint, or a name of the Hub"
    assert one_line(load_pair, name, folders[WORDS]) == said


def test_what_the_hub_s_cache_has_is_loaded_offline_with_its_commit_and_what_it_lacks_is_said(hub, folders):
    message = one_line(load_pair, NAME, folders[WORDS])
    assert message.startswith(f"{NAME}: not downloaded yet, and HF_HUB_OFFLINE is set; hf download {NAME}, or put its")
    assert str(hub.parent) in message and "(HF_HOME)" in message
    snapshot = hub / "snapshots" / COMMIT
    shutil.copytree(folders[320], snapshot)
    (hub / "refs").mkdir()
    (hub / "refs" / "main").write_text(COMMIT)
    model = transformers.AutoModelForCausalLM.from_pretrained(snapshot)
    (snapshot / "model.safetensors").unlink()
    model.save_pretrained(snapshot, max_shard_size="20KB")
    assert len([*snapshot.glob("model-*.safetensors")]) > 1
    pair = load_pair(NAME, folders[WORDS])
    assert (pair.names, pair.commits) == ((NAME, str(folders[WORDS])), (COMMIT, None))
    next(snapshot.glob("model-*.safetensors")).unlink()  # a download that was cut short
    assert "not downloaded yet" in one_line(load_pair, NAME, folders[WORDS])


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
    assert f"{NAME}: {message}" in one_line(load_pair, NAME, folders[WORDS])


def test_a_name_a_device_or_a_precision_that_there_is_not_is_an_error(hub, folders):
    same = folders[WORDS], folders[WORDS]
    assert one_line(load_pair, "no such name!", same[0]) == (
        "'no such name!': neither a folder nor a name of the Hub; expected OWNER/MODEL"
    )
    assert one_line(load_pair, *same, device="abacus").startswith("device 'abacus': not available here")
    assert (
        one_line(load_pair, *same, dtype="int8") == "dtype 'int8': expected one of float32, bfloat16, float16, float64"
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
    assert one_line(load_pair, folders[WORDS], folders[320], dtype="bfloat16").startswith(
        f"{folders[WORDS]}: out of memory in bfloat16 on cpu; expected a smaller model"
    )
