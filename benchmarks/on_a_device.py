"""All that waits for a CUDA device, step by step, in calls that end in time and go on where the last one stopped.

    python benchmarks/on_a_device.py [--out out/device] [--seconds 540] [--smollm2 DIR] [--dry]

What a step wrote, and that it ended, is kept in the folder; a step that was stopped is begun again, or goes on where
its command can. Every call ends by writing device.tar.gz there: corpus/site/evidence and the logs, small enough to be
taken home; --from takes such an archive in before the first step, on a machine that has none of it.
--dry: the same steps at small sizes without a device, the kernels under Triton's interpreter. None of it is evidence.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
GRACE = 20
"""Seconds that a step has to end after it was interrupted, and that are left for the archive."""


class Step(NamedTuple):
    """One command.

    least: seconds that have to be left for it to be begun.
    goes_on: whether a call that was stopped is continued by the next.
    fine: exit statuses that are a result; 1 of an audit is a refutation, which is one.
    """

    name: str
    words: list[str]
    least: int
    goes_on: bool = False
    fine: tuple[int, ...] = (0, 1)


def steps(asked: argparse.Namespace) -> list[Step]:
    """In the order of their worth."""
    python, dry = sys.executable, asked.dry
    draftproof = [python, "-m", "draftproof.reports.commands.main"]
    device = "cpu" if dry else "cuda"
    pair, kept = asked.out / "pair", (asked.out if dry else ROOT / "corpus" / "site") / "evidence"
    size = ["--vocabulary", "64", "300", "--batch", "1", "2", "--calls", "2"] if dry else []
    train = ["--minutes", "0.2"] if dry else ["--size", "large"]
    dry_laws = ["--dry"] if dry else []
    few = ["--samples", "2", "--new-tokens", "8"] if dry else []
    tests = ["-m", "exact", "tests/proofs/test_field.py"] if dry else ["-m", "gpu"]

    def evidence(name: str, command: str, *words: str) -> list[str]:
        return [*draftproof, "evidence", "--out", str(kept / name), command, *words, "--device", device]

    def models(folder: Path) -> list[str]:
        return ["--target", str(folder / "target"), "--draft", str(folder / "draft")]

    found = [
        Step("kernels", [python, "benchmarks/kernels.py", "--json", str(asked.out / "kernels.json"), *size], 120),
        Step("laws", [python, "benchmarks/compiled_laws.py", "--json", str(asked.out / "laws.json"), *dry_laws], 120),
        Step(
            "tests",
            [python, "-m", "draftproof.tests.in_parts", *tests, "--out", str(asked.out / "tests")],
            60,
            True,
            (0,),
        ),
        Step("train", [*draftproof, "train-pair", "--out", str(pair), "--device", device, *train], 120, True, (0,)),
    ]
    pairs = {"large": pair} | ({"smollm2": asked.smollm2} if asked.smollm2 else {})
    for name, folder in pairs.items():
        for dtype in ("bfloat16", "float32"):
            words = [*models(folder), "--dtype", dtype, "--gamma", "8", "--timeout", "120", *few]
            found.append(Step(f"{name}-{dtype}", evidence(f"{name}-{dtype}", "e2e", *words), 200))
    quick = ["--quick", "--prompts", "2", "--seeds", "1", "--new-tokens", "4"] if dry else ["--dtype", "bfloat16"]
    found += [
        Step(f"{name}-tables", evidence(f"{name}-tables", "tables", *models(folder), *quick), 60, True)
        for name, folder in pairs.items()
    ]
    clock = ["--prompts", "2", "--seeds", "1", "--new-tokens", "4"] if dry else []
    words = ["--pair", str(pair), "--device", device, "--gamma", "8", *clock]
    return [*found, Step("wall-clock", [python, "benchmarks/wall_clock.py", *words], 200)]


def run(step: Step, log: Path, seconds: float, environment: dict[str, str]) -> int | None:
    """The exit status; None if the time was over. A command is interrupted first, so that it keeps what it has."""
    with log.open("a", encoding="utf-8") as out:
        child = subprocess.Popen(step.words, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, env=environment,
                                 start_new_session=True)  # fmt: skip
        for limit, end in ((seconds, signal.SIGINT), (GRACE / 2, signal.SIGKILL)):
            try:
                status = child.wait(limit)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, end)
                continue
            return status if end == signal.SIGINT else None
        child.wait()
    return None


def archive(out: Path) -> Path:
    """What is to be taken home, in one file."""
    made = out / "device.tar.gz"
    with tarfile.open(made, "w:gz") as files:
        for path in sorted([*out.glob("*.log"), *out.glob("*.json"), out / "tests", out / "evidence"]):
            if path.exists():
                files.add(path, f"out/{path.relative_to(out)}")
        if (ROOT / "corpus" / "site" / "evidence").is_dir():
            files.add(ROOT / "corpus" / "site" / "evidence", "evidence")
    return made


def take_in(archived: Path, out: Path) -> None:
    """Results of earlier calls on another machine."""
    with tarfile.open(archived) as files:
        for member in files.getmembers():
            top, _, rest = member.name.partition("/")
            if rest:
                member.name = rest
                files.extract(member, out if top == "out" else ROOT / "corpus" / "site" / "evidence", filter="data")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "device")
    parser.add_argument("--seconds", type=float, default=540, help="after which this call ends")
    parser.add_argument("--from", dest="archived", type=Path, metavar="FILE", help="device.tar.gz of an earlier call")
    parser.add_argument("--smollm2", type=Path, metavar="DIR", help="DIR/target and DIR/draft: a second pair")
    parser.add_argument("--dry", action="store_true", help="small sizes, on the processor: to find mistakes beforehand")
    asked = parser.parse_args()
    began = time.monotonic()
    asked.out = asked.out.resolve()
    asked.out.mkdir(parents=True, exist_ok=True)
    if asked.archived:
        take_in(asked.archived, asked.out)
    record = asked.out / "steps.json"
    ended = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    environment = os.environ | {"PYTHONUNBUFFERED": "1"} | ({"TRITON_INTERPRET": "1"} if asked.dry else {})
    planned = steps(asked)
    for step in planned:
        left = asked.seconds - GRACE - (time.monotonic() - began)
        if ended.get(step.name, {}).get("status") in step.fine:
            continue
        if left < (1 if asked.dry else step.least):
            print(f"{step.name}: needs {step.least} s, {max(left, 0):.0f} s are left; the next call begins with it")
            break
        print(f"{step.name}: {' '.join(step.words)}", flush=True)
        start = time.monotonic()
        status = run(step, asked.out / f"{step.name}.log", left, environment)
        seconds = round(time.monotonic() - start, 1)
        if status is None:
            how = "goes on" if step.goes_on else "is begun again"
            print(f"{step.name}: not ended after {seconds:.0f} s; it {how} with the next call")
            break
        ended[step.name] = {"status": status, "seconds": seconds}
        record.write_text(json.dumps(ended, indent=1) + "\n", encoding="utf-8")
        print(f"{step.name}: exit status {status} after {seconds:.0f} s", flush=True)
    made = archive(asked.out)
    open_ = [step.name for step in planned if ended.get(step.name, {}).get("status") not in step.fine]
    print(f"{made}: {made.stat().st_size / 1e6:.1f} MB")
    print(f"not done: {', '.join(open_)}" if open_ else "all steps were done" + (" (dry)" if asked.dry else ""))
    return 3 if open_ else 0


if __name__ == "__main__":
    raise SystemExit(main())
