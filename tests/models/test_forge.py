"""Forged checkpoints: transformers gives the problem's law back, zeros exactly, whatever the prefix and the padding."""

import json
import os
import re
from itertools import product
from math import exp, log

import pytest
import torch

from draftproof.models import forge as module
from draftproof.models.battery import drawn, drawn_markov, toy
from draftproof.models.errors import InputError
from draftproof.models.forge import as_markov, forge, forged_problem, law_of_checkpoint
from draftproof.models.generating.caches import cache_argument, cache_of
from draftproof.models.law import Markov, Table
from draftproof.models.libraries import DTYPES
from draftproof.models.problem import Problem, as_json, problem_from
from draftproof.tests.refusals import one_line

pytestmark = pytest.mark.engine

SMALL = drawn_markov(3, 2, "zeros")


def rows(model: Markov):
    return [model.start, *model.after]


def furthest(law, exact, vocabulary):
    """The largest difference of two entries; zeros have to be exact."""
    pairs = [
        (float(p), q)
        for row, other in zip(rows(as_markov(exact, vocabulary, "exact")), rows(law), strict=True)
        for p, q in zip(row, other, strict=True)
    ]
    assert all(q == 0 for p, q in pairs if p == 0)
    return max(abs(p - q) for p, q in pairs)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return forge(SMALL, tmp_path_factory.mktemp("forged") / "new" / "folder")


@pytest.mark.parametrize(
    "problem",
    [toy(3), drawn_markov(5, 2, "peaked"), drawn_markov(63, 2, "zeros"), drawn_markov(64, 2, "mixed")],
    ids=lambda p: p.name,
)
def test_the_law_comes_back_to_a_millionth_and_zeros_are_exact(problem, tmp_path):
    forged = forge(problem, tmp_path)
    assert furthest(law_of_checkpoint(forged.target), problem.target, problem.vocabulary) < 1e-6
    assert furthest(law_of_checkpoint(forged.draft), problem.draft, problem.vocabulary) < 1e-6


def test_the_law_after_longer_texts_is_that_after_their_last_token_with_and_without_a_cache(small):
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(small.target).eval()
    texts = torch.tensor([[small.start, *text] for text in product(range(3), repeat=3)])
    with torch.no_grad():
        whole = model(texts).logits.softmax(-1)
        padded = torch.cat([torch.full((len(texts), 2), small.start + 1), texts], 1)
        mask = torch.ones_like(padded).index_fill(1, torch.tensor([0, 1]), 0)
        behind_padding = model(padded, attention_mask=mask).logits[:, 2:].softmax(-1)
        first = model(texts[:, :2], use_cache=True)
        rest = model(texts[:, 2:], **{cache_argument(model): cache_of(first)}).logits.softmax(-1)
    expected = [[list(map(float, SMALL.target.row(tuple(t[1 : i + 1])))) for i in range(4)] for t in texts.tolist()]
    for law in (whole, behind_padding, torch.cat([first.logits.softmax(-1), rest], 1)):
        assert (law[..., :3] - torch.tensor(expected)).abs().max() < 1e-6
        assert law[..., 3:].max() == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_in_every_precision_logits_are_finite_zeros_are_exact_and_the_rest_is_off_by_rounding_alone(dtype, tmp_path):
    from transformers import AutoModelForCausalLM

    precision = getattr(torch, dtype)
    forged = forge(drawn_markov(8, 1, "zeros"), tmp_path, 40, dtype)
    model = AutoModelForCausalLM.from_pretrained(forged.target).eval().to(precision)
    assert model.lm_head.weight.dtype == precision
    with torch.no_grad():
        logits = model(torch.tensor([[8, *range(8)]])).logits[0]
    assert logits.dtype == precision
    assert logits.isfinite().all()
    exact = as_markov(drawn_markov(8, 1, "zeros").target, 8, "target")
    possible = torch.zeros(9, 40, dtype=torch.bool)
    possible[:, :8] = torch.tensor([[p > 0 for p in row] for row in rows(exact)])
    for temperature in (0.2, 1.0, 10.0):
        assert ((logits / temperature).softmax(-1)[~possible] == 0).all()
    # Two roundings a logit, of the weight and of the result (float32 within transformers for float64).
    unit = max(torch.finfo(precision).eps, torch.finfo(torch.float32).eps)
    law = law_of_checkpoint(forged.target)
    for row, other in zip(rows(exact), rows(law), strict=True):
        off = 2 * unit * max(-log(p) for p in row if p)
        assert all(abs(float(p) - q) <= float(p) * (exp(2 * off) - 1) + 1e-7 for p, q in zip(row, other, strict=True))


