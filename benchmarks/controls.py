"""Default audits of right verifiers, control by control and seed by seed: a refutation is a false alarm.

The controls of the zoo, those of draft trees among them, and the odd ones of ``tests/deceivers/odd.py``. Seed 0 is a
whole audit; of the further ones only what depends on the seed, the problems that an audit draws for itself. Each row is
appended to the file when it is done; the same command goes on where it was ended, as long as the code is the same. Exit
status 1 if any is refuted.

    python benchmarks/controls.py [--seeds 20] [--file out/controls.jsonl] [--workers 2] [--only NAME ...]
"""

import argparse
import hashlib
import os
import time
from collections import Counter
from importlib import import_module
from pathlib import Path

from draftproof.corpus.site.kept_rows import made_rows
from draftproof.models.battery import own_problems
from draftproof.models.digests import EXAMINING, code_digest
from draftproof.models.problem import AnyProblem
from draftproof.models.store import Store
from draftproof.models.tree_battery import own_tree_problems
from draftproof.models.wide import own_wide_problem
from draftproof.reports.audits.api import audit
from draftproof.tests.deceivers import catalogue, odd
from draftproof.verifiers.trees.draft_tree import WAYS
from draftproof.verifiers.zoo.catalogue import CONTROLS, TREE_CONTROLS

SUBJECTS = {name: entry.target for name, entry in (CONTROLS | TREE_CONTROLS).items()} | {
    f"odd:{name}": f"{odd.__file__}:{name}" for name in catalogue.ODD
}


def digest() -> str:
    """What the rows of a file hold for: the code of an audit, and the odd controls."""
    code = hashlib.sha256(code_digest(EXAMINING).encode())
    for path in sorted(Path(odd.__file__).parent.glob("*.py")):
        code.update(path.read_bytes())
    return code.hexdigest()


def own(name: str, seed: int) -> list[AnyProblem]:
    """The problems that an audit of a control draws from its seed."""
    if name not in TREE_CONTROLS:
        return [*own_problems(seed), own_wide_problem(seed)]
    module, function = TREE_CONTROLS[name].target.split(":")
    return [*own_tree_problems(seed, getattr(getattr(import_module(module), function), "drafting", WAYS))]


def row_of(name: str, seed: int) -> dict:
    """One audit: its verdict, what refutes it or why nothing is known, and how long it took."""
    start = time.perf_counter()
    report = audit(SUBJECTS[name], own(name, seed) if seed else [], seed=seed, explain=False)
    laws = [e for e in report.evidence if e.claim == "lossless"]
    refuted = [e for e in laws if e.refuted]
    reasons = {str(e.why_undecided) for e in laws if not e.holds and not e.refuted}
    shares = [float(e.total_variation) / float(e.bound) for e in laws if e.total_variation is not None and e.bound]
    return {
        "verdict": report.verdict, "problems": len({e.problem for e in laws}),
        "nearest": max(shares, default=None), "refuted": [f"{e.problem}: TV {e.total_variation}" for e in refuted],
        "reasons": sorted(reasons), "findings": sorted(report.findings),
        "failure": report.failure and report.failure["message"], "seconds": round(time.perf_counter() - start, 1),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--file", type=Path, default=Path("out/controls.jsonl"))
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--only", nargs="+", choices=list(SUBJECTS), default=list(SUBJECTS))
    given = parser.parse_args()
    given.file.parent.mkdir(parents=True, exist_ok=True)
    wanted = [(name, seed) for seed in range(given.seeds) for name in given.only]
    with Store(given.file, "audits of right verifiers", valid_for=digest()) as store:
        for (name, seed), row in made_rows(store, wanted, row_of, given.workers):
            nearest = "" if row["nearest"] is None else f", at most {row['nearest']:.2f} of what is allowed"
            why = "; ".join(row["refuted"] or row["reasons"])[:160]
            done = f"{sum(key in store.rows for key in wanted)}/{len(wanted)} seed {seed} {name}"
            print(f"{done}: {row['verdict']}{nearest}, {row['seconds']} s {why}", flush=True)
        asked = [store.rows[key] for key in wanted]
    counts = Counter(row["verdict"] for row in asked)
    alarms = [row for row in asked if row["verdict"] == "refuted"]
    said = ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common())
    print(f"{len(asked)} audits of {len(given.only)} controls: {said}; false alarms: {len(alarms)}")
    raise SystemExit(1 if alarms else 0)


if __name__ == "__main__":
    main()
