"""Draws are fresh every night and in every search; with a seed they repeat, and a night that was cut short goes on."""

import json
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from draftproof.models.battery import drawn
from draftproof.reports.audits.nightly.history import History
from draftproof.reports.audits.nightly.run import Night, run_night
from draftproof.reports.audits.nightly.sources import source_of
from draftproof.reports.audits.nightly.witness import smallest_witness
from draftproof.reports.audits.subject import subject_from
from draftproof.tests.reports.audits.nightly.parts import RIGHT, a_check, night_of

pytestmark = pytest.mark.needs("sqlalchemy")


def test_the_draws_of_two_nights_differ_and_those_of_one_seed_agree(file):
    problem = drawn(3, 2, "generic")
    for name in ("token", "block", "block-stream", "greedy-block", f"{file}:verify"):
        source = source_of(subject_from(name), "float64", 60.0, 8.0)
        try:
            first, second, again = (dict(source.draw(problem, 300, seed)) for seed in (1, 2, 1))
        finally:
            source.close()
        assert first == again, name
        assert first != second, name


def seeds(path):
    with closing(sqlite3.connect(path)) as connection:
        return [seed for (seed,) in connection.execute("select seed from draftproof_batches")]


@pytest.mark.parametrize("seed", [None, 3])
def test_every_batch_has_a_seed_of_its_own(history, tmp_path, file, seed):
    """Nights, checks, subjects and versions: no two draw the same, whether the night has a seed or not."""
    problems = [drawn(3, 1, "generic"), drawn(3, 1, "zeros")]
    for day in (1, 2):
        night = Night(night_of(day), 100, seed, problems)
        run_night(history, [subject_from("token"), subject_from("block")], night)
        for text in (RIGHT, RIGHT + "# the next version"):
            file.write_text(text)
            run_night(history, [subject_from(f"{file}:verify")], night)
    found = seeds(tmp_path / "nights.sqlite")
    assert len(found) == 2 * 4 * 2
    assert len(set(found)) == len(found)


class Clean:
    """A source that follows the law of every check and notes the seeds that it is asked with."""

    modifies_target = False
    version = "clean"

    def __init__(self):
        self.seeds, self.environment = [], {}

    def draw(self, problem, count, seed):
        self.seeds.append(seed)
        rng, row = np.random.default_rng(seed), np.array([float(p) for p in problem.target.row(())])
        return {(token,): int(n) for token, n in enumerate(rng.multinomial(count, row / row.sum())) if n}

    def close(self):
        pass


def test_the_draws_of_a_search_are_all_fresh_so_clean_code_gets_no_witness():
    """The confirmation is at 1e-6, on draws that neither the search nor an earlier look has seen."""
    check, subject = a_check(), subject_from("token")
    for seed in range(4):
        source = Clean()
        assert smallest_witness(subject, source, check, 1000, seed, "float64") is None
        assert len(source.seeds) > 20
        assert len(set(source.seeds)) == len(source.seeds)


def test_the_same_search_finds_the_witness_of_a_planted_bias():
    class Biased(Clean):
        def draw(self, problem, count, seed):
            rng = np.random.default_rng(seed)
            return {(0,): count - (n := int(rng.binomial(count, 0.5))), (1,): n}

    found = smallest_witness(subject_from("token"), Biased(), a_check(), 1000, 0, "float64")
    seen, of = map(int, found["observed"].split("/"))
    assert abs(seen / of - float(found["expected"])) > 0.02


def shown(path, nightly):
    """What a history says, its name left aside."""
    report = json.loads(nightly("status", "--db", path, "--json", "-").out)
    del report["history"]
    return report


def test_a_night_with_a_seed_that_was_cut_short_goes_on_and_ends_as_if_it_had_not_been(
    tmp_path, file, nightly, monkeypatch
):
    options = ["run", f"{file}:verify", "--samples", "1000", "--seed", "3", "--night", "2025-03-01"]
    cut, whole, before = tmp_path / "cut.sqlite", tmp_path / "whole.sqlite", []

    def interrupted(history, *batch, record=History.record):
        if len(before) == 2:
            raise KeyboardInterrupt
        before.append(record(history, *batch))

    with monkeypatch.context() as patched:
        patched.setattr(History, "record", interrupted)
        assert nightly(*options, "--db", cut).status == 130
    report = json.loads(nightly(*options, "--db", cut, "--json", "-").out)
    assert (len(report["resumed"]), len(report["drawn"])) == (2, 5)
    for _ in range(2):
        assert nightly(*options, "--db", whole).status == 0
        assert shown(cut, nightly) == shown(whole, nightly)
    more = nightly(*options[:3], "600", *options[4:], "--db", whole)
    assert (more.status, "the same draws cannot count twice" in more.err) == (2, True)
