"""Running Coq on the machine-checked proofs of ``mechanized/``, in a copy, and reading what it answers."""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from ..verifiers.evidence import ERROR, HOLDS, NO_EVIDENCE

SOURCES = Path(__file__).parent / "mechanized"
PACKAGES = "Debian: coq libcoq-mathcomp-algebra libcoq-mathcomp-algebra-tactics make"
VERSION = "8.16"
"""What the sources are written for, with MathComp 1.15."""

LIBRARY = ("algebra/all_algebra.vo", "algebra_tactics/ring.vo")
"""Files of MathComp that the sources need."""

AT_A_TIME = 2
"""How many files are compiled at the same time."""

Progress = Callable[[str, int, int], None]

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
    for part in LIBRARY:
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


def limited(command: list[str], limit: int) -> list[str]:
    """The command, each of whose processes ends after ``limit`` seconds of processor time."""
    return ["sh", "-c", f'ulimit -S -t {limit}; ulimit -c 0; exec "$@"', "sh", *command]


def run_in(place: Path, command: list[str], limit: int) -> subprocess.CompletedProcess[str]:
    """Run a command there; each process it starts ends after ``limit`` seconds of processor time.

    A process that waits for ever instead is ended with all others after ``CLOCK_FACTOR`` times that by the clock.
    Raises: subprocess.TimeoutExpired.
    """
    pipe = subprocess.PIPE
    with subprocess.Popen(
        limited(command, limit), cwd=place, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    ) as process:
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
        build = Build(place, limit=limit)
        return build.check(build.listed)


class Build:
    """The sources in a folder, compiled file by file, two at a time, as theorems of theirs are asked about.

    kept: a folder that gets each file as soon as it is compiled, and from which it is taken the next time, where its
    source, the compiled files it builds on, Coq and MathComp are the same.
    progress: called with each file's name when it is begun, how many of those needed are there, and how many are needed.
    """

    def __init__(
        self, place: Path, kept: Path | None = None, limit: int = TIME_LIMIT, progress: Progress = lambda *_: None
    ):
        self.place, self.limit, self.progress = place, limit, progress
        self.kept = KeptFiles(kept) if kept else None
        self.done: set[str] = set()
        self.failed: dict[str, str] = {}
        """File -> what was said where it, or one that it builds on, does not compile."""
        self.listed = re.findall(r"^Print Assumptions (\w+)\.", (place / "Axioms.v").read_text(), re.MULTILINE)
        rules = re.findall(r"^(\w+)\.vo: (.+)$", (place / "Makefile").read_text(), re.MULTILINE)
        self._needs = {name: re.findall(r"(\w+)\.vo", needs) for name, needs in rules}

    def check(self, theorems: Sequence[str]) -> list[TheoremCheck]:
        """What Coq says of each theorem, once the files that it needs are compiled."""
        home = {theorem: _home(self.place, theorem) for theorem in theorems}
        files = sorted({name for name in home.values() if name})
        self.compile(files)
        compiled = [name for name in files if name in self.done]
        asked = f"From Draftproof Require Import {' '.join(compiled)}.\n" if compiled else ""
        asked += "".join(f"Print Assumptions {t}.\n" for t in theorems if home[t] in self.done)
        (self.place / "Asked.v").write_text(asked)
        (self.place / "Asked.log").unlink(missing_ok=True)
        try:
            errors = make(self.place, "Asked.log", limit=self.limit).stderr
        except subprocess.TimeoutExpired:
            errors = NOT_ENDING.format(CLOCK_FACTOR * self.limit)
        answers, seconds = _answers(self.place / "Asked.log"), {}
        for name in files:
            seconds |= _proving(self.place / f"{name}.time", self.listed)
        rows = []
        for theorem in theorems:
            said, asking = answers.get(theorem, (None, 0.0))
            verdict, detail = self._outcome(home[theorem], said, errors)
            rows.append(TheoremCheck(theorem, verdict, round(seconds.get(theorem, 0.0) + asking, 3), detail))
        return rows

    def _outcome(self, home: str | None, said: str | None, errors: str) -> tuple[str, str | None]:
        if said is not None:
            return (HOLDS, None) if said == CLOSED else (NO_EVIDENCE, said)
        if not home:
            return ERROR, "no such theorem in the sources"
        errors = self.failed.get(home, errors)
        late = errors if errors.startswith("time-out") else out_of_time(errors, self.limit)
        return (NO_EVIDENCE, late) if late else (ERROR, first_error(errors))

    def compile(self, names: Iterable[str]) -> None:
        """Compile these files and those that they build on, as far as it can be done."""
        wanted = [name for name in self._in_order(names) if name not in self.done and name not in self.failed]
        known, total = len(self.done), len(self.done) + len(wanted)
        running: dict[str, tuple[subprocess.Popen[bytes], float]] = {}
        try:
            while wanted or running:
                for name in [
                    name for name in wanted if not set(self._needs.get(name, ())) - self.done - {*self.failed}
                ]:
                    broken = next((need for need in self._needs.get(name, ()) if need in self.failed), None)
                    if broken:
                        self.failed[name] = self.failed[broken]
                    elif self.kept and self.kept.take(name, self.place, self._needs.get(name, ())):
                        self.done.add(name)
                    elif len(running) < AT_A_TIME:
                        self.progress(f"{name}.v", len(self.done) - known, total - known)
                        running[name] = self._started(name), time.monotonic()
                    else:
                        continue
                    wanted.remove(name)
                for name in [name for name, begun in running.items() if self._ended(name, *begun)]:
                    del running[name]
                time.sleep(0.02 if running else 0)
        finally:
            for process, _ in running.values():
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def _in_order(self, names: Iterable[str]) -> list[str]:
        """The files and all that they build on, none before those."""
        order: dict[str, None] = {}

        def add(name: str) -> None:
            if name not in order:
                for need in self._needs.get(name, ()):
                    add(need)
                order[name] = None

        for name in names:
            add(name)
        return list(order)

    def _started(self, name: str) -> subprocess.Popen[bytes]:
        with open(self.place / f"{name}.err", "wb") as errors:
            command = limited(["make", f"{name}.vo"], self.limit)
            return subprocess.Popen(
                command, cwd=self.place, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True
            )

    def _ended(self, name: str, process: subprocess.Popen[bytes], begun: float) -> bool:
        """Whether its compilation has ended, which is then noted."""
        if process.poll() is None:
            if time.monotonic() - begun < CLOCK_FACTOR * self.limit:
                return False
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            self.failed[name] = NOT_ENDING.format(CLOCK_FACTOR * self.limit)
        elif process.returncode == 0:
            self.done.add(name)
            if self.kept:
                self.kept.put(name, self.place, self._needs.get(name, ()))
        else:
            self.failed[name] = (self.place / f"{name}.err").read_text(errors="replace")
        return True


