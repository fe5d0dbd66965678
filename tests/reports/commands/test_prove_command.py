"""``draftproof prove``: one row a claim, method and size; what is undecided is said, what is refuted exits with 1."""

import json
import os
import re
import subprocess
import sys

import pytest

from draftproof.proofs.statements import PROVABLE_CLAIMS

pytestmark = pytest.mark.certificate


def prove(*arguments, start="from draftproof.reports.commands.main import main; main()", env=None):
    return subprocess.run(
        [sys.executable, "-c", start, "prove", *arguments], capture_output=True, text=True, timeout=3600, env=env
    )


def test_the_rows_have_the_fields_of_the_contract():
    done = prove("lemma-1", "theorem-3", "--method", "enumeration", "--json", "-")
    rows = json.loads(done.stdout)
    assert done.returncode == 0
    assert [(row["claim"], row["method"], row["verdict"]) for row in rows] == [
        ("lemma-1", "enumeration", "holds"),
        ("theorem-3", "enumeration", "holds"),
    ]
    assert all(row["seconds"] >= 0 and "gamma" in row["size"] for row in rows)
    assert "2 of 2 proofs run" in done.stderr


def test_the_list_names_every_claim_and_proves_nothing():
    done = prove("--list")
    assert done.returncode == 0
    assert {line.split()[0] for line in done.stdout.splitlines()} == set(PROVABLE_CLAIMS)
    assert not re.search(r"\bholds\b", done.stdout)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lemma-77"], "no claim 'lemma-77'; did you mean lemma-7?"),
        (["lemma-2", "--method", "sympy"], "lemma-2: no proof by sympy"),
        (["--method", "magic"], "'magic' is not one of enumeration"),
        (["lemma-1", "--json", "/nowhere/rows.json"], "cannot be written"),
    ],
)
def test_bad_input_is_one_clear_line(arguments, message):
    done = prove(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_missing_coq_is_no_evidence_and_never_a_proof(tmp_path):
    env = {**os.environ, "PATH": str(tmp_path)}
    done = prove("lemma-9", "--method", "coq", "--json", "-", env=env)
    (row,) = json.loads(done.stdout)
    assert (done.returncode, row["verdict"]) == (0, "no-evidence")
    assert "is not installed" in row["detail"]
    assert prove("lemma-9", "--method", "coq", "--require-decision", env=env).returncode == 4


WRONG = """
from draftproof.verifiers.registry import REFERENCES
REFERENCES["block"] = REFERENCES["token"]._replace(name="block")
{more}
from draftproof.reports.commands.main import main; main()
"""


def test_a_refuted_claim_exits_with_1_and_shows_where():
    done = prove("lemma-3", "--method", "enumeration", start=WRONG.format(more=""))
    assert done.returncode == 1
    assert "lemma-3 by enumeration, block: refuted: on " in done.stdout


def test_a_proof_that_breaks_down_is_an_error_and_the_others_go_on():
    more = 'REFERENCES["greedy-block"] = None'
    done = prove("lemma-1", "theorem-3", "--method", "enumeration", "--json", "-", start=WRONG.format(more=more))
    verdicts = [row["verdict"] for row in json.loads(done.stdout)]
    assert verdicts == ["refuted", "error"]
    done = prove("theorem-3", "--method", "enumeration", start=WRONG.format(more=more))
    assert done.returncode == 3
    assert "AttributeError" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
