"""The C header: what it writes is what the Python recorder writes, and `draftproof steps` judges the C++ example."""

import ctypes
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import draftproof
from draftproof.models.errors import InputError
from draftproof.models.recorded_steps import Recording
from draftproof.recording import Recorder, header
from draftproof.reports.audits.steps.run import audit_steps
from draftproof.tests.choices import long_unless

from .recordings import softmax

COMPILERS = {"c": shutil.which("gcc") or shutil.which("cc"), "c++": shutil.which("g++")}
EXAMPLES = Path(draftproof.__file__).parent / "examples"
RUSTC = shutil.which("rustc") or shutil.which("rustc", path=str(Path.home() / ".cargo" / "bin"))
SETTINGS = [None, {"temperature": 0.5}, {"note": 'é"', "temperature": 0.7}]

pytestmark = pytest.mark.skipif(not all(COMPILERS.values()), reason="needs gcc and g++")


def compiled(source, place, language, *options):
    """The path of a program compiled with the header; a warning is an error."""
    strict = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", f"-I{header().parent}"]
    command = [COMPILERS[language], *strict, *options, "-x", language, source, "-o", place, "-lm"]
    subprocess.run(command, check=True)
    return place


@pytest.fixture(scope="module")
def record_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("c")
    return compiled(Path(__file__).with_name("record_file.c"), folder / "record_file", "c", "-std=c99")


def build(source, folder):
    """The path of an example's program, in C++ or in Rust."""
    if source.suffix == ".cpp":
        return compiled(source, folder / source.stem, "c++")
    exported = compiled(header(), folder / "recording.o", "c", "-DDRAFTPROOF_API=", "-c")
    linked = ["-C", f"link-arg={exported}", "-C", "link-arg=-lm"]
    subprocess.run([RUSTC, "-O", "-D", "warnings", *linked, "-o", folder / source.stem, source], check=True)
    return folder / source.stem


def steps_of_every_kind(rng, vocabulary, count):
    """Steps with and without each optional part, chains and trees, greedy rows with zeros, and padded emissions."""
    for number in range(count):
        drafts = int(rng.integers(0, 5))
        logits = (rng.normal(size=(drafts + 1, vocabulary)) * 2.5).astype(np.float32)
        target = softmax(logits).astype(np.float32)
        if number % 5 == 0:
            target *= target > np.sort(target)[:, -6][:, None]
        step = {
            "target": target, "drafts": rng.integers(0, vocabulary, drafts).astype(np.int32), "request": number // 4,
            "emitted": rng.integers(0, vocabulary + 1, int(rng.integers(1, drafts + 2))).astype(np.int32),
            "place": number, "slot": number // 4 % 3 - 1, "draft_known": number % 7 != 3,
            "which": int(rng.integers(0, 3)),
        }  # fmt: skip
        step["emitted"] = np.concatenate([step["emitted"], np.full(number % 2, -1, dtype=np.int32)])
        if number % 3 and step["draft_known"]:
            step["draft"] = softmax(rng.normal(size=(drafts, vocabulary)) * 2.5).astype(np.float32)
        if number % 4 == 1:
            step["parents"] = np.array([int(rng.integers(-1, i)) if i else -1 for i in range(drafts)], dtype=np.int32)
        if number % 6 == 2:
            step["logits"] = logits
        if number % 6 in (2, 3):
            step["history"] = rng.integers(0, vocabulary, int(rng.integers(0, 4))).astype(np.int32)
            step["uniforms"] = rng.random(drafts)
            step["logprobs"] = np.log(rng.random(len(step["emitted"])))
        yield step


def write(steps, file):
    """Write steps as record_file.c reads them."""
    with file.open("wb") as out:
        for step in steps:
            given = [int(name in step) for name in ("draft", "parents", "uniforms", "logprobs", "logits")]
            history = len(step["history"]) if "history" in step else -1
            sizes = [step["request"], len(step["drafts"]), len(step["emitted"]), history, int(not step["draft_known"])]
            out.write(np.array([*sizes, *given, step["which"]], dtype=np.int32).tobytes())
            for name in (
                "target",
                "draft",
                "logits",
                "drafts",
                "parents",
                "emitted",
                "history",
                "uniforms",
                "logprobs",
            ):
                out.write(step[name].tobytes() if name in step else b"")


