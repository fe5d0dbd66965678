"""corpus/site/bugs.md: the gallery of real bugs, a witness each, made from the zoo's catalogue.

``python -m draftproof.corpus.site.bugs`` measures every mutant and writes the page.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from draftproof.corpus.site.gallery import Gallery, gallery
from draftproof.models.files import write_atomically
from draftproof.models.problem import as_json
from draftproof.reports.pages.plain_words import problem_rows
from draftproof.verifiers.zoo.catalogue import BATCH_MUTANTS, MUTANTS, ZooEntry

PAGE = Path(__file__).with_name("bugs.md")
HEAD = """# Real bugs, with a witness each

Each bug was reported in public, or found by reading, in the project that is named, unless the line says that no report
was found; the mutant is our own short verifier with that bug and no other, and says nothing of what the project does
today. The witness is the smallest that the search
found: the rows of target p and draft q, the same after every prefix, gamma draft tokens a call, and what comes out with
another probability than from a lossless verifier. Each number is exact (a decimal has logarithms in it, or a softmax).
Of a mutant of batches (B01 ...): the draft tokens of a request, what it emits among others, and what alone. Written by
`python -m draftproof.corpus.site.bugs` from the catalogue of the zoo; `make zoo` writes it anew and compares.

"""
COLUMNS = ("mutant", "the bug", "where it was seen", "on", "witness")


def row(entry: ZooEntry, shown: Gallery) -> str:
    """Return the line of the table."""
    cells = (f"`{entry.name}`", entry.title, f"[{entry.ancestor}]({entry.link})", _rows(shown), _witness(entry, shown))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _rows(shown: Gallery) -> str:
    """Return the problem, where it is the same after every prefix."""
    if shown.problem is None:
        return "a batch"
    rows = problem_rows(as_json(shown.problem))
    if not rows or any(when != "always" for _, when, _ in rows):
        return f"rows of every prefix, below; gamma {shown.problem.gamma}"
    letters = {"target": "p", "draft": "q"}
    said = [f"{letters[model]} = {', '.join(row)}" for model, _, row in rows]
    return "; ".join([*said, f"gamma {shown.problem.gamma}"])


def _witness(entry: ZooEntry, shown: Gallery) -> str:
    if shown.refuted is None or shown.refuted.witness is None:
        return f"{entry.refutes[0]}: no exact distribution, refuted by samples"
    claim, witness = shown.refuted.claim, shown.refuted.witness
    if claim == "batch":
        return f"{witness.sequence}: emits {witness.observed}, alone {witness.expected}"
    of = f"{witness.sequence} =" if claim == "optimal" else f"`{witness.sequence}` with"
    return f"{of} {witness.observed}, not {witness.expected}"


def page(shown: Mapping[str, Gallery]) -> str:
    """Return the text of the page."""
    lines = [f"| {' | '.join(COLUMNS)} |", "|" + "---|" * len(COLUMNS)]
    entries = MUTANTS | BATCH_MUTANTS
    lines += [row(entries[name], one) for name, one in shown.items()]
    lines += ["", "<details><summary>To see one again, with its report</summary>", "", "```text"]
    for name, one in shown.items():
        if one.problem is not None:
            problem = json.dumps({key: value for key, value in as_json(one.problem).items() if key != "name"})
            claim = one.refuted.claim if one.refuted else entries[name].refutes[0]
            lines.append(f"draftproof audit {entries[name].measured} --problem '{problem}' --claims {claim}  # {name}")
        else:
            lines.append(f"{entries[name].target}  # {name}: batches of its own")
    return HEAD + "\n".join([*lines, "```", "", "</details>", ""])


if __name__ == "__main__":
    write_atomically(PAGE, page(gallery()))
