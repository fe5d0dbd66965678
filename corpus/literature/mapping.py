"""proofs/paper_mapping.md: the papers' statements, where each lives here, and under which claim it is proved.

The statements stand in statements.json. A place is ``file:name``, from the root: a name of a Python module, a theorem
or definition of a Coq file; a test fails when one is gone. ``python -m draftproof.corpus.literature.mapping`` runs
every proof, records the rows in standing.json and writes the page.
"""

import json
import re
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from draftproof.models.digests import MECHANIZED, ROOT
from draftproof.models.files import write_atomically
from draftproof.proofs.statements import summary

HEAD = """# Where each algorithm, equation and statement lives, and how far it is proved

Written by `python -m draftproof.corpus.literature.mapping` from `statements.json` beside it and a run of `draftproof
prove` (`proofs/standing.json`); a test fails when a place is gone or the page is out of date. Enumeration and
certificates speak of single problems, sympy and z3 of all models of a size, Coq of all vocabularies, all gamma and
all models.

"""


class Statement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """paper, number: which; says: in few words; claim: under which it is proved, if it is a statement; places."""

    paper: str
    number: str
    says: str
    claim: str | None
    places: tuple[str, ...]


@cache
def statements() -> tuple[Statement, ...]:
    """Return the papers' algorithms, equations and statements, paper by paper."""
    return msgspec.json.decode(Path(__file__).with_name("statements.json").read_bytes(), type=tuple[Statement, ...])


THEOREMS = "Theorem|Lemma|Corollary"
"""How a theorem begins in Coq."""


def exists(place: str, kinds: str = f"{THEOREMS}|Definition|Fixpoint|Record|Notation") -> bool:
    """Return whether ``file:name`` is there: an attribute of a Python module, or one of these kinds in a Coq file."""
    file, name = place.split(":")
    path = MECHANIZED / Path(file).name if file.endswith(".v") else ROOT / file
    if not path.is_file():
        return False
    if file.endswith(".v"):
        return re.search(rf"^({kinds}) {re.escape(name)}\b", path.read_text(), re.MULTILINE) is not None
    return hasattr(import_module("draftproof." + file[: -len(".py")].replace("/", ".")), name)


def page(rows: Sequence[dict[str, Any]]) -> str:
    """Return the text of paper_mapping.md."""
    lines = [HEAD, "| paper | number | says | claim | where |", "|---|---|---|---|---|"]
    for s in statements():
        where = "<br>".join(f"`{place}`" for place in s.places)
        lines.append(f"| {s.paper} | {s.number} | {s.says} | {s.claim or ''} | {where} |")
    lines += ["", "## How far each claim is proved", "", "| claim | says | by | for |", "|---|---|---|---|"]
    for line in summary(rows):
        for k, (method, sizes) in enumerate(line["shown"].items()):
            first = (f"`{line['claim']}`", line["says"]) if k == 0 else ("", "")
            lines.append(f"| {first[0]} | {_cell(first[1])} | {method} | {_cell('<br>'.join(sizes))} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    """Run everything, record it, write the page."""
    from draftproof.proofs.proving import all_proofs, run

    rows = []
    for row in run(all_proofs()):
        rows.append(row._asdict())
        heading = f"{row.claim:<22}{row.method:<13}{row.verdict:<12}{row.seconds:>8.2f} s"
        print(f"{heading}  {row.what}; {row.size}", flush=True)
    kept = [{name: row[name] for name in ("claim", "method", "what", "size", "verdict")} for row in rows]
    lines = ",\n".join(map(json.dumps, kept))
    write_atomically(ROOT / "proofs" / "standing.json", f"[\n{lines}\n]\n")
    write_atomically(ROOT / "proofs" / "paper_mapping.md", page(rows))


if __name__ == "__main__":
    main()
