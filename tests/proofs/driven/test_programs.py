"""Programs that speak JSON lines: right ones in several languages, and whatever else a program may do."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import draftproof
from draftproof.models.battery import drawn, toy
from draftproof.models.errors import RunFailed
from draftproof.proofs import child_process
from draftproof.proofs.audit_claims import judge
from draftproof.proofs.driven import programs
from draftproof.proofs.driven.answers import answers
from draftproof.proofs.driven.programs import DrivenProgram
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.time_limits import TimeLimits
from draftproof.tests.refusals import one_line
from draftproof.verifiers.adapters.calling_convention import NotASubject

pytestmark = [pytest.mark.interception, pytest.mark.usefixtures("fewer_confirmations")]
ROOT = Path(draftproof.__file__).parent
PROGRAM = Path(__file__).parents[2] / "subjects" / "programs.py"
HURRIED = TimeLimits(0.3, 0.0)  # 0.05 s of processor time and 0.5 s by the clock for a call
RUSTC = shutil.which("rustc") or shutil.which("rustc", path=str(Path.home() / ".cargo" / "bin"))
BUILDS = {
    "driven.cpp": (shutil.which("g++"), ["-O2", "-std=c++17", "-o"]),
    "driven.rs": (RUSTC, ["-O", "-o"]),
    "driven.js": (shutil.which("node"), None),
}


def examine(command, problem, limits=TimeLimits(30.0)):  # noqa: B008
    """The measurement of a program; what is raised meanwhile ends the program."""
    program = DrivenProgram(command, limits, 8.0)
    try:
        program.probe([toy(1)])
        return measured(problem, program.dtype, answers(program, problem))
    finally:
        program.pipes.end()


def misbehaving(how):
    return shlex.join([sys.executable, "-S", str(PROGRAM), how])


@pytest.mark.parametrize("name", BUILDS)
def test_examples_in_other_languages_are_lossless_and_their_wrong_twins_are_refuted(name, tmp_path):
    compiler, options = BUILDS[name]
    if compiler is None:
        pytest.skip(f"{name}: no compiler or interpreter for it on this machine")
    source = ROOT / "examples" / name
    if not source.is_file():
        pytest.skip(f"{name}: the examples are in the repository, not in the wheel")
    assert len(source.read_text().splitlines()) <= 150
    command = [compiler, str(source)]
    if options is not None:
        built = tmp_path / "driven"
        subprocess.run([compiler, *options, built, source], check=True, cwd=tmp_path)
        command = [str(built)]
    for problem in (toy(2), drawn(3, 2, "zeros")):
        lossless, support, _ = judge(examine(shlex.join(command), problem))
        assert lossless.holds and support.holds
    assert judge(examine(shlex.join([*command, "--wrong"]), toy(2)))[0].refuted
    for text in ("hello\n", "\n", "[1, 2]\n"):
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        assert done.stderr == f'no request: \'{text.strip()}\'; expected {{"id": .., "target": .., ...}}\n'
        assert done.returncode == 2 and done.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("a list", 'its first line is \'[1]\'; expected {"protocol": "draftproof-1"'),
        ("no random", "its first line: the field 'random' is missing"),
        ("shape", "random\": [0].shape[0]: invalid enum value 'batch'"),
        ("bits", '"random": [0].bits: expected int <= 53'),
        ("dtype", "its first line: dtype: invalid enum value 'int4'"),
        ("batch", "its first line: batch: expected int >= 1"),
        ('{"dtype": ["float32"]}', "its first line: dtype: expected str, got array"),
        ('{"drafting": ["sideways"]}', "its first line: drafting[0]: invalid enum value 'sideways'"),
        ('{"random": {"name": "u"}}', "its first line: random: expected str | array, got object"),
        ('{"random": [{"name": ["u"]}]}', '"random": [0].name: expected str, got array'),
        (
            '{"random": [{"name": "u", "kind": "uniform", "shape": [], "keyed": 7}]}',
            "[0].keyed: expected bool, got int",
        ),
        ("error", "raises on every call: error: out of registers"),
        ("text", "returned text ('0 1')"),
    ],
)
def test_a_program_that_cannot_be_asked_is_told_in_one_line(how, text):
    assert text in one_line(examine, misbehaving(how), toy(1), error=NotASubject)


@pytest.mark.parametrize(
    ("how", "kind", "text"),
    [
        ("no json", "crash", "a line that is not JSON: 'hello'"),
        ("deep", "crash", "a line that is not JSON: '[[["),
        ("floods", "crash", "a line of more than 1,048,576 bytes: 'xxx"),
        ("leaves", "crash", "the program ended (exit status 1): no GPU here"),
        ("silent", "timeout", "its first line: not done within"),
        ("never reads", "timeout", "of wall-clock time"),
        ("wrong id", "crash", 'answers a request that was not asked: \'{"id": 1000'),
        ("twice", "crash", "a request "),
        ("no tokens", "crash", 'expected {"id": .., "emitted": [..]}'),
        ("huge text", "crash", 'it answers \'{"id": 0, "emitted": [999'),
        ("not utf-8", "crash", "a line that is not JSON"),
        ("crashes", "crash", "killed by SIGABRT"),
        ("forks and leaves", "crash", "the program ended (exit status 0)"),
        ("closes", "crash", "it closed its output"),
        ("spins", "timeout", "s of processor time"),
        pytest.param("sleeps", "timeout", "s of wall-clock time", marks=pytest.mark.long),
        ("fills its memory", "crash", "MemoryError"),
    ],
)
def test_what_a_program_does_instead_of_answering_is_told_in_one_line(how, kind, text, monkeypatch):
    hurried = TimeLimits(0.5) if how == "spins" else HURRIED  # on a busy machine it takes long to spin half a second
    monkeypatch.setattr(child_process, "TIME_TO_END", 0.5)
    limits = hurried if kind == "timeout" else TimeLimits(30.0)
    with pytest.raises(RunFailed) as caught:
        examine(misbehaving(how), drawn(3, 2, "generic"), limits)
    assert caught.value.kind == kind
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_program_that_computes_elsewhere_does_not_wait(monkeypatch):
    """Its child computes for longer than it may wait, and it starts to speak then."""
    monkeypatch.setattr(programs, "WAITING", 1.0)
    burn = f"{sys.executable} -S -c 'import time\nwhile time.process_time() < 2: pass'"
    law = examine(shlex.join(["sh", "-c", f"{burn}; exec {misbehaving('')}"]), toy(1))
    assert law.known


@pytest.mark.parametrize("how", ["outside", "huge"])
def test_tokens_outside_the_vocabulary_are_a_refutation(how):
    assert judge(examine(misbehaving(how), toy(1)))[0].refuted


def test_a_program_that_is_not_there_is_told():
    with pytest.raises(NotASubject, match=r"nosuchprogram: cannot be run \(No such file or directory\)"):
        examine("/nosuchprogram --fast", toy(1))
    with pytest.raises(NotASubject, match="is no command"):
        examine("'", toy(1))


def test_a_program_may_have_any_precision_and_be_sent_the_parents_of_the_block():
    lossless, *_ = judge(examine(misbehaving("bfloat16, parents"), drawn(3, 2, "generic")))
    assert lossless.holds and lossless.dtype == "bfloat16"
