"""Measure the verdicts of the zoo, the deceivers, the wide subjects, the wrong decoders and the engines installed here.

python tests/frozen/freeze.py measure out/frozen.jsonl     each row once; goes on where it was ended
python tests/frozen/freeze.py compare out/frozen.jsonl     what differs from tests/frozen/verdicts.json; 1 if anything
python tests/frozen/freeze.py keep out/frozen.jsonl        writes tests/frozen/verdicts.json
"""

import argparse
import importlib
import inspect
import json
import math
import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

KEPT = Path(__file__).with_name("verdicts.json")
ROOT = Path(__file__).parents[2]

SAME = 1e-9
"""Relative difference of two total variations that counts as none: the order of a sum may change."""

WIDE_SUBJECTS = ("wide", "not_followed")
"""Modules of ``tests/subjects`` whose verifiers' laws are measured on wide rows."""


def shown(report: Any) -> dict[str, Any]:
    """What is kept of a report: one row for each verdict that a reader sees."""
    evidence = Counter((e.claim, str(e.method), e.verdict) for e in report.evidence)
    worst = max((e for e in report.evidence if e.refuted), key=lambda e: e.total_variation or 0, default=None)
    sizes = [
        float(e.total_variation) for e in report.evidence if e.total_variation is not None and not e.method.sampled
    ]
    bounds = [float(e.bound) for e in report.evidence if e.bound is not None and not e.method.sampled]
    witness = worst.witness if worst else None
    return {
        "verdict": report.verdict,
        "evidence": sorted([*key, n] for key, n in evidence.items()),
        "total_variation": max(sizes, default=None),
        "bound": max(bounds, default=None),
        "witness": None if witness is None else [worst.problem, str(getattr(witness, "output", None))],
        "diagnosis": [same["mutant"] for same in report.diagnosis],
        "findings": sorted(report.findings),
        "failure": report.failure and report.failure["kind"],
    }


def of_audit(target: str, **settings: Any) -> dict[str, Any]:
    from draftproof.reports.audits.api import audit

    return shown(audit(target, **settings))


def of_law(target: str, problem: Any) -> dict[str, Any]:
    """The law alone, on one problem: whether it is known, how, and how far it is from the target's."""
    from draftproof.models.battery import toy
    from draftproof.models.wide import WideProblem
    from draftproof.proofs.audit_claims import judge, lossless
    from draftproof.proofs.laws.small_measurement import measured
    from draftproof.proofs.laws.wide_measurement import measured_wide
    from draftproof.proofs.sandbox import Sandbox

    with Sandbox("", timeout=120) as box:
        if isinstance(problem, WideProblem):
            box.load(target, [toy(1)])
            measurement = measured_wide(problem, "float64", box.law(problem, every_id=True))
            evidence = judge(measurement)[0]
        else:
            box.load(target, [problem])
            measurement = measured(problem, "float64", box.law(problem))
            evidence = lossless(measurement)
    size = evidence.total_variation
    return {
        "known": bool(measurement.known), "verdict": evidence.verdict, "method": str(evidence.method),
        "total_variation": None if size is None else float(size),
        "bound": None if evidence.bound is None else float(evidence.bound),
    }  # fmt: skip


def of_decoder(entry: Any, home: str) -> dict[str, Any]:
    from draftproof.reports.audits.engines.audit import audit_engine
    from draftproof.verifiers.adapters.registry import Engine

    engine = Engine(
        entry.name, "planted", f"draftproof.{home}:{entry.name}", follows=True, forged=False, logprobs="settings"
    )
    settings = entry.settings | ({"lookup": True} if entry.sampling == "lookup" else {})
    return shown(audit_engine(engine, levels=("exact",), settings=settings, tokens=entry.tokens))


def is_verifier(name: str, value: Any) -> bool:
    given = inspect.signature(value).parameters if inspect.isfunction(value) else ()
    return not name.startswith("_") and [*given][:4] == ["target", "draft", "tokens", "rng"]


