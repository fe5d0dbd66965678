"""The command draftproof tables: measured, killed, gone on with, refused."""

import json

import pytest
from click.testing import CliRunner

from draftproof.models.errors import InputError, OutOfMemoryError
from draftproof.tests.corpus.paper import tables_parts as parts
from draftproof_paper.commands.tables import command as tables

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    return parts.small_pair(tmp_path_factory.mktemp("pair"))


def run(*arguments):
    return CliRunner().invoke(tables, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def whole(pair, tmp_path_factory):
    """The folder of an unbroken run, and what it printed."""
    out = tmp_path_factory.mktemp("tables") / "out"
    done = run(*parts.arguments(pair, out))
    assert done.exit_code == 0, done.output
    return out, done.output


def test_all_columns_are_measured_and_what_must_be_equal_is(whole):
    out, message = whole
    report = json.loads((out / "tables.json").read_text())
    assert report["cells"] == {"measured": 9, "of": 9}  # 3 prompts: 2 seeds at T = 1, one at T = 0
    assert [e["verdict"] for e in report["equalities"]] == ["holds"] * 5
    settings = next(table for table in report["tables"] if table["label"] == "All settings")["rows"]
    assert len(settings) == 2 * 2 + 2 * 3  # gamma = 1 at T = 1 alone
    for row in settings:
        assert all(cell["here"]["value"] > 0 for cell in row["cells"] if cell["here"])
    assert {"tables.html", "tables.md", "tables.json", "cells.jsonl"} == {file.name for file in out.iterdir()}
    assert f"{'written':<11} {out}: tables.html, tables.md, tables.json (9 of 9 cells)" in message


def test_a_second_run_measures_nothing_and_writes_the_same(whole, pair, monkeypatch):
    from draftproof_paper.tables import measure

    out, _ = whole
    before = {name: (out / name).read_bytes() for name in ("tables.json", "tables.html", "tables.md", "cells.jsonl")}
    monkeypatch.setattr(measure.Bench, "cell", None)
    assert run(*parts.arguments(pair, out)).exit_code == 0
    assert {name: (out / name).read_bytes() for name in before} == before


def test_memory_that_runs_out_keeps_what_was_measured_and_is_status_3(pair, tmp_path, monkeypatch):
    from draftproof_paper.tables import measure

    cell, done = measure.Bench.cell, []

    def full(self, at):
        if len(done) == 2:
            raise OutOfMemoryError("out of memory on cpu with 1 prompts; expected fewer or shorter ones")
        done.append(at)
        return cell(self, at)

    monkeypatch.setattr(measure.Bench, "cell", full)
    stopped = run(*parts.arguments(pair, tmp_path / "out"))
    assert stopped.exit_code == 3
    assert stopped.output.splitlines()[-1].startswith("draftproof: out of memory on cpu with 1 prompts; expected fewer")
    assert "2 of 9 cells are in" in stopped.output.splitlines()[-1]
    report = json.loads((tmp_path / "out" / "tables.json").read_text())
    assert report["cells"] == {"measured": 2, "of": 9}
    assert "2 of 9 cells; the run was cut short" in (tmp_path / "out" / "tables.html").read_text()


def refused(*arguments):
    done = run(*arguments)
    assert isinstance(done.exception, InputError), done.output
    assert "\n" not in str(done.exception)
    return str(done.exception)


@pytest.mark.parametrize(("more", "message"), [(["--gamma", "2"], "gammas 2, 3, and 2 is asked for")])
def test_a_folder_measured_with_other_settings_is_refused_and_left_as_it_is(whole, pair, more, message):
    out, _ = whole
    before = (out / "cells.jsonl").read_bytes()
    assert refused(*parts.arguments(pair, out, *more)).startswith(f"{out / 'cells.jsonl'}: was begun with {message}")
    assert (out / "cells.jsonl").read_bytes() == before


def test_a_folder_with_something_else_a_file_and_a_damaged_record_are_refused(whole, pair, tmp_path):
    (tmp_path / "mine").touch()
    assert refused(*parts.arguments(pair, tmp_path)).startswith(f"{tmp_path}: is not empty")
    assert (
        refused(*parts.arguments(pair, tmp_path / "mine"))
        == f"{tmp_path / 'mine'}: is a file; expected a folder, or a new name"
    )
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    head = (whole[0] / "cells.jsonl").read_bytes().splitlines(keepends=True)[0]
    wrong = (
        (b"{}\n", "no file of tables, or of a version before 0.2"),
        (head + b"{}\n", "line 2 is not what was written there"),
    )
    for content, said in wrong:
        (damaged / "cells.jsonl").write_bytes(content)
        message = refused(*parts.arguments(pair, damaged))
        assert message == f"{damaged / 'cells.jsonl'}: {said}; it was not changed"


def test_what_cannot_be_loaded_or_does_not_fit_is_bad_input(pair, tmp_path):
    out = tmp_path / "out"
    small, other = pair / "small-draft", ["--gamma", "2", "--prompts", "2"]
    named = ["--out", out, "--target", pair / "target", "--draft", pair / "draft"]
    (tmp_path / "empty").mkdir()
    assert "not a checkpoint, it has no config.json" in refused(
        "--out", out, "--target", tmp_path / "empty", "--draft", small
    )
    assert "not available here; expected one of cpu" in refused(*named, "--device", "cuda:7")
    assert "8 prompts, and 9 were asked for" in refused(*named, "--gamma", "2", "--prompts", "9", "--new-tokens", "4")
    assert "expected at most 64, the context of" in refused(*named, *other, "--new-tokens", "99")
    assert "no such prompts; expected a JSON Lines file or one of" in refused(*named, *other, "--data", "nowhere")
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--gamma", "0"], "expected whole numbers from 1 to 64 joined by commas, got '0'"),
        (["--temperature", "-1"], "expected numbers from 0 to 100 joined by commas, got '-1'"),
        (["--temperature", "1e-45"], "1e-45: expected 0 or at least 1e-06"),
        (["--data", ","], "--data ',': expected a list of names, joined by commas"),
        (["--verifiers", "token,best"], "'best' is not one of token, block, greedy-block"),
        (["--preset", "gpt2", "--target", "x", "--draft", "y"], "expected either --preset, or --target"),
        (["--target", "x", "--draft", "y", "--draft", "y"], "the same --draft twice"),
    ],
)
def test_wrong_use_is_status_2_and_one_line_says_why(arguments, message, tmp_path):
    done = run("--out", tmp_path / "out", *arguments)
    assert done.exit_code == 2
    assert message in done.output
    assert not (tmp_path / "out").exists()


