"""Large recordings: the same report whatever the split, after interruptions, and on a cluster."""

import json
import shutil

import pytest

from draftproof.models.store import stored
from draftproof.reports.audits.steps import progress
from draftproof.reports.audits.steps.judge import RecordingJudge
from draftproof.reports.audits.steps.progress import WHAT
from draftproof.reports.audits.steps.run import audit_steps
from draftproof.stattests.campaign import clusters
from draftproof.tests.reports.commands.in_process import draftproof as run

from .recordings import record

SHARDS = 6


def uniforms(step):
    return {"uniforms": step.rng.random(step.gamma), "logprobs": None}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A recording with something of every kind to settle, one shard of which is damaged."""
    folder = tmp_path_factory.mktemp("recorded") / "steps"
    record(folder, "M11", steps=20 * SHARDS, shard_steps=20, more=uniforms)
    damaged = folder / "steps-000003.safetensors"
    damaged.write_bytes(damaged.read_bytes()[:-10])
    return folder


def text(report):
    return json.dumps(report.as_json())


@pytest.fixture(scope="module")
def whole(folder):
    return text(audit_steps(folder))


def test_the_report_is_the_same_for_any_number_of_jobs(folder, whole):
    assert text(audit_steps(folder, jobs=2)) == whole
    assert "steps-000003.safetensors: cannot be read" in whole


@pytest.mark.long
@pytest.mark.cluster
def test_the_report_is_the_same_on_a_cluster(folder, whole, monkeypatch):
    monkeypatch.setattr(clusters, "CONNECT_SECONDS", 600)
    distributed = pytest.importorskip("distributed", reason="needs distributed: pip install draftproof[campaign]")
    with distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=":0", host="127.0.0.1") as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        assert text(audit_steps(folder, jobs=None, cluster=address)) == whole


def settled(file):
    return len(stored(file, WHAT).rows[-1].row["settled"])


@pytest.mark.parametrize(
    ("jobs", "owner", "name"), [(1, RecordingJudge, "add"), (2, RecordingJudge, "add"), (1, progress, "found_in")]
)
def test_an_interrupted_run_goes_on(folder, whole, tmp_path, monkeypatch, jobs, owner, name):
    file, calls, original = tmp_path / "kept", [], getattr(owner, name)

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return original(*arguments)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(owner, name, interrupted)
        audit_steps(folder, jobs=jobs, checkpoint=str(file))
    assert 0 < settled(file) <= 4
    assert text(audit_steps(folder, jobs=jobs, checkpoint=str(file))) == whole
    assert settled(file) == SHARDS
    monkeypatch.setattr(progress, "found_in", None)
    assert text(audit_steps(folder, checkpoint=str(file))) == whole, "and then no shard is judged again"


def test_the_command_says_what_an_interruption_left(folder, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(RecordingJudge, "add", interrupted)
    kept = run("steps", folder, "--jobs", 1, "--checkpoint", "kept", cwd=tmp_path)
    assert kept.status == 130
    assert kept.lines == [
        "draftproof: interrupted; what was judged is in kept, and the same command resumes from there"
    ]
    assert "nothing was kept (--checkpoint FILE" in run("steps", folder, "--jobs", 1).err


def test_a_recording_that_has_grown_is_judged_on(folder, whole, tmp_path):
    part = tmp_path / "steps"
    part.mkdir()
    names = sorted(file.name for file in folder.iterdir())
    for name in names[:3]:
        shutil.copy(folder / name, part / name)
    audit_steps(part, checkpoint=str(tmp_path / "kept"))
    for name in names[3:]:
        shutil.copy(folder / name, part / name)
    grown = audit_steps(part, checkpoint=str(tmp_path / "kept"))
    assert text(grown).replace(str(part), str(folder)) == whole


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda shard, folder: shard.unlink(), "steps-000001.safetensors: is gone since it was judged"),
        (
            lambda shard, folder: shard.write_bytes((folder / "steps-000002.safetensors").read_bytes()),
            "steps-000001.safetensors: changed since it was judged",
        ),
        (
            lambda shard, folder: shutil.copy(shard, folder / "steps-0000005.safetensors"),
            "now comes after steps-0000005.safetensors",
        ),
        (
            lambda shard, folder: (folder / "header.json").write_text(
                (folder / "header.json").read_text().replace('"rule": "token"', '"rule": "block"')
            ),
            "was begun with recording",
        ),
    ],
)
def test_a_checkpoint_of_other_shards_is_refused(change, says, folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "steps")
    assert run("steps", copy, "--jobs", 1, "--checkpoint", tmp_path / "kept").status == 1
    change(copy / "steps-000001.safetensors", copy)
    ended = run("steps", copy, "--jobs", 1, "--checkpoint", tmp_path / "kept")
    assert (ended.status, len(ended.lines)) == (2, 1) and says in ended.err


def test_jobs_and_a_cluster_exclude_each_other(folder):
    ended = run("steps", folder, "--jobs", 2, "--cluster", "dask://127.0.0.1:1")
    assert ended.status == 2 and ended.lines == ["draftproof: give --jobs or --cluster, not both (DP100)"]
    assert run("steps", folder, "--cluster", "x").lines == [
        "draftproof: cluster 'x' is not known; expected dask://HOST:PORT"
    ]
    assert run("steps", folder, "--jobs", "auto", "--gain").status == 0


def test_what_is_certain_is_a_result_of_sarif(folder, tmp_path):
    assert run("steps", folder, "--jobs", 1, "--sarif", tmp_path / "a.sarif").status == 1
    [log] = json.loads((tmp_path / "a.sarif").read_text())["runs"]
    assert [result["ruleId"] for result in log["results"]] == ["follows-rule"]
    record(tmp_path / "right", steps=10)
    right = tmp_path / "right"
    assert run("steps", right, "--jobs", 1, "--sarif", tmp_path / "b.sarif").status == 0
    assert not json.loads((tmp_path / "b.sarif").read_text())["runs"][0]["results"]
    assert run("steps", right, "--jobs", 1, "--require-decision").status == 4