def work() -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Each row's name, and what measures it."""
    from draftproof.models.decoders.catalogue import WRONG_DECODERS
    from draftproof.models.wide import wide
    from draftproof.tests import subjects
    from draftproof.tests.deceivers import catalogue, problems
    from draftproof.tests.subjects.right_decoders import RIGHT_DECODERS
    from draftproof.verifiers.zoo.catalogue import CONTROLS, MUTANTS, TREE_CONTROLS, TREE_MUTANTS

    deceivers, folder = Path(catalogue.__file__).parent, Path(subjects.__file__).parent
    place = lambda name: "{}/{}.py:{}".format(deceivers, *name.split(":"))  # noqa: E731
    for name, entry in (MUTANTS | TREE_MUTANTS).items():
        yield f"zoo:{name}", lambda e=entry: of_audit(e.target, claims=e.refutes, quick=True, stop_at_first=True)
    for name, entry in (CONTROLS | TREE_CONTROLS).items():
        yield f"zoo:{name}", lambda e=entry: of_audit(e.target, quick=True, explain=False)
    for one in catalogue.BY_LAW:
        yield f"deceiver:{one.function}", lambda one=one: of_law(place(one.function), one.on)
    for one in catalogue.BY_AUDIT:
        yield (
            f"deceiver:{one.function}",
            lambda one=one: of_audit(place(one.function), problems=[one.on], explain=False, samples=2000),
        )
    for name in catalogue.ODD:
        yield (
            f"odd:{name}",
            lambda name=name: of_audit(
                place(f"odd:{name}"), problems=[problems.GENERIC_3_1, problems.GENERIC_3_2], explain=False, samples=2000
            ),
        )
    for module in WIDE_SUBJECTS:
        loaded = importlib.import_module(f"draftproof.tests.subjects.{module}")
        for name in [name for name, value in vars(loaded).items() if is_verifier(name, value)]:
            yield (
                f"wide:{module}:{name}",
                lambda m=module, n=name: of_law(f"{folder}/{m}.py:{n}", wide(1103, 1, "dense")),
            )
    for name, entry in WRONG_DECODERS.items():
        yield f"decoder:{name}", lambda e=entry: of_decoder(e, "models.decoders.catalogue")
    for name, entry in RIGHT_DECODERS.items():
        yield f"decoder:{name}", lambda e=entry: of_decoder(e, "tests.subjects.right_decoders")
    for name in ("transformers",):
        yield f"engine:{name}", lambda name=name: of_audit(name, quick=True, explain=False)


def measured_row(name: str) -> tuple[str, dict[str, Any]]:
    try:
        return name, dict(work())[name]()
    except Exception as error:
        said = f"{type(error).__name__}: {error}".replace(f"{ROOT}/", "")
        return name, {"verdict": "error", "failure": said[:300]}


def measure(file: Path, workers: int, only: str) -> None:
    done = set(read(file)) if file.exists() else set()
    names = [name for name, _ in work() if name not in done and name.startswith(only)]
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as out, multiprocessing.get_context("spawn").Pool(workers) as pool:
        for k, (name, row) in enumerate(pool.imap_unordered(measured_row, names), 1):
            out.write(json.dumps({"name": name, **row}) + "\n")
            out.flush()
            print(f"{k} of {len(names)} {name}: {row['verdict']}", file=sys.stderr, flush=True)


def read(file: Path) -> dict[str, dict[str, Any]]:
    lines = file.read_text(encoding="utf-8").splitlines()
    return {row.pop("name"): row for row in map(json.loads, lines)}


def differences(kept: dict[str, dict], now: dict[str, dict]) -> Iterator[str]:
    """A line for each field of each row that differs; rows that were not measured are named."""
    for name, row in kept.items():
        if name not in now:
            yield f"{name}: not measured"
            continue
        for key, was in row.items():
            found = now[name].get(key)
            numbers = isinstance(was, float) and isinstance(found, float)
            if found != was and not (numbers and math.isclose(was, found, rel_tol=SAME, abs_tol=1e-15)):
                yield f"{name}: {key} was {was}, is {found}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("measure", "compare", "keep"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="measure the rows whose names begin so")
    given = parser.parse_args()
    if given.action == "measure":
        measure(given.file, given.workers, given.only)
        return 0
    rows = dict(sorted(read(given.file).items()))
    if given.action == "keep":
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
        KEPT.write_text("{\n" + lines + "\n}\n", encoding="utf-8")
        return 0
    found = [*differences(json.loads(KEPT.read_text(encoding="utf-8")), rows)]
    print("\n".join(found) or "no difference")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