class KeptFiles:
    """Compiled files under the digest of what they were made of; each is there whole or not at all."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        library = Path(_answer("coqc", "-where")) / "user-contrib" / "mathcomp"
        digest = hashlib.sha256(_answer("coqc", "--print-version").encode())
        for part in LIBRARY:  # compiled files hold the digests of those that they build on
            digest.update((library / part).read_bytes())
        self._tools = digest.digest()

    def _name(self, name: str, place: Path, needs: Iterable[str]) -> str:
        digest = hashlib.sha256(self._tools + (place / "Makefile").read_bytes() + (place / f"{name}.v").read_bytes())
        for need in needs:
            digest.update(hashlib.sha256((place / f"{need}.vo").read_bytes()).digest())
        return f"{name}-{digest.hexdigest()}"

    def take(self, name: str, place: Path, needs: Iterable[str]) -> bool:
        """Put what is kept of a file into the place; whether there is any."""
        kept = self._name(name, place, needs)
        if not (self.folder / f"{kept}.vo").is_file():
            return False
        for ending in ("time", "vo"):
            shutil.copyfile(self.folder / f"{kept}.{ending}", place / f"{name}.{ending}")
        return True

    def put(self, name: str, place: Path, needs: Iterable[str]) -> None:
        """Keep a compiled file in the place of what was kept of it before."""
        kept = self._name(name, place, needs)
        for old in self.folder.glob(f"{name}-*"):
            old.unlink()
        for ending in ("time", "vo"):  # the second says that both are there
            part = self.folder / f"{kept}.part"
            shutil.copyfile(place / f"{name}.{ending}", part)
            part.replace(self.folder / f"{kept}.{ending}")


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


def _proving(log: Path, listed: Sequence[str]) -> dict[str, float]:
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