def test_the_tokenizer_takes_texts_to_tokens_and_back_and_sampling_truncates_nothing(small):
    from transformers import AutoTokenizer, GenerationConfig

    for folder in (small.target, small.draft):
        tokenizer = AutoTokenizer.from_pretrained(folder)
        assert tokenizer("0 2 1").input_ids == [small.start, 0, 2, 1]
        assert tokenizer("").input_ids == [small.start]
        assert tokenizer.decode([small.start, 0, 2, 1], skip_special_tokens=True) == "0 2 1"
        assert [tokenizer.decode([t]) for t in range(5)] == ["0", "1", "2", "<s>", "</s>"]
        assert (tokenizer.bos_token_id, tokenizer.eos_token_id) == (3, 4)
        assert tokenizer("0 a,b 1").input_ids == [3, 0, 4, 1], "engines try words of their own"
        found = GenerationConfig.from_pretrained(folder)
        assert (found.do_sample, found.temperature, found.top_k, found.top_p) == (True, 1.0, 0, 1.0)


def test_a_pair_for_several_devices_has_the_same_law_and_divides_over_them(tmp_path):
    forged = forge(SMALL, tmp_path, shards=4)
    assert furthest(law_of_checkpoint(forged.target), SMALL.target, 3) < 1e-6
    config = json.loads((forged.target / "config.json").read_text())
    sizes = ("num_attention_heads", "num_key_value_heads", "intermediate_size", "hidden_size")
    assert all(config[size] % 4 == 0 for size in sizes)
    with pytest.raises(InputError, match="tensor parallel 65: expected 1 to 64 devices"):
        forge(SMALL, tmp_path / "more", shards=65)


def test_every_user_may_read_what_is_forged_whatever_the_umask(tmp_path):
    before = os.umask(0o077)
    try:
        forge(SMALL, tmp_path / "pair")
    finally:
        os.umask(before)
    for path in (tmp_path / "pair", *(tmp_path / "pair").rglob("*")):
        wanted = 0o555 if path.is_dir() else 0o444
        assert path.stat().st_mode & wanted == wanted, path


def test_a_chat_of_one_message_has_the_tokens_of_its_content_as_a_prompt(small):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(small.target)
    for text, tokens in (("0 2 1", [3, 0, 2, 1]), ("", [3]), ("<s>", [3, 3])):
        said = tokenizer.apply_chat_template([{"role": "user", "content": text}], tokenize=False)
        assert tokenizer(said, add_special_tokens=False).input_ids == tokens


def test_a_table_that_is_of_order_one_is_forged_and_one_that_is_not_is_refused_by_its_first_such_row(tmp_path):
    written_out = SMALL.tabulated()
    assert as_markov(written_out.target, 3, "target") == as_markov(SMALL.target, 3, "target")
    forged = forge(written_out, tmp_path / "a")
    assert furthest(law_of_checkpoint(forged.target), SMALL.target, 3) < 1e-6
    changed = dict(written_out.target.rows)
    changed[2, 1] = changed[0,]
    with pytest.raises(InputError, match='target: the row after "2,1" is not the row after "1"; a checkpoint can be'):
        forge(Problem(3, 2, Table(changed, "target"), SMALL.draft), tmp_path / "b")
    assert not (tmp_path / "b").exists()


def pair(target, draft=None, vocabulary=2, gamma=1):
    draft = draft or ["1/2", "1/2"]
    return problem_from({"vocabulary": vocabulary, "gamma": gamma, "target": target, "draft": draft})


