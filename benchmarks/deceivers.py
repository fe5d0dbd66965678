"""Deceivers drawn by program, and what an audit says of each, by kind of mistake, by condition and by style of code.

Each has a total variation of 1e-3 at least on ordinary rows (``tests/deceivers/ordinary.py``). It is the right verifier
but where its condition holds; so its laws are measured on those problems of a default audit at whose size it does, up
to one that refutes it. What none refutes is outside the stated scope if no law that holds decides a position at which
the mistake is made, or within the stated rounding if that is more than the deviation on ordinary rows; anything else
is a false clear, unless a whole audit, with --confirm, says otherwise. Each row is appended to the file when it is
done; the same command goes on where it was ended, as long as the code is the same. Exit status 1 if there is one.

The tables are of all rows of that precision that the file has: --number 0 prints them alone.

    python benchmarks/deceivers.py [--dtype float64] [--from 0] [--number 100] [--file out/deceivers.jsonl]
        [--workers 1] [--confirm]
"""

import argparse
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from draftproof.models.digests import EXAMINING, code_digest
from draftproof.models.store import Store
from draftproof.reports.audits.engines.survey import made_rows
from draftproof.tests.deceivers.drawn import drawn
from draftproof.tests.deceivers.examined import ARRAYS, CLEARED, OUTCOMES, REFUTED, examined

HEADINGS = ("drawn", "refuted", "withheld", "outside the scope", "within the rounding", "false clear")


def digest() -> str:
    """What the rows of a file hold for: the code of an audit, and the generator."""
    code = hashlib.sha256(code_digest(EXAMINING).encode())
    folder = Path(__file__).parents[1] / "tests" / "deceivers"
    for name in ("drawn", "styles", "ordinary", "examined"):
        code.update((folder / f"{name}.py").read_bytes())
    return code.hexdigest()


def row_of(dtype: str, number: int) -> dict:
    """What is said of one of them, and what it is."""
    outcome, why = examined(dtype, number)
    one = drawn(number, dtype)
    what = {"kind": one.kind, "condition": one.condition.family, "style": one.style, "title": one.title}
    return {"outcome": outcome, "why": why, **what, "variation": one.variation}


def table(title: str, rows: Iterable[dict], by: str) -> str:
    """Counts of outcomes by a property of the rows, as a table of Markdown."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        counts[row[by]][row["outcome"]] += 1
    lines = [f"| {' | '.join((title, *HEADINGS))} |", "|---|" + "---|" * len(HEADINGS)]
    for name, of in sorted(counts.items()):
        lines.append(f"| {name} | {sum(of.values())} | " + " | ".join(str(of[n]) for n in OUTCOMES) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--dtype", choices=[*ARRAYS], default="float64")
    parser.add_argument("--file", type=Path, default=Path("out/deceivers.jsonl"))
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--confirm", action="store_true")
    given = parser.parse_args()
    given.file.parent.mkdir(parents=True, exist_ok=True)
    wanted = [(given.dtype, number) for number in range(given.first, given.first + given.number)]
    with Store(given.file, "audits of drawn deceivers", valid_for=digest()) as store:
        for (dtype, number), row in made_rows(store, wanted, row_of, given.workers):
            if row["outcome"] != REFUTED:
                print(f"{dtype} {number}: {row['outcome']}, {row['title']} {row['why']}", flush=True)
        for key in [key for key in wanted if given.confirm and store.rows[key]["outcome"] == CLEARED]:
            outcome, why = examined(*key, whole=True)
            store.put(key, store.rows[key] | {"outcome": outcome, "why": why})
        rows = [row for (dtype, _), row in store.rows.items() if dtype == given.dtype]
    for title, by in (("kind of mistake", "kind"), ("condition", "condition"), ("style of code", "style")):
        print(f"\n{table(title, rows, by)}")
    every = Counter(row["outcome"] for row in rows)
    print(f"\n{len(rows)} drawn, {given.dtype}: " + ", ".join(f"{n} {outcome}" for outcome, n in every.most_common()))
    raise SystemExit(1 if every[CLEARED] else 0)


if __name__ == "__main__":
    main()
