"""proofs/paper_mapping.md and the standing of each claim, made of the statements and of one recorded run of all proofs.

``python -m draftproof.proofs.paper_mapping`` runs every proof, records the rows in standing.json and writes the page.
"""

import json
import re
from collections.abc import Sequence
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..models.digests import MECHANIZED, ROOT
from ..models.files import write_atomically
from .statements import METHODS, PROVABLE_CLAIMS, statements

HEAD = """# Where each algorithm, equation and statement lives, and how far it is proved

Written by `python -m draftproof.proofs.paper_mapping` from `proofs/statements.json` and a run of `draftproof prove`
(`proofs/standing.json`); a test fails when a place is gone or the page is out of date. Enumeration and certificates
speak of single problems, sympy and z3 of all models of a size, Coq of all vocabularies, all gamma and all models.

"""


def exists(place: str) -> bool:
    """Whether ``file:name`` is there: an attribute of a Python module, a definition or theorem of a Coq file."""
    file, name = place.split(":")
    path = MECHANIZED / Path(file).name if file.endswith(".v") else ROOT / file
    if not path.is_file():
        return False
    if file.endswith(".v"):
        kinds = "Definition|Fixpoint|Theorem|Lemma|Corollary|Record|Notation"
        return re.search(rf"^({kinds}) {re.escape(name)}\b", path.read_text(), re.MULTILINE) is not None
    return hasattr(import_module("draftproof." + file[: -len(".py")].replace("/", ".")), name)


def standing() -> list[dict[str, Any]]:
    """The rows of the recorded run, claim by claim."""
    return json.loads((files("draftproof.proofs") / "standing.json").read_text())


def summary(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line a claim: what it says, and for each method what it was shown for."""
    lines = []
    for claim, says in PROVABLE_CLAIMS.items():
        shown = {}
        for method in METHODS:
            sizes: dict[str, list[str]] = {}
            for row in rows:
                if (row["claim"], row["method"]) == (claim, method):
                    unless = "" if row["verdict"] == "holds" else f" [{row['verdict']}]"
                    sizes.setdefault(row["what"], []).append(row["size"] + unless)
            if sizes:
                shown[method] = [f"{what}: {_together(each)}" for what, each in sizes.items()]
        lines.append({"claim": claim, "says": says, "shown": shown})
    return lines


def _together(sizes: list[str]) -> str:
    """Sizes that begin alike, with the beginning said once."""
    parts = [size.split(", ") for size in sizes]
    alike = next((k for k, words in enumerate(zip(*parts)) if len(set(words)) > 1), len(parts[0]))
    rest = [" ".join(words[alike:]) for words in parts]
    return ", ".join([*parts[0][:alike], "; ".join(rest)] if any(rest) else parts[0])


def page(rows: Sequence[dict[str, Any]]) -> str:
    """The text of paper_mapping.md."""
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
    from .proving import all_proofs, run

    rows = []
    for row in run(all_proofs()):
        rows.append(row._asdict())
        heading = f"{row.claim:<22}{row.method:<13}{row.verdict:<12}{row.seconds:>8.2f} s"
        print(f"{heading}  {row.what}; {row.size}", flush=True)
    write_atomically(ROOT / "proofs" / "standing.json", json.dumps(rows, indent=1) + "\n")
    write_atomically(ROOT / "proofs" / "paper_mapping.md", page(rows))


if __name__ == "__main__":
    main()
