"""Running Coq on the machine-checked proofs of ``mechanized/``, in a copy, and reading what it answers."""

import hashlib
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import NamedTuple

from draftproof.models.digests import coq_sources, sha256_of
from draftproof.models.files import write_atomically
from draftproof.models.store import Store
from draftproof.proofs.side_by_side import Turns
from draftproof.verifiers.evidence import ERROR, HOLDS, NO_EVIDENCE

PACKAGES = "Debian: coq libcoq-mathcomp-algebra libcoq-mathcomp-algebra-tactics libcoq-flocq make"
VERSION = "8.16"
"""Coq version that the sources are written for, with MathComp 1.15 and Flocq 4.1."""

LIBRARY = ("mathcomp/algebra/all_algebra.vo", "mathcomp/algebra_tactics/ring.vo", "Flocq/IEEE754/BinarySingleNaN.vo")
"""Files of MathComp and Flocq that the sources need."""

AT_A_TIME = 2
"""Number of files that are compiled at the same time, where the caller does not say."""

Progress = Callable[[str, int, int], None]

TIME_LIMIT = 600
"""Seconds of processor time that Coq has for each file."""

CLOCK_FACTOR = 20
"""Seconds by the clock for each second of processor time, after which Coq is ended."""

NOT_ENDING = "time-out: not done within {} s by the clock"
CLOSED = "Closed under the global context"
ALLOWED = frozenset(
    [
        "ClassicalDedekindReals.sig_not_dec",
        "ClassicalDedekindReals.sig_forall_dec",
        "FunctionalExtensionality.functional_extensionality_dep",
        "Classical_Prop.classic",
        "ClassicalEpsilon.constructive_indefinite_description",
    ]
)
"""Axioms of Coq's standard library that the theorems of ``over_the_reals`` may rest on."""

ASSUMED = re.compile(r"^([A-Za-z][\w.']*)(?= :|$)", re.MULTILINE)
"""Names of axioms in Coq's answer: they begin a line, and what they say follows."""

LISTED = re.compile(r"^  let _ := @(\w+) in$", re.MULTILINE)
"""Lines by which Axioms.v lists a theorem, and asks about several at once."""
TOGETHER = "asked_together"
SENTENCE = re.compile(r"Chars (\d+) - (\d+) \[.*\] [\d.]+ secs \(([\d.]+)u,([\d.]+)s\)")
COMPLAINT = re.compile(r'File "(?:\./)?([^"]+)", line (\d+)[^\n]*\n(Error:.*?)(?=\n\n|\nmake|\nFile|\Z)', re.DOTALL)
STATEMENT = r"^(?:Theorem|Lemma|Corollary|Canonical) {}\b"


class TheoremCheck(NamedTuple):
    """A theorem and what Coq says of it.

    holds: proved, and ``Print Assumptions`` names nothing it rests on, or for a theorem over the reals nothing but
    ``ALLOWED``. no-evidence: it rests on something, or time ran
    out. error: its file does not compile; a proof that breaks refutes nothing.
    seconds: of CPU time, for its proof and what its file has before it, from the listed theorem before on.
    """

    theorem: str
    verdict: str
    seconds: float
    detail: str | None = None


def missing() -> str | None:
    """Return one sentence that says what of Coq and MathComp is not installed; None if it can be run."""
    for program in ("coqc", "make"):
        if shutil.which(program) is None:
            return f"{program} is not installed; the proofs need Coq {VERSION} with MathComp 1.15 ({PACKAGES})"
    version = _answer("coqc", "--print-version").split()
    if not version or not version[0].startswith(VERSION + "."):
        return f"the proofs need Coq {VERSION} with MathComp 1.15 ({PACKAGES}); coqc is {' '.join(version[:1])}"
    library = _library()
    for part in LIBRARY:
        if not (library / part).is_file():
            return f"Coq is installed without {part.rsplit('/', 1)[0]}; the proofs need it ({PACKAGES})"
    return None


