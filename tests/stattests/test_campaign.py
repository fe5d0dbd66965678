"""Campaigns: the same counts for any number of workers, on a cluster, and after being killed; memory that stays."""

import tracemalloc

import pytest

from draftproof.models.battery import toy
from draftproof.models.errors import InputError, RunFailed
from draftproof.models.store import Store, stored
from draftproof.proofs.field import in_field
from draftproof.reports.audits.campaigns.table_source import TableSource
from draftproof.stattests.campaign import clusters
from draftproof.stattests.campaign.run import FinishedChunks, plan, run_campaign
from draftproof.stattests.campaign.tally import Tally
from draftproof.tests.stattests.sources import Uniform, has_drawn
from draftproof.verifiers.registry import reference

pytestmark = pytest.mark.needs("joblib")


SAMPLES, SEED, CHUNK = 40_000, 5, 2_000


def block():
    return TableSource(reference("block"), in_field(toy(3)))


def run(source, samples=SAMPLES, seed=SEED, chunk=CHUNK, **options):
    return run_campaign(source, plan(source, samples, seed, chunk), **{"workers": 1, **options})


@pytest.fixture(scope="module")
def uninterrupted():
    return run(block()).tally


def test_counts_are_the_same_for_two_workers_and_a_source_that_depends_on_its_process_is_seen():
    assert run(block(), workers=2).tally == run(block()).tally
    assert run(Uniform("process")).tally != run(Uniform("process"), workers=2).tally


# ---------------------------------------------------------------- clusters


@pytest.mark.long
@pytest.mark.cluster
def test_counts_are_the_same_on_a_dask_cluster_of_two_workers(uninterrupted, monkeypatch):
    monkeypatch.setattr(clusters, "CONNECT_SECONDS", 600)
    distributed = pytest.importorskip("distributed", reason="needs distributed: pip install draftproof[campaign]")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", host="127.0.0.1"
    ) as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        assert run(block(), workers=None, cluster=address).tally == uninterrupted
        assert run(Uniform("process"), workers=None, cluster=address).tally != run(Uniform("process")).tally
        with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
            assert list(client.run(has_drawn).values()) == [True, True], "both workers took part"


# ---------------------------------------------------------------- interruptions


def chunks_in(file):
    rows = stored(file, "a sampling campaign").rows
    return rows[-1].row["below"] + len(rows[-1].row["ahead"]) if rows else 0


@pytest.mark.parametrize(("owner", "place", "workers"), [(FinishedChunks, "with_chunk", 1), (Tally, "__add__", 2)])
def test_an_interruption_in_the_middle_of_counting_loses_that_chunk_only_and_is_not_warned_of(
    tmp_path, monkeypatch, uninterrupted, owner, place, workers
):
    file, calls = tmp_path / "campaign.json", []
    original = getattr(owner, place)

    def interrupted(self, other):
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return original(self, other)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(owner, place, interrupted)
        run(block(), checkpoint=file, workers=workers)
    assert chunks_in(file) == 4
    resumed = run(block(), checkpoint=file)
    assert (resumed.resumed, resumed.tally) == (4 * CHUNK, uninterrupted)
    assert run(block(), checkpoint=file).resumed == SAMPLES, "and once more there is nothing left to draw"


def test_workers_that_end_are_told_and_what_was_counted_is_kept(tmp_path):
    file = tmp_path / "campaign.json"
    with pytest.raises(RunFailed, match="the workers were lost"):
        run(Uniform("crashes"), checkpoint=file, workers=2)
    assert run(Uniform(), checkpoint=file).tally == run(Uniform()).tally


def test_a_source_that_drops_samples_is_an_error():
    with pytest.raises(RunFailed, match="asked for 2000 samples, it gave 1999"):
        run(Uniform("drops"))


# ---------------------------------------------------------------- checkpoints


@pytest.fixture
def written(tmp_path):
    file = tmp_path / "campaign.json"
    run(Uniform(), checkpoint=file)
    return file


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"below": 3}, "holds other counts than its chunks"),
        ({"tally": {"counts": [[99, 1]], "strange": {}}}, "has no counts of this campaign"),
        ({"tally": []}, "has no counts of this campaign"),
    ],
)
def test_counts_that_are_none_of_the_campaign_are_refused_and_left_as_they_are(written, state, message):
    source = Uniform()
    with Store(
        written, "a sampling campaign", {**source.identity, **plan(source, SAMPLES, SEED, CHUNK)._asdict()}
    ) as kept:
        kept.put((), kept.rows[()] | state)
    text = written.read_text()
    with pytest.raises(InputError, match=message):
        run(source, checkpoint=written)
    assert written.read_text() == text


@pytest.mark.parametrize("other", [{"seed": 6}, {"samples": SAMPLES + 1}, {"chunk": CHUNK // 2}])
def test_a_checkpoint_of_other_parameters_is_refused_by_their_name(written, other):
    text = written.read_text()
    with pytest.raises(InputError, match=f"was begun with {next(iter(other))} "):
        run(Uniform(), checkpoint=written, **other)
    assert written.read_text() == text


# ---------------------------------------------------------------- memory, progress, bad input


def peak(source, samples):
    tracemalloc.start()
    try:
        run(source, samples=samples, chunk=1_000)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_samples():
    for source in (block(), Uniform()):
        peak(source, 10_000)  # what is imported and compiled on first use
        assert peak(source, 400_000) < peak(source, 20_000) + 50_000
    assert peak(Uniform("keeps"), 400_000) > peak(Uniform("keeps"), 20_000) + 50_000, "the planted leak is seen"


def test_progress_reports_the_samples_and_the_bound():
    calls = []
    run(Uniform(), progress=lambda *call: calls.append(call), bound=lambda tally: 1 / tally.n)
    assert calls[0] == ("sampling", 0, SAMPLES)
    assert [(done, total) for _, done, total in calls] == [(n, SAMPLES) for n in range(0, SAMPLES + 1, CHUNK)]
    assert all(0 < float(stage.removeprefix("sampling, TV <= ")) <= 1 / CHUNK for stage, _, _ in calls[1:])
