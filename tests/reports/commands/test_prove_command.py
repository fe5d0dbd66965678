"""``draftproof prove``: one row a claim, method and size; what is undecided is said, what is refuted exits with 1."""

import json
import re

import pytest

from draftproof.proofs.statements import PROVABLE_CLAIMS
from draftproof.tests.reports.commands.in_process import draftproof
from draftproof.verifiers.registry import REFERENCES

pytestmark = pytest.mark.certificate


def prove(*arguments):
    return draftproof("prove", *arguments)


def test_the_rows_have_the_fields_of_the_contract():
    done = prove("lemma-1", "theorem-3", "--method", "enumeration", "--json", "-")
    rows = json.loads(done.out)
    assert done.status == 0
    assert [(row["claim"], row["method"], row["verdict"]) for row in rows] == [
        ("lemma-1", "enumeration", "holds"),
        ("theorem-3", "enumeration", "holds"),
    ]
    assert all(row["seconds"] >= 0 and "gamma" in row["size"] for row in rows)
    assert "2 of 2 proofs run" in done.err


def test_the_report_is_the_same_whatever_the_number_of_jobs():
    def rows(jobs):
        done = prove("lemma-3", "lemma-1", "--method", "enumeration,z3", "--json", "-", "--jobs", jobs)
        return [row | {"seconds": 0} for row in json.loads(done.out)]

    assert rows("1") == rows("2") != []
    assert prove("lemma-1", "--jobs", "0").status == 2


def test_the_list_names_every_claim_and_proves_nothing():
    done = prove("--list")
    assert done.status == 0
    assert {line.split()[0] for line in done.out.splitlines()} == set(PROVABLE_CLAIMS)
    assert not re.search(r"\bholds\b", done.out)


def test_a_missing_coq_is_no_evidence_and_never_a_proof(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    done = prove("lemma-9", "--method", "coq", "--json", "-")
    (row,) = json.loads(done.out)
    assert (done.status, row["verdict"]) == (0, "no-evidence")
    assert "is not installed" in row["detail"]
    assert prove("lemma-9", "--method", "coq", "--require-decision").status == 4


def test_a_refuted_claim_exits_with_1_and_a_proof_that_breaks_down_is_an_error(monkeypatch):
    monkeypatch.setitem(REFERENCES, "block", REFERENCES["token"]._replace(name="block"))
    done = prove("lemma-3", "--method", "enumeration")
    assert (done.status, "lemma-3 by enumeration, block: refuted: on " in done.out) == (1, True)
    monkeypatch.setitem(REFERENCES, "greedy-block", None)
    done = prove("lemma-1", "theorem-3", "--method", "enumeration", "--json", "-")
    assert [row["verdict"] for row in json.loads(done.out)] == ["refuted", "error"]
    done = prove("theorem-3", "--method", "enumeration")
    assert (done.status, "AttributeError" in done.out, "Traceback" in done.out + done.err) == (3, True, False)
