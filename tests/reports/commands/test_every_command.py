"""What all commands have in common: nothing heavy is imported to say what there is, files are checked first."""

import json
import subprocess
import sys
from functools import cache

import pytest
from click.testing import CliRunner

from draftproof import parametrize_with_checks
from draftproof.models.errors import InputError
from draftproof.reports.commands.list import LISTS
from draftproof.reports.commands.main import COMMANDS, ELSEWHERE, cli
from draftproof.tests.reports.commands.in_process import PAPER, Ended

HEAVY = (
    *("numpy", "scipy", "sympy", "flint", "torch", "transformers", "matplotlib", "z3", "numba", "jinja2", "markupsafe"),
    *("rich", "jsonschema", "hypothesis", "pytest", "sqlalchemy", "joblib", "distributed", "datasets", "openvino"),
)
HERE = [name for name in COMMANDS if name not in ELSEWHERE]

WITH_BOTH_FILES = {
    "audit": ("audit", "block"),
    "engine": ("engine", "transformers"),
    "e2e": ("e2e", "--target", "a", "--draft", "b"),
    "nightly run": ("nightly", "run", "block"),
    "nightly status": ("nightly", "status"),
    "campaign": ("campaign", "block", "--problem", PAPER),
}
WITH_JSON = {
    **WITH_BOTH_FILES,
    "law": ("law", "block", "--problem", PAPER),
    "prove": ("prove", "lemma-1"),
    "certificate": ("certificate", "--problem", PAPER),
}
HELP = {name: (name, "--help") for name in HERE}
LISTED = {name: ("list", name) for name in LISTS}
TWICE = {
    (name, *files): (*words, "--json", files[0], "--html", files[1])
    for name, words in WITH_BOTH_FILES.items()
    for files in (("same", "same"), ("same", "./same"), ("-", "-"))
}
NOWHERE = {name: (*words, "--json", "nowhere/r.json") for name, words in WITH_JSON.items()}


def blocked(commands, without, folder):
    """Run commands in one process in which these packages cannot be imported: no command's work has begun."""
    start = f"import json, sys; sys.modules.update(dict.fromkeys({without!r})); "
    start += "from draftproof.tests.reports.commands.in_process import draftproof; "
    start += "print(json.dumps([draftproof(*words) for words in json.loads(sys.argv[1])]))"
    words = [sys.executable, "-c", start, json.dumps([*commands])]
    done = subprocess.run(words, capture_output=True, text=True, timeout=3600, cwd=folder)
    assert done.returncode == 0, done.stderr
    return [Ended(*one) for one in json.loads(done.stdout)]


@pytest.fixture(scope="module")
def without_heavy(tmp_path_factory):
    """Gives what a command left where no heavy package can be imported; all were run in one process."""
    folder = tmp_path_factory.mktemp("empty")
    commands = [("--help",), *HELP.values(), *LISTED.values(), *TWICE.values(), *NOWHERE.values()]

    @cache
    def ended():
        made = dict(zip(commands, blocked(commands, HEAVY, folder), strict=True))
        assert not list(folder.iterdir()), "nothing is written before a command's work begins"
        return made

    return lambda words: ended()[words]


def test_the_group_knows_each_command_by_its_name(without_heavy):
    for name in HERE:
        command = cli.get_command(None, name)
        assert (command.name, bool(command.help)) == (name, True)
    shown = without_heavy(("--help",)).out
    assert all(f"  {name}" in shown and what in shown for name, what in COMMANDS.items())


def test_help_and_lists_import_no_heavy_package(without_heavy):
    for words in [*HELP.values(), *LISTED.values()]:
        done = without_heavy(words)
        assert (done.status, bool(done.out)) == (0, True), done.err
        assert "--help" not in words or done.out.startswith(f"Usage: draftproof {words[0]} ")


def test_a_file_that_is_named_twice_or_cannot_be_written_is_refused_before_any_work(without_heavy):
    for (_, _, second), words in TWICE.items():
        place = "standard output" if second == "-" else second
        line = f"draftproof: {place}: named by both --json and --html; expected different files\n"
        assert without_heavy(words) == (2, "", line)
    for words in NOWHERE.values():
        line = "draftproof: nowhere/r.json: cannot be written; expected a file in a folder that exists (DP205)\n"
        assert without_heavy(words) == (2, "", line)


def test_an_engine_whose_name_is_a_url_is_a_server():
    words = ["http://127.0.0.1:9", "--target", "nowhere", "--plain"]
    said = [CliRunner().invoke(cli, [name, *words]).output for name in ("engine", "server")]
    assert said[0] == said[1] and "No such option '--plain'" in said[0] and "server [OPTIONS] URL" in said[0]
    assert "No such option '--target'" in CliRunner().invoke(cli, ["engine", "transformers", "--target", "x"]).output


def test_proofs_without_z3_say_what_to_install_and_others_need_none(tmp_path):
    other = ("prove", "lemma-1", "--method", "enumeration", "--json", "rows.json")
    refused, done = blocked([("prove", "lemma-1"), other], ("z3",), tmp_path)
    assert refused == (2, "", "draftproof: z3 not found; install draftproof[prove] (DP301)\n")
    assert done.status == 0


def test_checks_without_pytest_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pytest", None)
    with pytest.raises(InputError, match=r"^pytest not found; install draftproof\[test\]$"):
        parametrize_with_checks(["block"])
