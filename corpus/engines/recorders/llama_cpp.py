"""llama.cpp with a recorder in it: its source package, patched and built here, run on a forged pair.

    python -m draftproof_engines.recorders.llama_cpp

Downloads the source package of llama-cpp-python, puts ``llama.patch`` and the C header in, and builds two programs with
cmake: some ten minutes of processor time. What is there stays. Then it records both, and judges what they recorded.

A patched program records where ``DRAFTPROOF_STEPS`` names a folder. ``DRAFTPROOF_SETTINGS`` has the settings of all
requests as JSON; with it raw logits are recorded, too.
"""

import json
import os
import shutil
import subprocess
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from draftproof.models.errors import InputError
from draftproof.recording import header
from draftproof.reports.audits.report import Report
from draftproof.reports.audits.steps.run import audit_steps
from draftproof.verifiers.adapters.registry import engine_folder

from ..unpack import unpack
from .in_process import FOLDER
from .small_pair import GAMMA, forged_pair

ENGINE = "llama-cpp-source"

COIN, EQUALITY = "llama-speculative", "llama-speculative-simple"
"""Programs: one tests p / q, the other compares a sample of the target, as the server does."""

PATCH = Path(__file__).with_name("llama.patch")

CMAKE = (
    "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=OFF", "-DGGML_NATIVE=OFF", "-DGGML_OPENMP=OFF",
    "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_TOOLS=OFF", "-DLLAMA_BUILD_SERVER=OFF", "-DLLAMA_OPENSSL=OFF",
)  # fmt: skip
"""Options of the build: what runs on any CPU, and nothing that the two programs do not need."""

OPEN = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
"""Settings that leave the target's row as the model gives it."""

CUTS = {"temperature": 1.0, "top_k": 6, "top_p": 0.9, "min_p": 0.05}
"""Settings that cut the rows of both models, each at its own tokens."""


def program(name: str) -> Path:
    """Return where a program is built."""
    return engine_folder(ENGINE) / "build" / "bin" / name


def build(jobs: int = 2) -> None:
    """Download, patch and build. Raises: subprocess.CalledProcessError, OSError."""
    unpack(ENGINE)
    source = engine_folder(ENGINE) / "vendor" / "llama.cpp"
    if not (source / "common" / header().name).exists():
        subprocess.run(["patch", "-p1", "--input", str(PATCH)], cwd=source, check=True)
    copied = source / "common" / header().name
    if not copied.exists() or copied.read_bytes() != header().read_bytes():  # what has not changed is not built again
        shutil.copy(header(), copied)
    folder = engine_folder(ENGINE) / "build"
    subprocess.run(["cmake", "-S", str(source), "-B", str(folder), *CMAKE], check=True)
    command = ["cmake", "--build", str(folder), "-j", str(jobs), "--target", COIN, EQUALITY]
    subprocess.run(["nice", "-n", "15", *command], check=True)


def run(name: str, pair: Path, steps: Path, settings: dict[str, Any], tokens: int = 1000, seed: int = 1) -> None:
    """Decode with a program and record its steps.

    settings: of all tokens, by the names of ``models.decoding_settings``.
    Raises: InputError with the end of what the program said.
    """
    options = {
        "-m": pair / "target.gguf", "-md": pair / "draft.gguf", "-p": "0", "-n": tokens, "-c": tokens + 64,
        "--seed": seed, "--spec-draft-n-max": GAMMA, "--temp": settings["temperature"], "--top-k": settings["top_k"],
        "-t": 1, "--top-p": settings["top_p"], "--min-p": settings["min_p"],
    }  # fmt: skip
    if name == EQUALITY:
        options["--spec-type"] = "draft-simple"
    environment = {FOLDER: str(steps), "DRAFTPROOF_SETTINGS": json.dumps(settings | {"order": "llama.cpp"})}
    command = [str(program(name)), *(str(part) for option in options.items() for part in option)]
    done = subprocess.run(
        command, capture_output=True, text=True, errors="replace", env=os.environ | environment, timeout=600
    )
    if done.returncode:
        raise InputError(f"{name} ended with {done.returncode}: {done.stderr[-500:]}")


def report(name: str, pair: Path, settings: dict[str, Any], tokens: int = 1000) -> Report:
    """Return the report on what a program recorded."""
    with TemporaryDirectory() as folder:
        run(name, pair, Path(folder) / "steps", settings, tokens)
        return audit_steps(Path(folder) / "steps")


def main() -> None:
    """Build, record and judge."""
    build()
    with TemporaryDirectory() as folder:
        pair = forged_pair(Path(folder) / "pair", gguf=True)
        for name, settings in product((EQUALITY, COIN), (OPEN, CUTS)):
            found = report(name, pair, settings)
            refuted = ", ".join(sorted({e.claim for e in found.evidence if e.refuted})) or "nothing"
            recorded = (found.steps or {})["counts"]["recorded"]
            print(f"{name} at {settings}: {recorded:,} steps; refuted: {refuted}")


if __name__ == "__main__":
    main()