def test_a_preset_is_measured_with_the_drafters_that_are_named(monkeypatch, tmp_path):
    plans = []
    monkeypatch.setattr("draftproof_paper.commands.tables._measure_and_write", lambda folder, plan: plans.append(plan))
    assert run("--preset", "gpt2", "--draft", "a", "--draft", "b", "--out", tmp_path / "out").exit_code == 0
    assert run("--preset", "gpt2", "--out", tmp_path / "out").exit_code == 0
    assert [plan.drafts for plan in plans] == [("a", "b"), ("openai-community/gpt2",)]
    assert {plan.target for plan in plans} == {"openai-community/gpt2-xl"}


def test_several_paths_are_measured_beside_single_ones_and_fill_table_5(pair, tmp_path):
    words = ["--target", pair / "target", "--draft", pair / "draft", "--out", tmp_path / "out"]
    words += [
        "--gamma",
        "8",
        "--temperature",
        "1",
        "--seeds",
        "1",
        "--prompts",
        "3",
        "--new-tokens",
        "8",
        "--batch",
        "2",
    ]
    words += ["--verifiers", "token,block,k-seq,spec-infer"]
    done = run(*words)
    assert done.exit_code == 0, done.output
    assert "k-seq > spec-infer, by calls of two runs" in done.output
    report = json.loads((tmp_path / "out" / "tables.json").read_text())
    assert report["settings"]["paths"] == 2
    table = next(table for table in report["tables"] if table["label"] == "Table 5")
    overall = next(row for row in table["rows"] if row["name"] == "all prompts")
    assert all(cell["here"]["value"] > 0 for cell in overall["cells"])
    refused = run(*words, "--paths", "3")
    assert isinstance(refused.exception, InputError) and "was begun with paths 2, and 3 is asked for" in str(
        refused.exception
    )
