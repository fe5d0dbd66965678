"""Make the kept reports anew: python -m draftproof.tests.reports.golden.make, in a clone with the extra ``dev``.

Each is a small run of the code as it is.
Look at the difference before it is committed. Names of PARTS make those alone.
"""

import os
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np

from draftproof import audit
from draftproof.models.battery import drawn, toy
from draftproof.models.json_files import json_text, plain
from draftproof.reports.audits.compliance.collecting import collect
from draftproof.reports.audits.compliance.document import document, versions_in_use
from draftproof.reports.audits.compliance.plan import load_plan
from draftproof.reports.audits.nightly.checks import CheckCounts, check_of
from draftproof.reports.audits.nightly.history import History
from draftproof.reports.audits.nightly.run import Night, run_night
from draftproof.reports.audits.nightly.status import status
from draftproof.reports.audits.subject import subject_from
from draftproof.tests.reports.audits.compliance.compliance_parts import plan_text
from draftproof.tests.reports.audits.nightly.parts import RIGHT, WRONG

from . import FOLDER

EVIL = """
def verify(target_probs, draft_probs, draft_tokens, rng):
    if rng.random() < 0.5:
        raise ValueError('<script>alert("x")</script>\\x1b[2J\\x9b\\r')
    return [rng.choice(len(target_probs[0]), p=draft_probs[0])]
"""
UNDECIDED = RIGHT.replace("def verify", "import os\n\ndef verify").replace(
    "rng.random()", "(int.from_bytes(os.urandom(7), 'big') >> 3) / 2**53"
)
PROBLEM = '{"name": "p", "vocabulary": 2, "gamma": 1, "target": ["1/3", "2/3"], "draft": ["2/3", "1/3"]}'
PLAN = plan_text(
    {
        "right": f'kind = "audit"\nsubject = "right.py:verify"\nproblems = [\'{PROBLEM}\']',
        "wrong": f'kind = "audit"\nsubject = "wrong.py:verify"\nproblems = [\'{PROBLEM}\']',
        "rules": 'kind = "proofs"\nclaims = ["theorem-1"]',
        "server": 'kind = "server"\nurl = "http://localhost:1"\ntarget = "x"',
    },
    {
        "R1": 'statement = "The right one is lossless"\nclaim = "lossless"\nparts = ["right"]',
        "R2": 'statement = "The wrong one is lossless"\nclaim = "lossless"\nparts = ["wrong"]',
        "R3": 'statement = "The server is lossless"\nclaim = "lossless"\nparts = ["server"]',
        "R4": 'statement = "The rule is lossless"\nclaim = "theorem-1"\nparts = ["rules"]',
    },
)


def write(name: str, content: str) -> None:
    (FOLDER / f"{name}.json").write_text(content, encoding="utf-8")


def audits() -> None:
    """Audit functions that are right, wrong, undecided, hostile or broken, and our own verifiers."""
    sources = {"right": RIGHT, "wrong": WRONG, "evil": EVIL, "undecided": UNDECIDED, "broken": "1 / 0\n"}
    problems = {"right": [toy(2), drawn(3, 2, "zeros")], "evil": [toy(2), drawn(3, 2, "equal")]}
    for name, source in sources.items():
        Path(f"{name}.py").write_text(source, encoding="utf-8")
        write(name, audit(f"{name}.py:verify", problems.get(name, [toy(2)]), samples=2000).text())
    write("block", audit("block", [toy(3)]).text())
    write("token", audit("token", [toy(2)], claims=("lossless", "optimal")).text())


def history() -> None:
    """Draw a right version, a wrong one, and fifteen checks of another subject, one of which is in alarm."""
    rng = np.random.default_rng(1)
    with closing(History.begin("nights.sqlite")) as nights:
        for day, source in enumerate((RIGHT, WRONG), 1):
            Path("mine.py").write_text(source, encoding="utf-8")
            night = Night(f"2025-01-0{day}", samples=3000, seed=day, problems=[drawn(3, 2, "generic")])
            run_night(nights, [subject_from("mine.py:verify")], night)
        checks = [check_of(drawn(2, 2, "generic", seed), False) for seed in range(15)]
        numbers = nights.enrol("other.py:f", "sha256:0123456789abcdef", checks)
        for day in range(1, 4):
            for k, (number, check) in enumerate(zip(numbers, checks)):
                law = check.law if k or day < 3 else np.roll(check.law, 1)
                counts = CheckCounts(rng.multinomial(500, law), None)
                nights.record(number, check, f"2025-01-0{day}", day, counts)
        write("nightly", json_text(plain(status(nights, [{"subject": "gone.py:f", "message": "no such file"}]))))


def compliance() -> None:
    """Run a plan with a requirement that is met, one refuted, one open and one proved."""
    for name, source in {"right.py": RIGHT, "wrong.py": WRONG, "plan.toml": PLAN}.items():
        Path(name).write_text(source, encoding="utf-8")
    plan = load_plan("plan.toml")
    write("compliance", json_text(document(plan, [*collect(plan, Path("out"))], "2026-01-01", versions_in_use())))


PARTS = {"audits": audits, "history": history, "compliance": compliance}

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for part in sys.argv[1:] or PARTS:
            PARTS[part]()
