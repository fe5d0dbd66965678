"""A run of a compliance plan, with words that would break a page which does not escape them."""

import json
import shutil
from functools import cache

import pytest

from draftproof.reports.audits.compliance.collecting import collect
from draftproof.reports.audits.compliance.plan import load_plan
from draftproof.reports.pages.compliance import folder as folder_of_run
from draftproof.reports.pages.compliance import verification
from draftproof.reports.pages.compliance.folder import write_folder
from draftproof.reports.pages.compliance.page import page, pdf
from draftproof.tests.reports.audits.compliance.compliance_parts import plan_text

CODE = """
def f(target_probs, draft_probs, draft_tokens, rng):
    x = draft_tokens[0]
    if rng.random() * draft_probs[0][x] < target_probs[0][x]:
        return [x, rng.choice(2, p=target_probs[1])]
    return [1 - x]
"""
EVIL = '<script>alert(1)</script> & ]]> \\" é'
PROBLEM = '{"name": "paper", "vocabulary": 2, "gamma": 1, "target": ["1/3", "2/3"], "draft": ["2/3", "1/3"]}'
PLAN = plan_text(
    {
        "mine": f'kind = "audit"\nsubject = "mine.py:f"\nproblems = [\'{PROBLEM}\']',
        "rules": 'kind = "proofs"\nclaims = ["lemma-8"]',
        "server": f'kind = "server"\nurl = "http://{EVIL}"\ntarget = "x"',
    },
    {
        "R1": f'statement = "It is lossless on one problem {EVIL}"\nclaim = "lossless"\nparts = ["mine"]',
        "R2": 'statement = "The server is lossless"\nclaim = "lossless"\nparts = ["server"]',
        "R3": 'statement = "Lemma 8"\nclaim = "lemma-8"\nparts = ["rules"]',
    },
)


@cache
def page_of(document):
    return page(json.loads(document))


@pytest.fixture(scope="package", autouse=True)
def drawn_once():
    """Draw equal pages, figures and PDFs once for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        once = cache(pdf)
        patch.setattr(folder_of_run, "page", lambda document: page_of(json.dumps(document)))
        patch.setattr(folder_of_run, "pdf", once)
        patch.setattr(verification, "pdf", once)
        yield


@pytest.fixture(scope="package")
def run(tmp_path_factory):
    """The folder of a plan with its run in ``out``, whose date is that of SOURCE_DATE_EPOCH."""
    here = tmp_path_factory.mktemp("compliance")
    (here / "mine.py").write_text(CODE)
    (here / "compliance.toml").write_text(PLAN, encoding="utf-8")
    plan = load_plan(here / "compliance.toml")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "1700000000")
        assert write_folder(here / "out", plan, [*collect(plan, here / "out")]).no_pdf is None
    return here


@pytest.fixture(scope="package")
def made(run):
    """The document of the run."""
    return json.loads((run / "out" / "report.json").read_text(encoding="utf-8"))


@pytest.fixture
def folder(run, tmp_path):
    """A copy of the run's folder, to be changed."""
    shutil.copytree(run, tmp_path / "run")
    return tmp_path / "run" / "out"
