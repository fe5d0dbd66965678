"""What changed a verdict: releases of a real index on this machine, commits of a real git repository."""

import json
import subprocess

import msgspec
import pytest
from click.testing import CliRunner

from draftproof.models.errors import InputError, RunFailed
from draftproof.reports.commands.main import cli
from draftproof_engines.bisect import Bisection, bisected
from draftproof_engines.releases import HISTORIES, commits, releases
from draftproof_engines.releases_audit import history_of, read
from draftproof_engines.releases_page import lines_of_bisection

from .test_releases_audit import RIGHT, WRONG, few, index, put, wheel  # noqa: F401  fixtures are found by name


def between(history, old, new):
    """The releases from one version to another, as the index has them."""
    every = releases(history)
    names = [release.version for release in every]
    return lambda: every[names.index(old) : names.index(new) + 1]


def renamed(text, name):
    """A text with the same law."""
    return text.replace("residual", name)


@pytest.fixture
def toy_named(index, monkeypatch):  # noqa: F811
    """The history of the index under its name, as a command finds it."""
    monkeypatch.setitem(HISTORIES, "toy", index)
    return index


@pytest.mark.long
def test_a_release_is_named_and_verdicts_that_go_back_and_forth_are_told(index, few, tmp_path):  # noqa: F811
    kept = tmp_path / "kept"
    found = bisected(read(index, between(index, "1.0", "1.10"), kept), kept)
    assert (found.before, found.after) == ("1.4", "1.10")
    assert len(found.texts) == 2 and "-            residual = target[i]" in found.difference
    said = [*lines_of_bisection(found)]
    assert "1.4: **refuted**: lossless on" in said[0] and "1.10: not refuted on" in said[1]
    assert "the verdict of 1.10 came with 1.10" in said
    assert "it changed elsewhere too: 1.0..1.1, 1.2..1.3" in said and "looked at 2 of 2 texts in 6 releases" in said[4]

    one = bisected(read(index, between(index, "1.1", "1.4"), kept), kept)  # nothing is audited anew
    assert (one.before, one.after) == ("1.2", "1.3") and one.difference.startswith("--- 1.2/toy/rule.py")
    same = bisected(read(index, between(index, "1.1", "1.10"), kept), kept)
    assert (same.before, same.after, same.difference) == ("", "", "")
    assert [row.version for row in same.releases if not same.seen(row)] == ["1.3", "1.4"]
    assert "not looked at, where it may have changed and changed back: 1.3, 1.4" in [*lines_of_bisection(same)]
    history = history_of(index, kept)
    assert history.texts == found.texts  # and the history has the same verdicts from the same store


ANY = "py3-none-any.whl"


@pytest.mark.long
def test_what_cannot_be_examined_is_passed_over_and_named(index, few, tmp_path):  # noqa: F811
    raises = RIGHT.replace("for i", "raise OSError\n    for i")
    put(tmp_path / "served", {
        f"toy-1.1-{ANY}": wheel("", RIGHT), f"toy-1.2-{ANY}": wheel("", "def verify(:"),
        f"toy-1.3-{ANY}": wheel("", raises), f"toy-1.4-{ANY}": wheel("", WRONG),
    })  # fmt: skip
    kept = tmp_path / "kept"
    found = bisected(read(index, between(index, "1.1", "1.4"), kept), kept)
    assert (found.before, found.after) == ("1.1", "1.4")
    said = "\n".join(lines_of_bisection(found))
    assert "1.2 could not be examined: toy/rule.py does not parse" in said and "1.3 could not be examined: " in said
    with pytest.raises(RunFailed, match=r"1\.2: not examined: toy/rule\.py does not parse"):
        bisected(read(index, between(index, "1.1", "1.2"), kept), kept)
    with pytest.raises(RunFailed, match=r"1\.3: "):
        bisected(read(index, between(index, "1.1", "1.3"), kept), kept)


