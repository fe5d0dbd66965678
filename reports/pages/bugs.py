"""reports/bugs.md: the gallery of real bugs, a witness each, made from the zoo's catalogue.

``python -m draftproof.reports.pages.bugs`` measures every mutant and writes the page.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ...models.battery import audit_battery, toy
from ...models.errors import RunFailed
from ...models.files import write_atomically
from ...models.problem import Problem, as_json
from ...proofs.audit_claims import judge
from ...proofs.measurement import measured
from ...proofs.sandbox import Sandbox
from ...proofs.shrink import shrink, size
from ...verifiers.evidence import Evidence
from ...verifiers.zoo.catalogue import MUTANTS, ZooEntry

PAGE = Path(__file__).parents[1] / "bugs.md"
HEAD = """# Real bugs, with a witness each

Written by `python -m draftproof.reports.pages.bugs` from the catalogue of the zoo; `make zoo` writes it anew and compares. Each
bug was reported in public, or found by reading, in the project that is named; the mutant is our own short verifier with that bug
and no other, and says nothing of what the project does today. The witness is the smallest that the search found: on that
problem, the probability that a lossless verifier has, and the mutant's, which is exact. To see one again, with its report:
`draftproof audit SUBJECT --problem 'PROBLEM' --claims CLAIM`; subjects and problems are below the table.

"""


class Gallery(NamedTuple):
    """One mutant on the smallest problem that shows its bug.

    problem: the problem.
    refuted: the evidence against the claim that fails, None where no small problem has a law that shows it.
    """

    problem: Problem
    refuted: Evidence | None


def smallest_witness(sandbox: Sandbox, entry: ZooEntry) -> Gallery:
    """The smallest problem found on which one of the claims that the entry must fail is refuted."""
    sandbox.load(entry.measured, [toy(1)])

    def refutation(problem: Problem) -> Evidence | None:
        try:
            evidence = judge(measured(problem, "float64", sandbox.law(problem)))
        except RunFailed:
            return None
        return next((e for e in evidence if e.claim in entry.refutes and e.refuted and e.witness), None)

    problems = sorted([toy(1), toy(2), *audit_battery()], key=size)
    first = next((p for p in problems if refutation(p)), None)
    if first is None:
        return Gallery(problems[0], None)
    smallest = shrink(first, lambda smaller: refutation(smaller) is not None)
    return Gallery(smallest, refutation(smallest))


def gallery() -> dict[str, Gallery]:
    """Name of each mutant -> its smallest witness."""
    with Sandbox("", timeout=60) as sandbox:
        return {name: smallest_witness(sandbox, entry) for name, entry in MUTANTS.items()}


def row(entry: ZooEntry, shown: Gallery) -> str:
    """The line of the table."""
    if shown.refuted is None or shown.refuted.witness is None:
        claim, sequence, expected, observed = entry.refutes[0], "no exact law; refuted by samples", "", ""
    else:
        witness = shown.refuted.witness
        claim, sequence, expected, observed = shown.refuted.claim, witness.sequence, witness.expected, witness.observed
    cells = (f"`{entry.name}`", entry.title, f"[{entry.ancestor}]({entry.link})", claim, sequence, expected, observed)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def page(shown: Mapping[str, Gallery]) -> str:
    """The text of the page."""
    lines = [
        "| mutant | the bug | where it was seen | refutes | outcome | expected | observed |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [row(MUTANTS[name], one) for name, one in shown.items()]
    lines += ["", "| mutant | subject | problem |", "|---|---|---|"]
    for name, one in shown.items():
        problem = {key: value for key, value in as_json(one.problem).items() if key != "name"}
        lines.append(f"| `{name}` | `{MUTANTS[name].target}` | `{json.dumps(problem)}` |")
    return HEAD + "\n".join([*lines, ""])


if __name__ == "__main__":
    write_atomically(PAGE, page(gallery()))