def _answer(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout.strip()


@contextmanager
def workplace(folder: Path | None = None) -> Iterator[Path]:
    """Yield a folder with the Coq sources to compile in: a temporary one, or the given one, which keeps its files."""
    if folder is None:
        with TemporaryDirectory(prefix="draftproof-coq-") as temporary, workplace(Path(temporary)) as place:
            yield place
        return
    folder.mkdir(parents=True, exist_ok=True)
    for source in coq_sources():
        if not (folder / source.name).exists():
            shutil.copy(source, folder)
    yield folder


def run_in(
    place: Path, command: list[str], limit: int, running: set[int] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command there; each process it starts ends after ``limit`` seconds of processor time.

    A process that waits for ever instead is ended with all others after ``CLOCK_FACTOR`` times that by the clock.
    running: has its process group while it runs.
    Raises: subprocess.TimeoutExpired.
    """
    limited = ["sh", "-c", f'ulimit -S -t {limit}; ulimit -c 0; exec "$@"', "sh", *command]
    pipe, running = subprocess.PIPE, set() if running is None else running
    with subprocess.Popen(limited, cwd=place, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as process:
        running.add(process.pid)
        try:
            output, errors = process.communicate(timeout=CLOCK_FACTOR * limit)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        finally:
            running.discard(process.pid)
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def make(place: Path, *targets: str, limit: int) -> subprocess.CompletedProcess[str]:
    """Make the targets there, as far as they can be made, two at a time."""
    return run_in(place, ["make", "--keep-going", "--output-sync", "--jobs=2", *targets], limit)


def first_error(text: str) -> str:
    """Return Coq's first complaint, in one line, with its file and line."""
    complaint = COMPLAINT.search(text)
    if not complaint:
        return " ".join(text.split())[-300:]
    return f"{complaint[1]}, line {complaint[2]}: {' '.join(complaint[3].split())}"[:300]


def out_of_time(errors: str, limit: int) -> str | None:
    """Return in one sentence which file Coq had not finished when its processor time was over; None if all were."""
    killed = re.search(r"\b(\w+)\.(?:vo|log)\] \D*152\b", errors)
    return f"time-out: {killed[1]}.v not done within {limit} s of processor time" if killed else None


class Build:
    """The sources in a folder, compiled file by file, several at a time, as theorems of theirs are asked about.

    kept: a folder that gets each file as soon as it is compiled, and from which it is taken the next time, where its
    source, the compiled files it builds on, Coq and MathComp are the same.
    progress: called when a file is begun, with its name, how many of those needed are there, and how many are needed.
    turns: those in which Coq runs; None if no others run beside it.
    """

    def __init__(
        self,
        place: Path,
        kept: Path | None = None,
        limit: int = TIME_LIMIT,
        progress: Progress = lambda *_: None,
        turns: Turns | None = None,
    ):
        self.place, self.kept, self.limit, self.progress = place, kept, limit, progress
        self.turns = turns or Turns(AT_A_TIME)
        self.done: set[str] = set()
        self.failed: dict[str, str] = {}
        """File -> what was said where it, or one that it builds on, does not compile."""
        self.listed = listed(place)
        self.over_the_reals = frozenset(over_the_reals(place))
        rules = re.findall(r"^(\w+)\.vo: (.+)$", (place / "Makefile").read_text(), re.MULTILINE)
        self._needs = {name: re.findall(r"(\w+)\.vo", needs) for name, needs in rules}

    def check(self, theorems: Sequence[str]) -> list[TheoremCheck]:
        """Return what Coq says of each theorem, once the files that it needs are compiled.

        A term that has all of them is asked about, and another one for those over the reals; each theorem alone where
        a term rests on something else or cannot be made.
        """
        home = {theorem: _home(self.place, theorem) for theorem in theorems}
        files = sorted({name for name in home.values() if name})
        self.compile(files)
        compiled = [name for name in files if name in self.done]
        asked = [theorem for theorem in theorems if home[theorem] in self.done]
        answers: dict[str, tuple[str, float]] = {}
        errors = ""
        for group in (
            [x for x in asked if x not in self.over_the_reals],
            [x for x in asked if x in self.over_the_reals],
        ):
            if group:
                said, complaints = self._ask_together(compiled, group)
                answers, errors = answers | said, errors + complaints
        seconds: dict[str, float] = {}
        for name in files:
            seconds |= _proving(self.place / f"{name}.time", self.listed)
        rows = []
        for theorem in theorems:
            said, asking = answers.get(theorem, (None, 0.0))
            verdict, detail = self._outcome(theorem, home[theorem], said, errors)
            rows.append(TheoremCheck(theorem, verdict, round(seconds.get(theorem, 0.0) + asking, 3), detail))
        return rows

    def _ask_together(self, files: list[str], theorems: list[str]) -> tuple[dict[str, tuple[str, float]], str]:
        """Return what Coq says of each theorem: of one term that has them all if that is enough, or else of each."""
        of_all = "".join(f"\n  let _ := @{theorem} in" for theorem in theorems)
        answers, _ = self._ask(files, f"Definition {TOGETHER} :={of_all}\n  tt.\n", [TOGETHER])
        said, taken = answers.get(TOGETHER, (None, 0.0))
        if said is not None and all(self._rests_on_enough(theorem, said) for theorem in theorems):
            return {theorem: (said, taken / len(theorems)) for theorem in theorems}, ""
        return self._ask(files, "", theorems)

    def _rests_on_enough(self, theorem: str, said: str) -> bool:
        """Return whether the theorem is closed, or over the reals and rests on nothing but ``ALLOWED``."""
        assumed = {*ASSUMED.findall(said)}
        return said == CLOSED or (theorem in self.over_the_reals and bool(assumed) and assumed <= ALLOWED)

    def _ask(self, files: list[str], defined: str, names: list[str]) -> tuple[dict[str, tuple[str, float]], str]:
        """Return what Coq says each of the names rests on, with the seconds it took, and its complaints."""
        imported = f"From Draftproof Require Import {' '.join(files)}.\n" if files else ""
        questions = "".join(f"Print Assumptions {name}.\n" for name in names)
        (self.place / "Asked.v").write_text(imported + defined + questions)
        (self.place / "Asked.log").unlink(missing_ok=True)
        try:
            with self.turns:
                errors = run_in(self.place, ["make", "Asked.log"], self.limit, self.turns.groups).stderr
        except subprocess.TimeoutExpired:
            errors = NOT_ENDING.format(CLOCK_FACTOR * self.limit)
        return _answers(self.place / "Asked.log"), errors

    def _outcome(self, theorem: str, home: str | None, said: str | None, errors: str) -> tuple[str, str | None]:
        if said is not None:
            return (HOLDS, None) if self._rests_on_enough(theorem, said) else (NO_EVIDENCE, " ".join(said.split()))
        if not home:
            return ERROR, "no such theorem in the sources"
        errors = self.failed.get(home, errors)
        late = errors if errors.startswith("time-out") else out_of_time(errors, self.limit)
        return (NO_EVIDENCE, late) if late else (ERROR, first_error(errors))

    def compile(self, names: Iterable[str]) -> None:
        """Compile these files and those that they build on, as far as it can be done."""
        graph: dict[str, list[str]] = {}
        left = [*names]
        while left:
            name = left.pop()
            graph[name] = self._needs.get(name, [])
            left += [need for need in graph[name] if need not in graph]
        order, known = TopologicalSorter(graph), self.done | self.failed.keys()
        order.prepare()
        total = len(graph.keys() - known)
        with KeptFiles(self.place, self.kept) as kept, ThreadPoolExecutor(self.turns.jobs) as pool:
            running: dict[Future[None], str] = {}
            try:
                while order.is_active():
                    for name in order.get_ready():
                        at = len(self.done - known)
                        running[pool.submit(self._compile, name, graph[name], kept, at, total)] = name
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        future.result()
                        order.done(running.pop(future))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                self.turns.stop()
                raise

    def _compile(self, name: str, needs: list[str], kept: "KeptFiles", at: int, total: int) -> None:
        if name in self.done or name in self.failed:
            return
        if broken := [self.failed[need] for need in needs if need in self.failed]:
            self.failed[name] = broken[0]
        elif kept.take(name, needs):
            self.done.add(name)
        else:
            try:
                with self.turns:
                    self.progress(f"{name}.v", at, total)
                    made = run_in(self.place, ["make", f"{name}.vo"], self.limit, self.turns.groups)
            except subprocess.TimeoutExpired:
                self.failed[name] = NOT_ENDING.format(CLOCK_FACTOR * self.limit)
                return
            if made.returncode == 0:
                kept.put(name, needs)
                self.done.add(name)
            else:
                self.failed[name] = made.stderr


class KeptFiles:
    """A folder of compiled files, each with the digest of what it was made of. Only whole files are taken."""

    def __init__(self, place: Path, folder: Path | None):
        self.place, self.folder, self._lock = place, folder, Lock()
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
        self._store = Store(folder and folder / "compiled.jsonl", "files that Coq compiled")

    def __enter__(self) -> "KeptFiles":
        return self

    def __exit__(self, *failure: object) -> None:
        self._store.close()

    def take(self, name: str, needs: Iterable[str]) -> bool:
        """Put what is kept of a file into the place; whether there is any."""
        row = self._store.rows.get((name, self._made_of(name, needs))) if self.folder else None
        files = [(self.folder / file, digest) for file, digest in row.items()] if self.folder and row else []
        if not files or any(not file.is_file() or sha256_of(file) != digest for file, digest in files):
            return False
        for file, _ in files:
            shutil.copy(file, self.place)
        return True

    def put(self, name: str, needs: Iterable[str]) -> None:
        """Keep a compiled file in the place of what was kept of it before."""
        if self.folder:
            made = [self.place / f"{name}.{ending}" for ending in ("time", "vo")]
            for file in made:
                write_atomically(self.folder / file.name, file.read_bytes())
            with self._lock:
                self._store.put((name, self._made_of(name, needs)), {file.name: sha256_of(file) for file in made})

    def _made_of(self, name: str, needs: Iterable[str]) -> str:
        files = [self.place / "Makefile", self.place / f"{name}.v", *(self.place / f"{need}.vo" for need in needs)]
        return hashlib.sha256(repr([_tools(), *map(sha256_of, files)]).encode()).hexdigest()


@cache
def _tools() -> list[str]:
    """Return Coq's version, and the digests of MathComp's and Flocq's files, which compiled files hold."""
    return [_answer("coqc", "--print-version"), *(sha256_of(_library() / part) for part in LIBRARY)]


def _library() -> Path:
    return Path(_answer("coqc", "-where")) / "user-contrib"


def listed(place: Path) -> list[str]:
    """Return the theorems that Axioms.v asks about, in its order."""
    return LISTED.findall((place / "Axioms.v").read_text())


def over_the_reals(place: Path) -> list[str]:
    """Return the theorems of Axioms.v that may rest on axioms of Coq's standard library."""
    _, _, after = (place / "Axioms.v").read_text().partition("\nDefinition over_the_reals :=\n")
    return LISTED.findall(after)


def _home(place: Path, theorem: str) -> str | None:
    """Return the name of the file that states the theorem."""
    stated = re.compile(STATEMENT.format(theorem), re.MULTILINE)
    return next((file.stem for file in sorted(place.glob("*.v")) if stated.search(file.read_text())), None)


def _sentences(log: Path) -> Iterator[tuple[str, str, float]]:
    """Return for each sentence that Coq was given its text, Coq's answer, and the CPU seconds."""
    source, answer = log.with_suffix(".v").read_bytes(), []
    for line in log.read_text().splitlines() if log.is_file() else ():
        timed = SENTENCE.match(line)
        if timed:
            text = source[int(timed[1]) : int(timed[2])].decode()
            yield text, "\n".join(answer), float(timed[3]) + float(timed[4])
            answer = []
        else:
            answer.append(line.rstrip())


def seconds_of(log: Path) -> float:
    """Return the processor time of all sentences of a log."""
    return sum(taken for _, _, taken in _sentences(log))


def _answers(log: Path) -> dict[str, tuple[str, float]]:
    """Return for each theorem that was asked about what Coq said, and the seconds it took."""
    asked = ((re.match(r"Print Assumptions (\w+)\.", text), said, taken) for text, said, taken in _sentences(log))
    return {question[1]: (said, taken) for question, said, taken in asked if question}


def _proving(log: Path, listed: Sequence[str]) -> dict[str, float]:
    """Return the seconds of each listed theorem of a file, counted from the theorem before it."""
    seconds, theorem, taken = {}, None, 0.0
    for sentence, _, more in _sentences(log):
        taken += more
        stated = re.match(STATEMENT.format(r"(\w+)"), sentence)
        if stated and stated[1] in listed:
            theorem = stated[1]
        if theorem and sentence.startswith(("Qed", "Defined", "Canonical")):
            seconds[theorem], theorem, taken = taken, None, 0.0
    return seconds