def run(program, file, folder, vocabulary, listed, shard_steps=512, one_of=1, seed=0, before=""):
    numbers = map(str, (vocabulary, listed, shard_steps, one_of, seed))
    command = [str(program), str(file), str(folder), *numbers]
    if before:
        command = ["bash", "-c", f'{before}; exec "$0" "$@"', *command]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seen, recorded, failed, error = done.stdout.split(" ", 3)
    return int(seen), int(recorded), int(failed), error.strip()


@pytest.mark.parametrize(("vocabulary", "listed", "one_of", "seed"), [(300, 8, 1, 0), (40, 256, 1, 0), (60, 5, 3, -9)])
def test_the_header_writes_what_the_python_recorder_writes(record_file, tmp_path, vocabulary, listed, one_of, seed):
    steps = list(steps_of_every_kind(np.random.default_rng(2), vocabulary, 60))
    write(steps, tmp_path / "steps")
    seen, recorded, failed, error = run(
        record_file, tmp_path / "steps", tmp_path / "c", vocabulary, listed, 16, one_of, seed
    )
    python = Recorder(tmp_path / "p", vocabulary, listed=listed, shard_steps=16, one_of=one_of, seed=seed, rule="token",
                      engine='a "C" engine', settings={"top_k": 0})  # fmt: skip
    for step in steps:
        if python.chosen():
            step["settings"] = SETTINGS[step.pop("which")]
            python.step(**step)
    python.close()
    assert (seen, failed, error) == (60, 0, "") and recorded == python.recorded
    headers = [json.loads((tmp_path / name / "header.json").read_text()) for name in ("c", "p")]
    headers[1].pop("edges")
    assert headers[0] == headers[1]
    opened = [Recording.open(tmp_path / name) for name in ("c", "p")]
    assert [path.name for path in opened[0].shards] == [path.name for path in opened[1].shards]
    for mine, theirs in zip(opened[0].shards, opened[1].shards):
        (a, b) = opened[0].read(mine), opened[1].read(theirs)
        assert a.counts["recorded"] == b.counts["recorded"]
        for one, other in zip(a.arrays.pop("settings"), b.arrays.pop("settings")):
            assert (one < 0 and other < 0) or a.settings[one] == b.settings[other]
        assert a.arrays.keys() == b.arrays.keys()
        for name, values in a.arrays.items():
            expected = b.arrays[name]
            assert values.dtype == expected.dtype and values.shape == expected.shape, name
            if name == "logits_rest":  # summed in float32 there, in double here
                np.testing.assert_allclose(values, expected, rtol=1e-5)
            else:
                np.testing.assert_array_equal(values, expected, err_msg=name)


def test_what_cannot_be_recorded_is_counted_and_ends_nothing(record_file, tmp_path):
    steps = list(steps_of_every_kind(np.random.default_rng(3), 50, 12))
    steps[4]["drafts"] = np.array([50, *steps[4]["drafts"][1:]], dtype=np.int32)[: len(steps[4]["drafts"])]
    assert len(steps[4]["drafts"])
    write(steps, tmp_path / "steps")
    _, recorded, failed, error = run(record_file, tmp_path / "steps", tmp_path / "c", 50, 8)
    assert (recorded, failed) == (11, 1) and error == "no target, or drafts, emitted or parents out of range"
    assert Recording.open(tmp_path / "c").read(tmp_path / "c" / "steps-000000.safetensors").steps == 11
    assert "recording-failed" in audit_steps(tmp_path / "c", "unknown").findings


