"""Deceivers drawn by program, and what an audit says of each, by kind of mistake, by condition and by style of code.

Each has a total variation of 1e-3 at least on ordinary rows (``drawn_deceivers/ordinary.py``). It is the right verifier
but where its condition holds; so its laws are measured on those problems of a default audit at whose size it does, the
cheap ones and those likely to refute first, up to one that refutes it. What none refutes is outside the stated scope
if no law that holds decides a position at which the mistake is made, or within the stated rounding if that is more than
the deviation on ordinary rows; anything else is a false clear, unless a whole audit, with --confirm, says otherwise.
Exit status 1 if there is one.

Each row is appended to the file when it is done, with the digest of the audit's code; the same command goes on where it
was ended. A change of the generator begins anew. After a change of the audit's code what was refuted stays (--again:
is measured again), everything else is measured again. --longer: what has no law in time is tried with more.

The tables are of all rows of that precision that the file has: --number 0 prints them alone.

    python benchmarks/deceivers.py [--dtype float64,float32] [--from 0] [--number 100] [--file FILE]
        [--confirm] [--again] [--longer]
"""

import argparse
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from draftproof.benchmarks.drawn_deceivers.drawn import drawn
from draftproof.benchmarks.drawn_deceivers.examined import (
    ARRAYS,
    CLEARED,
    OUTCOMES,
    REFUTED,
    TIMEOUT,
    WITHHELD,
    examined,
)
from draftproof.models.digests import EXAMINING, code_digest
from draftproof.models.errors import RunFailed
from draftproof.models.store import Store
from draftproof.proofs.time_limits import ProcessorTime

HEADINGS = ("drawn", "refuted", "withheld", "outside the scope", "within the rounding", "false clear")


def digest() -> str:
    """What the rows of a file hold for: the generator."""
    folder, code = Path(__file__).with_name("drawn_deceivers"), hashlib.sha256()
    for name in ("drawn", "styles", "ordinary"):
        code.update((folder / f"{name}.py").read_bytes())
    return code.hexdigest()


@cache
def examining() -> str:
    """The code of an audit, by which a row was measured."""
    return code_digest(EXAMINING)[:12]


def row_of(dtype: str, number: int, **how: Any) -> dict:
    """What is said of one of them, what it is, and the seconds of processor time it took."""
    time = ProcessorTime()
    try:
        outcome, why = examined(dtype, number, **how)
    except RunFailed as error:  # an audit ends with that error, and clears nothing
        outcome, why = WITHHELD, str(error)
    one = drawn(number, dtype)
    what = {"kind": one.kind, "condition": one.condition.family, "style": one.style, "title": one.title}
    measured = {"outcome": outcome, "why": why, "code": examining(), "seconds": round(time.spent(), 2)}
    return measured | what | {"variation": one.variation}


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
    parser.add_argument("--dtype", type=lambda text: text.split(","), default=["float64"])
    parser.add_argument("--file", type=Path, default=Path(__file__).with_suffix(".jsonl"))
    parser.add_argument("--confirm", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--longer", action="store_true")
    given = parser.parse_args()
    if unknown := [*filter(None, {*given.dtype} - {*ARRAYS})]:
        parser.error(f"--dtype {unknown[0]}: expected some of {', '.join(ARRAYS)}")
    given.file.parent.mkdir(parents=True, exist_ok=True)
    with Store(given.file, "audits of drawn deceivers", valid_for=digest()) as store:

        def stands(row: dict) -> bool:
            if given.longer and row["outcome"] == WITHHELD:
                return row.get("limit") == TIMEOUT
            return row["code"] == examining() or (row["outcome"] == REFUTED and not given.again)

        def make(key: tuple[str, int], **how: Any) -> None:
            row = store.rows[key] = row_of(*key, **how)
            store.put(key, row | {"limit": TIMEOUT} if given.longer else row)
            if row["outcome"] != REFUTED:
                print(f"{' '.join(map(str, key))}: {row['outcome']}, {row['title']} {row['why']}", flush=True)

        wanted = [(dtype, n) for n in range(given.first, given.first + given.number) for dtype in given.dtype]
        for key in wanted:
            if key not in store.rows or not stands(store.rows[key]):
                make(key, **({"at_first": TIMEOUT} if given.longer else {}))
        for key in [key for key in wanted if given.confirm and store.rows[key]["outcome"] == CLEARED]:
            make(key, whole=True)
        rows = [row | {"precision": dtype} for (dtype, _), row in store.rows.items() if dtype in given.dtype]
    by_property = {
        "precision": "precision",
        "kind of mistake": "kind",
        "condition": "condition",
        "style of code": "style",
    }
    for title, by in by_property.items():
        print(f"\n{table(title, rows, by)}")
    every, codes = Counter(row["outcome"] for row in rows), len({row["code"] for row in rows})
    print(f"\n{len(rows)} drawn: " + ", ".join(f"{n} {outcome}" for outcome, n in every.most_common()), end="")
    print(f"; {sum(row['seconds'] for row in rows):.0f} s of processor time, {codes} states of the audit's code")
    raise SystemExit(1 if every[CLEARED] else 0)


if __name__ == "__main__":
    main()