@pytest.fixture
def repository(tmp_path):
    """A git repository in which a merged branch broke the verifier, which lies in src; its commits by name."""
    made = tmp_path / "repository"
    (made / "src" / "toy").mkdir(parents=True)
    named = {}

    def git(*arguments):
        who = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main")
        return subprocess.run(["git", "-C", made, *who, *arguments], check=True, capture_output=True, text=True).stdout

    def commit(name, **files):
        for path, text in files.items():
            (made / {"rule": "src/toy/rule.py"}.get(path, path)).write_text(text, encoding="utf-8")
        git("add", "-A")
        git("commit", "-q", "--allow-empty", "-m", name)
        named[name] = git("rev-parse", "--short=12", "HEAD").strip()

    git("init", "-q")
    commit("none", other="")
    commit("right", rule=RIGHT)
    commit("other", other="more")
    commit("renamed", rule=renamed(RIGHT, "rest"))
    git("checkout", "-q", "-b", "side")
    commit("half", rule=renamed(RIGHT, "half"))
    commit("wrong", rule=WRONG)
    git("checkout", "-q", "main")
    commit("beside", other="again")
    git("merge", "-q", "--no-ff", "-m", "merge", "side")
    named["merge"] = git("rev-parse", "--short=12", "HEAD").strip()
    commit("still", rule=renamed(WRONG, "rest"))
    commit("last", rule=renamed(WRONG, "left"))
    return made, named


def test_a_commit_is_named_along_first_parents_by_four_audits_of_five_texts(toy_named, few, repository, tmp_path):  # noqa: F811
    folder, named = repository
    listed = commits(toy_named, folder, named["right"], "main")
    assert [one.version for one in listed] == [named[name] for name in ("right", "renamed", "merge", "still", "last")]
    result = CliRunner().invoke(
        cli, ["bisect", "toy", named["right"], "main", "--repository", str(folder), "--out", str(tmp_path / "kept"),
              "--json", str(tmp_path / "found.json")],
    )  # fmt: skip
    found = msgspec.json.decode((tmp_path / "found.json").read_bytes(), type=Bisection)
    assert (found.before, found.after) == (named["renamed"], named["merge"]), result.output
    assert result.exit_code == 1 and f"toy {named['last']}: refuted" in result.output
    assert f"the verdict of {named['last']} came with {named['merge']}" in result.output
    assert f"not looked at, where it may have changed and changed back: {named['still']}\n" in result.output
    assert "looked at 4 of 5 texts in 5 releases or commits" in result.output
    assert "+            residual = target[i]" in result.output
    rows = (tmp_path / "kept" / "texts.jsonl").read_text(encoding="utf-8").splitlines()[1:]
    assert len({json.loads(row)["key"][2] for row in rows}) == len(rows) == 4


@pytest.mark.parametrize(
    ("ends", "says"),
    [
        (("nothing", "main"), "git rev-parse: "), (("wrong", "main"), "not on the line of first parents"),
        (("none", "none"), r"none of 1 releases has toy/rule\.py"),
    ],
)  # fmt: skip
def test_commits_that_are_not_there_are_one_line(index, repository, tmp_path, ends, says):  # noqa: F811
    folder, named = repository
    with pytest.raises(InputError, match=says):
        read(index, lambda: commits(index, folder, *(named.get(end, end) for end in ends)), tmp_path / "kept")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["no-engine", "1", "2"], "expected one of transformers"), (["toy", "1.1", "new"], "expected a release"),
        (["toy", "1.1", "3.0"], "toy has no release 3.0 from 1.0 on"), (["toy", "1.4", "1.1"], "1.1 is older than 1.4"),
    ],
)  # fmt: skip
def test_wrong_use_is_one_line(toy_named, tmp_path, arguments, says):
    result = CliRunner().invoke(cli, ["bisect", *arguments, "--out", str(tmp_path)])
    assert isinstance(result.exception, InputError) and says in str(result.exception)
    assert result.exit_code != 0