@pytest.mark.parametrize(
    ("problem", "options", "message"),
    [
        (drawn(3, 2, "generic"), {}, 'target: the row after "0,0" is not the row after "0"'),
        (SMALL.after((0,)), {"dtype": "float8"}, "dtype 'float8': expected one of float32"),
        (pair(["1/65"] * 65, ["1/65"] * 65, 65), {}, "vocabulary 65: a checkpoint can be forged for 2 to 64 tokens"),
        (pair(["1"], ["1"], 1), {}, "vocabulary 1: a checkpoint can be forged for 2 to 64 tokens"),
        (pair(["1/2", "1/2"], {"": ["1", "0"]}), {}, 'draft: no row for the prefix "0"'),
        (pair(["1e-40", f"0.{'9' * 40}"]), {}, 'target: token 0 after "" has a probability below 1e-37'),
        (SMALL, {"vocabulary_size": 4}, r"vocabulary size 4: expected 5 \(the problem's 3 tokens, <s> and </s>\)"),
    ],
)
def test_what_cannot_be_forged_is_refused_in_one_line_before_anything_is_written(problem, options, message, tmp_path):
    assert re.search(message, one_line(forge, problem, tmp_path / "out", **options))
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_used_is_refused_in_one_line(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(InputError, match=r"is not empty; expected a folder that is new or empty"):
        forge(SMALL, tmp_path)
    for folder in (file, file / "below"):
        with pytest.raises(InputError, match=r"cannot be written \((Not a directory|File exists)\)"):
            forge(SMALL, folder)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "save_checkpoint", full)
    with pytest.raises(InputError, match=r"out/target: cannot be written \(No space left on device\)"):
        forge(SMALL, tmp_path / "out")


def test_a_checkpoint_that_is_not_forged_damaged_or_gives_mass_to_an_id_beyond_is_refused(small, tmp_path):
    from transformers import AutoModelForCausalLM

    with pytest.raises(InputError, match="not a forged checkpoint"):
        law_of_checkpoint(tmp_path)
    (tmp_path / "config.json").write_text((small.target / "config.json").read_text())
    with pytest.raises(InputError, match=r"cannot be loaded \("):
        law_of_checkpoint(tmp_path)

    forged = forge(SMALL, tmp_path / "forged")
    model = AutoModelForCausalLM.from_pretrained(forged.target)
    model.lm_head.weight.data[4, 3] = 0.0
    model.save_pretrained(tmp_path / "changed")
    with pytest.raises(InputError, match=r"ids from 3 on have the probability 0\.5, expected 0"):
        law_of_checkpoint(tmp_path / "changed")


def test_gguf_files_have_the_weights_the_ids_and_a_character_for_each_token(tmp_path):
    gguf = pytest.importorskip("gguf", reason="needs gguf: pip install draftproof[transformers]")
    from safetensors.numpy import load_file

    forged = forge(SMALL, tmp_path, 8, gguf=True)
    assert as_json(forged_problem(tmp_path)) == as_json(forged_problem(tmp_path / "draft.gguf")) == as_json(SMALL)
    for folder in (forged.target, forged.draft):
        reader = gguf.GGUFReader(folder.with_suffix(".gguf"))
        field = {name: field.contents() for name, field in reader.fields.items()}
        assert field["tokenizer.ggml.tokens"] == ["0", "1", "2", "<s>", "</s>", "<unused0>", "<unused1>", "<unused2>"]
        assert field["tokenizer.ggml.bos_token_id"] == 3 and field["tokenizer.ggml.eos_token_id"] == 4
        tensors = {t.name: t.data for t in reader.tensors}
        weights = load_file(folder / "model.safetensors")
        assert len(tensors) == len(weights) == 12
        assert (tensors["output.weight"] == weights["lm_head.weight"]).all()
        assert (tensors["token_embd.weight"] == weights["model.embed_tokens.weight"]).all()
    with pytest.raises(InputError, match="a GGUF file is written from weights in float32"):
        forge(SMALL, tmp_path / "half", dtype="float16", gguf=True)
