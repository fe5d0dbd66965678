"""Running Coq on the machine-checked proofs of ``mechanized/``, in a copy, and reading what it answers."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from ..verifiers.evidence import ERROR, HOLDS, NO_EVIDENCE

SOURCES = Path(__file__).parent / "mechanized"
PACKAGES = "Debian: coq libcoq-mathcomp-algebra libcoq-mathcomp-algebra-tactics make"
VERSION = "8.16"
"""What the sources are written for, with MathComp 1.15."""

TIME_LIMIT, CLOCK_FACTOR = 600, 20
"""Seconds of processor time that Coq has for each file, and how many times that by the clock before all is ended."""

NOT_ENDING = "time-out: not done within {} s by the clock"
CLOSED = "Closed under the global context"
SENTENCE = re.compile(r"Chars (\d+) - (\d+) \[.*\] [\d.]+ secs \(([\d.]+)u,([\d.]+)s\)")
COMPLAINT = re.compile(r'File "(?:\./)?([^"]+)", line (\d+)[^\n]*\n(Error:.*?)(?=\n\n|\nmake|\nFile|\Z)', re.DOTALL)
STATEMENT = r"^(?:Theorem|Lemma|Corollary|Canonical) {}\b"


class TheoremCheck(NamedTuple):
    """What Coq says of one theorem.

    holds: proved, and ``Print Assumptions`` names nothing it rests on. no-evidence: it rests on something, or time ran
    out. error: its file does not compile; a proof that breaks refutes nothing.
    seconds: of CPU time, for its proof and what its file has before it, from the listed theorem before on.
    """

    theorem: str
    verdict: str
    seconds: float
    detail: str | None = None


def missing() -> str | None:
    """Why Coq cannot be run here, in one sentence; None if it can."""
    for program in ("coqc", "make"):
        if shutil.which(program) is None:
            return f"{program} is not installed; the proofs need Coq {VERSION} with MathComp 1.15 ({PACKAGES})"
    version = _answer("coqc", "--print-version").split()
    if not version or not version[0].startswith(VERSION + "."):
        return f"the proofs need Coq {VERSION} with MathComp 1.15 ({PACKAGES}); coqc is {' '.join(version[:1])}"
    library = Path(_answer("coqc", "-where")) / "user-contrib" / "mathcomp"
    for part in ("algebra/all_algebra.vo", "algebra_tactics/ring.vo"):
        if not (library / part).is_file():
            return f"Coq is installed without mathcomp/{part.split('/')[0]}; the proofs need it ({PACKAGES})"
    if not (SOURCES / "Makefile").is_file():
        return "the Coq sources are not there: proofs/mechanized is missing from this installation"
    return None


def _answer(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout.strip()


@contextmanager
def workplace(folder: Path | None = None) -> Iterator[Path]:
    """A folder with the Coq sources to compile in: a temporary one, or the one given, whose own files stay as they are."""
    if folder is None:
        with TemporaryDirectory(prefix="draftproof-coq-") as temporary, workplace(Path(temporary)) as place:
            yield place
        return
    folder.mkdir(parents=True, exist_ok=True)
    for source in [*SOURCES.glob("*.v"), SOURCES / "Makefile"]:
        if not (folder / source.name).exists():
            shutil.copy(source, folder)
    yield folder


def run_in(place: Path, command: list[str], limit: int) -> subprocess.CompletedProcess[str]:
    """Run a command there; each process it starts ends after ``limit`` seconds of processor time.

    A process that waits for ever instead is ended with all others after ``CLOCK_FACTOR`` times that by the clock.
    Raises: subprocess.TimeoutExpired.
    """
    limited = ["sh", "-c", f'ulimit -S -t {limit}; ulimit -c 0; exec "$@"', "sh", *command]
    pipe = subprocess.PIPE
    with subprocess.Popen(limited, cwd=place, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as process:
        try:
            output, errors = process.communicate(timeout=CLOCK_FACTOR * limit)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def make(place: Path, *targets: str, limit: int) -> subprocess.CompletedProcess[str]:
    """Make the targets there, as far as they can be made, two at a time."""
    if not targets:  # to make, no target is the first of its file, not none
        return subprocess.CompletedProcess([], 0, "", "")
    return run_in(place, ["make", "--keep-going", "--output-sync", "--jobs=2", *targets], limit)


def first_error(text: str) -> str:
    """Coq's first complaint, in one line, with its file and line."""
    complaint = COMPLAINT.search(text)
    if not complaint:
        return " ".join(text.split())[-300:]
    return f"{complaint[1]}, line {complaint[2]}: {' '.join(complaint[3].split())}"[:300]