def test_a_recording_goes_on_writes_over_no_shard_and_leaves_another_one_alone(record_file, tmp_path):
    write(steps_of_every_kind(np.random.default_rng(3), 50, 10), tmp_path / "steps")
    for _ in range(2):
        assert run(record_file, tmp_path / "steps", tmp_path / "c", 50, 8, 5)[1:] == (10, 0, "")
    shards = Recording.open(tmp_path / "c").shards
    assert [path.name[6:12] for path in shards] == ["000000", "000001", "000002", "000003"]
    shards[1].unlink()  # moved away
    assert run(record_file, tmp_path / "steps", tmp_path / "c", 50, 8, 5)[1:] == (10, 0, "")
    assert len(Recording.open(tmp_path / "c").shards) == 5
    assert run(record_file, tmp_path / "steps", tmp_path / "c", 50, 9)[1:] == (
        0,
        0,
        "header.json: of another recording",
    )
    file = tmp_path / "file"
    file.touch()
    assert run(record_file, tmp_path / "steps", file / "c", 50, 8)[1:] == (0, 0, "header.json: Not a directory")
    for place, listed in ((tmp_path / "d", -1), ("", 8), ("/".join([*"abcde"] * 100), 8)):  # no folder, or one too long
        assert run(record_file, tmp_path / "steps", place, 50, listed)[1:3] == (0, 0)
        assert run(record_file, tmp_path / "steps", place, 50, listed)[3].startswith("expected a folder, a vocabulary")
    other = Recording.open(tmp_path / "c")
    run(record_file, tmp_path / "steps", tmp_path / "e", 50, 9)
    with pytest.raises(InputError, match="of another recording"):
        other.read(tmp_path / "e" / "steps-000000.safetensors")


def test_a_disk_that_is_full_leaves_no_part_of_a_shard(record_file, tmp_path):
    write(steps_of_every_kind(np.random.default_rng(3), 5000, 10), tmp_path / "steps")
    full = run(record_file, tmp_path / "steps", tmp_path / "c", 5000, 2000, before="trap '' XFSZ; ulimit -f 20")
    assert full == (10, 0, 10, "a shard: File too large")
    assert {path.name for path in (tmp_path / "c").iterdir()} == {"header.json", "steps-000000.safetensors"}
    report = audit_steps(tmp_path / "c", "unknown")  # the last shard is empty, and says why
    assert report.findings["recording-failed"].startswith("10 steps could not be recorded: a shard: File too large")


@pytest.mark.parametrize("source", long_unless(("record_steps.cpp", "record_steps.rs"), {"record_steps.cpp"}))
def test_an_example_is_not_refuted_and_its_planted_bug_is(source, tmp_path):
    if not (EXAMPLES / source).is_file():
        pytest.skip("the examples are in the repository, not in the wheel")
    if source.endswith(".rs") and not RUSTC:
        pytest.skip("needs rustc")
    example = build(EXAMPLES / source, tmp_path)
    for name, options in (("right", []), ("wrong", ["--wrong"])):
        subprocess.run([example, tmp_path / name, *options], check=True)
    right, wrong = audit_steps(tmp_path / "right"), audit_steps(tmp_path / "wrong")
    assert right.verdict != "refuted" and right.steps["counts"]["recorded"] == 1000
    assert wrong.verdict == "refuted" and wrong.steps["refuted_at"] <= 50
    assert wrong.steps["behaves_like"][0]["name"] == "M11"


def test_the_header_is_short_and_installed_beside_the_recorder():
    assert header().is_file() and len(header().read_text().splitlines()) <= 300


def test_other_languages_call_the_functions_that_a_c_file_exports(tmp_path):
    (tmp_path / "recording.c").write_text("#define DRAFTPROOF_API\n#include <draftproof_recording.h>\n")
    library = ctypes.CDLL(str(compiled(tmp_path / "recording.c", tmp_path / "recording.so", "c", "-shared", "-fPIC")))
    begin, end = library.draftproof_begin, library.draftproof_end
    begin.restype = end.restype = ctypes.c_void_p
    options = (ctypes.c_int32 * 64)(20)  # the vocabulary is the first field; what is 0 has its default
    recorder = ctypes.c_void_p(begin(str(tmp_path / "steps").encode(), options))
    assert library.draftproof_chosen(recorder) == 1
    end(recorder)
    opened = Recording.open(tmp_path / "steps")
    assert opened.header.vocabulary == 20 and opened.read(opened.shards[0]).counts["seen"] == 1
