"""Tests in parts that can be run hours and machines apart, and that together are all of them.

    python -m draftproof.tests.in_parts -m gpu --out out/gpu [--seconds 540] [PATH ...]

Collects the tests, cuts them into parts (a file's, SIZE at most), and runs in turn those whose results are not in the
folder yet, each in a process of its own that writes the outcome of every test. A part counts only if it has an outcome
for each of its tests, by the code as it is now: its digest stands in the file. Where the seconds are over, the part
that runs is ended, and the next call goes on with it. At the end the outcomes are compared with the collection: exit
status 0 if every test of it passed, 1 if one failed, 3 if one was not run or was skipped.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
SIZE = 24
"""Tests of a part, at most."""

FILE = "DRAFTPROOF_OUTCOMES"
"""In the environment: where a process that runs a part writes its outcomes."""

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
OUTCOMES: dict[str, list[str]] = {}


def pytest_runtest_logreport(report):
    """Of the three phases of a test the worst counts."""
    reason = report.longrepr[2] if report.skipped and isinstance(report.longrepr, tuple) else ""
    known = OUTCOMES.get(report.nodeid, ["none"])[0]
    if known == "none" or (report.outcome != PASSED and known != FAILED):
        OUTCOMES[report.nodeid] = [report.outcome, reason]


def pytest_sessionfinish():
    """Outcomes of a session that came to its end."""
    if FILE in os.environ:
        Path(os.environ[FILE]).write_text(json.dumps(OUTCOMES), encoding="utf-8")


def digest() -> str:
    """Of all modules of the package, tests included."""
    whole = hashlib.sha256()
    for file in sorted(ROOT.rglob("*.py")):
        if not any(part.startswith(".") or part in ("build", "out") for part in file.relative_to(ROOT).parts):
            whole.update(f"{file.relative_to(ROOT)}\n".encode() + file.read_bytes())
    return whole.hexdigest()


def collected(words: Sequence[str]) -> list[str]:
    """The tests that pytest collects for these words. Raises: SystemExit if it cannot."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if done.returncode not in (0, 5):
        raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:])
    return [line for line in done.stdout.splitlines() if "::" in line and not line.startswith(("ERROR", "FAILED"))]


def parts(tests: Sequence[str], size: int = SIZE) -> list[list[str]]:
    """Each test in one part, in order; a part is of one file."""
    files: dict[str, list[str]] = {}
    for test in tests:
        files.setdefault(test.partition("::")[0], []).append(test)
    return [of_file[k : k + size] for of_file in files.values() for k in range(0, len(of_file), size)]


def run_part(tests: Sequence[str], words: Sequence[str], seconds: float | None) -> dict[str, list[str]]:
    """Outcomes of tests, run in a process of their own; none if it did not end by itself."""
    place = ROOT / f".outcomes-{os.getpid()}.json"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "draftproof.tests.in_parts"]
    try:
        subprocess.run([*command, *words, *tests], cwd=ROOT, timeout=seconds, env=os.environ | {FILE: str(place)})
        return json.loads(place.read_text(encoding="utf-8"))
    except (subprocess.TimeoutExpired, OSError, ValueError):
        return {}
    finally:
        place.unlink(missing_ok=True)


class Results:
    """Outcomes of parts in a folder, a file each, by the code with this digest."""

    def __init__(self, folder: Path, code: str):
        self.folder, self.code = folder, code
        folder.mkdir(parents=True, exist_ok=True)

    def _file(self, part: Sequence[str]) -> Path:
        return self.folder / f"{hashlib.sha256(json.dumps([*part]).encode()).hexdigest()[:16]}.json"

    def of(self, part: Sequence[str]) -> dict[str, list[str]] | None:
        """The outcomes of a part; None if one of its tests has none, or if the code was another."""
        try:
            data = json.loads(self._file(part).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        whole = data.get("code") == self.code and set(data.get("outcomes", {})) == {*part}
        return data["outcomes"] if whole else None

    def add(self, part: Sequence[str], outcomes: dict[str, list[str]]) -> None:
        data = {"code": self.code, "device": device(), "ended": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        self._file(part).write_text(json.dumps(data | {"outcomes": outcomes}, indent=1) + "\n", encoding="utf-8")


def device() -> str:
    """The name of the CUDA device that tests run on."""
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else "none"


def summary(tests: Sequence[str], results: Results, size: int = SIZE) -> tuple[list[str], int]:
    """What became of each test of the collection, in lines, and the exit status."""
    outcomes: dict[str, list[str]] = {}
    for part in parts(tests, size):
        outcomes |= results.of(part) or {}
    of = {kind: [t for t in tests if outcomes.get(t, [""])[0] == kind] for kind in (PASSED, FAILED, SKIPPED)}
    missing = [test for test in tests if test not in outcomes]
    lines = [f"failed: {test}" for test in of[FAILED]]
    lines += [f"skipped, {n}: {why}" for why, n in Counter(outcomes[t][1] for t in of[SKIPPED]).items()]
    counts = ", ".join(f"{len(of[kind])} {kind}" for kind in (PASSED, FAILED, SKIPPED))
    union = "that is all of them" if not missing else f"{len(missing)} of them not run yet, the first {missing[0]}"
    lines.append(f"{len(tests)} tests collected: {counts}; {union}")
    return lines, 1 if of[FAILED] else 3 if missing or of[SKIPPED] or not tests else 0


def main(words: Sequence[str], run: Callable[..., dict[str, list[str]]] = run_part, size: int = SIZE) -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-m", dest="marker", required=True, help="the marker, as of pytest")
    parser.add_argument("--out", type=Path, required=True, help="the folder of results")
    parser.add_argument("--seconds", type=float, help="after which the part that runs is ended")
    parser.add_argument("paths", nargs="*")
    asked = parser.parse_args(words)
    marker, began = ["-m", asked.marker], time.monotonic()
    tests, results = collected([*marker, *asked.paths]), Results(asked.out, digest())
    for k, part in enumerate(planned := parts(tests, size)):
        left = None if asked.seconds is None else asked.seconds - (time.monotonic() - began)
        if results.of(part) is not None:
            continue
        if left is not None and left <= 0:
            break
        print(f"part {k + 1} of {len(planned)}: {len(part)} tests of {part[0].partition('::')[0]}", flush=True)
        outcomes = run(part, marker, left)
        if set(outcomes) == {*part}:
            results.add(part, outcomes)
    lines, status = summary(tests, results, size)
    print("\n".join(lines))
    return status


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