def out_of_time(errors: str, limit: int) -> str | None:
    """Which file Coq had not finished when its processor time was over, in one sentence; None if there is none."""
    killed = re.search(r"\b(\w+)\.(?:vo|log)\] \D*152\b", errors)
    return f"time-out: {killed[1]}.v not done within {limit} s of processor time" if killed else None


def compile_proofs(folder: Path | None = None, limit: int = TIME_LIMIT) -> list[TheoremCheck]:
    """Compile every proof and ask of every listed theorem what it rests on: one row a theorem, in the order of Axioms.v.

    folder: where to compile (sources it already has are used as they are); a temporary folder if none is given.
    limit: seconds of processor time for each file.
    Raises: RuntimeError with ``missing()``'s sentence if Coq cannot be run.
    """
    if reason := missing():
        raise RuntimeError(reason)
    with workplace(folder) as place:
        listed = re.findall(r"^Print Assumptions (\w+)\.", (place / "Axioms.v").read_text(), re.MULTILINE)
        home = {theorem: _home(place, theorem) for theorem in listed}
        files = sorted({name for name in home.values() if name})
        try:
            done = make(place, *(f"{name}.vo" for name in files), limit=limit)
            compiled = [name for name in files if make(place, "--question", f"{name}.vo", limit=limit).returncode == 0]
            asked = f"From Draftproof Require Import {' '.join(compiled)}.\n" if compiled else ""
            asked += "".join(f"Print Assumptions {t}.\n" for t in listed if home[t] in compiled)
            (place / "Asked.v").write_text(asked)
            (place / "Asked.log").unlink(missing_ok=True)
            answered = make(place, "Asked.log", limit=limit)
        except subprocess.TimeoutExpired:
            return [TheoremCheck(t, NO_EVIDENCE, limit, NOT_ENDING.format(CLOCK_FACTOR * limit)) for t in listed]
        answers, seconds = _answers(place / "Asked.log"), {}
        for name in files:
            seconds |= _proving(place / f"{name}.time", listed)
        rows = []
        for theorem in listed:
            said, asking = answers.get(theorem, (None, 0.0))
            errors = done.stderr or answered.stderr
            if said is not None:
                outcome = (HOLDS, None) if said == CLOSED else (NO_EVIDENCE, said)
            elif not home[theorem]:
                outcome = (ERROR, "no such theorem in the sources")
            elif f'{home[theorem]}.v", line' not in errors and (late := out_of_time(errors, limit)):
                outcome = (NO_EVIDENCE, late)
            else:
                outcome = (ERROR, first_error(errors))
            rows.append(TheoremCheck(theorem, outcome[0], round(seconds.get(theorem, 0.0) + asking, 3), outcome[1]))
        return rows


def _home(place: Path, theorem: str) -> str | None:
    """The name of the file that states the theorem."""
    stated = re.compile(STATEMENT.format(theorem), re.MULTILINE)
    return next((file.stem for file in sorted(place.glob("*.v")) if stated.search(file.read_text())), None)


def _sentences(log: Path) -> Iterator[tuple[str, str, float]]:
    """For each sentence that Coq was given: its text, what Coq answered, in one line, and the CPU seconds."""
    source, answer = log.with_suffix(".v").read_bytes(), []
    for line in log.read_text().splitlines() if log.is_file() else ():
        timed = SENTENCE.match(line)
        if timed:
            text = source[int(timed[1]) : int(timed[2])].decode()
            yield text, " ".join(answer), float(timed[3]) + float(timed[4])
            answer = []
        else:
            answer.append(line.strip())


def _answers(log: Path) -> dict[str, tuple[str, float]]:
    """For each theorem that was asked about: what Coq said, and the seconds it took."""
    asked = ((re.match(r"Print Assumptions (\w+)\.", text), said, taken) for text, said, taken in _sentences(log))
    return {question[1]: (said, taken) for question, said, taken in asked if question}


def _proving(log: Path, listed: list[str]) -> dict[str, float]:
    """Seconds of each listed theorem of a file, what is before it included, from the one before on."""
    seconds, theorem, taken = {}, None, 0.0
    for sentence, _, more in _sentences(log):
        taken += more
        stated = re.match(STATEMENT.format(r"(\w+)"), sentence)
        if stated and stated[1] in listed:
            theorem = stated[1]
        if theorem and sentence.startswith(("Qed", "Defined", "Canonical")):
            seconds[theorem], theorem, taken = taken, None, 0.0
    return seconds
