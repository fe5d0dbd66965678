"""reports/bugs.md: the gallery of real bugs, a witness each, made from the zoo's catalogue.

``python -m draftproof.reports.pages.bugs`` measures every mutant and writes the page.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from ...models.files import write_atomically
from ...models.problem import as_json
from ...verifiers.zoo.catalogue import BATCH_MUTANTS, MUTANTS, ZooEntry
from ..audits.gallery import Gallery, gallery

PAGE = Path(__file__).parents[1] / "bugs.md"
HEAD = """# Real bugs, with a witness each

Written by `python -m draftproof.reports.pages.bugs` from the catalogue of the zoo; `make zoo` writes it anew and
compares. Each bug was reported in public, or found by reading, in the project that is named; the mutant is our own
short verifier with that bug and no other, and says nothing of what the project does today. The witness is the
smallest that the search found: on that problem, the probability that a lossless verifier has, and the mutant's, which
is exact (decimals: has logarithms in it, or a softmax). Of a mutant of batches (B01 ...): the draft tokens of a
request, what it emits alone, and what among others. To see one again, with its report: `draftproof audit SUBJECT
--problem 'PROBLEM' --claims CLAIM`; subjects and problems are below the table.

"""


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
    entries = MUTANTS | BATCH_MUTANTS
    lines += [row(entries[name], one) for name, one in shown.items()]
    lines += ["", "| mutant | subject | problem |", "|---|---|---|"]
    for name, one in shown.items():
        if one.problem is None:
            lines.append(f"| `{name}` | `{entries[name].target}` | none to be given: batches of its own |")
            continue
        problem = {key: value for key, value in as_json(one.problem).items() if key != "name"}
        lines.append(f"| `{name}` | `{entries[name].measured}` | `{json.dumps(problem)}` |")
    return HEAD + "\n".join([*lines, ""])


if __name__ == "__main__":
    write_atomically(PAGE, page(gallery()))
