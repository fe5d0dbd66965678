"""The schema of problems, which is documentation and no part of the wheel."""

import json
from pathlib import Path

import draftproof

PROBLEM_SCHEMA = json.loads((Path(draftproof.__file__).parent / "docs/schemas/problem.schema.json").read_text())
