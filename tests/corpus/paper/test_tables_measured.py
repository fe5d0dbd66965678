"""What is measured on models: expectations on the same blocks are exact, seeds independent, batches counted by row."""

from dataclasses import replace
from itertools import product

import pytest
import torch

from draftproof.models.battery import drawn, drawn_markov
from draftproof.models.generating.caches import CachedModel
from draftproof.models.generating.generate import generate
from draftproof.models.generating.loop_verifiers import Drafted
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import expected_accepted, output_law
from draftproof.tests.corpus.paper import tables_parts as parts
from draftproof.tests.models import generating_parts
from draftproof.verifiers.registry import reference
from draftproof_paper.tables.measure import Bench, ExpectedAcceptance, ReadOnce, run_seed
from draftproof_paper.tables.plan import Column, MeasurementCell, TablesPlan
from draftproof_paper.tables.subjects import load_pairs, prompt_groups

pytestmark = pytest.mark.engine

one_thread = pytest.fixture(autouse=True)(generating_parts.one_thread)

prefill = CachedModel.prefill

PROBLEMS = [
    *(drawn(3, 2, kind) for kind in ("generic", "zeros", "equal", "disjoint", "peaked")),
    drawn(2, 4, "mixed"),
    drawn_markov(4, 2),
]


def every_block(problem):
    """All draft blocks of a problem with the rows along them, and their probabilities."""
    blocks = list(product(range(problem.vocabulary), repeat=problem.gamma))
    target = [[list(map(float, problem.target.row(x[:i]))) for i in range(problem.gamma + 1)] for x in blocks]
    draft = [[list(map(float, problem.draft.row(x[:i]))) for i in range(problem.gamma)] for x in blocks]
    chance = [1.0] * len(blocks)
    for at, x in enumerate(blocks):
        for i, token in enumerate(x):
            chance[at] *= draft[at][i][token]
    rows = (torch.tensor(rows, dtype=torch.float64) for rows in (target, draft))
    return Drafted(*rows, torch.tensor(blocks), False), torch.tensor(chance, dtype=torch.float64)


def mean_of(values, chance):
    return (torch.where(chance > 0, values, 0.0) * chance).sum().item()


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_the_mean_over_all_blocks_is_the_exact_expected_acceptance(problem):
    drafted, chance = every_block(problem)
    expected = ExpectedAcceptance(drafted)
    for name, found in (("token", expected.by_token), ("block", expected.by_block)):
        exact = float(expected_accepted(output_law(in_field(problem), reference(name))))
        assert mean_of(found(problem.gamma), chance) == pytest.approx(exact, abs=1e-12)


def test_uncapped_ratios_would_have_been_seen():
    class Uncapped(ExpectedAcceptance):
        def by_token(self, gamma):
            return self.ratios[:, :gamma].cumprod(-1).clamp(max=1).sum(-1)

    problem = PROBLEMS[0]
    drafted, chance = every_block(problem)
    exact = float(expected_accepted(output_law(in_field(problem), reference("token"))))
    assert mean_of(Uncapped(drafted).by_token(problem.gamma), chance) != pytest.approx(exact, abs=1e-3)


def test_verifiers_share_their_seed_and_all_else_does_not():
    cell = MeasurementCell(0, 0, 1.0)
    token, block = run_seed(cell, Column(0, "token", 4)), run_seed(cell, Column(0, "block", 4))
    assert token == block
    others = [
        run_seed(*of)
        for of in (
            (cell, Column(1, "token", 4)), (cell, Column(0, "token", 8)),
            (MeasurementCell(1, 0, 1.0), Column(0, "token", 4)),
            (MeasurementCell(0, 1, 1.0), Column(0, "token", 4)), (MeasurementCell(0, 0, 0.5), Column(0, "token", 4)),
        )
    ]  # fmt: skip
    assert len({token, *others}) == 6


def test_seeds_and_orders_are_those_of_earlier_versions_so_that_their_records_go_on():
    assert run_seed(MeasurementCell(0, 3, 0.2), Column(1, "block", 8)) == 9968651863852996310
    assert TablesPlan("t", ("a", "b")).order(MeasurementCell(1, 2, 1.0))[:3] == [
        Column(0, "block", 4), Column(1, "block", 4), Column(0, "greedy-block", 6),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    folder = parts.small_pair(tmp_path_factory.mktemp("pair"))
    plan = TablesPlan(
        str(folder / "target"), (str(folder / "draft"), str(folder / "small-draft")), data=(str(folder),),
        prompts=5, new_tokens=10, gammas=(3,), temperatures=(1.0,), seeds=1, batch=2,
    )  # fmt: skip
    pairs = load_pairs(plan)
    return Bench(plan, pairs, prompt_groups(plan, pairs[0]))


def test_drafters_share_one_target_and_prompts_are_grouped_within_their_source(bench):
    first, second = bench.pairs
    assert first.target is second.target
    assert first.draft is not second.draft
    assert sorted((group.data, len(group.prompts)) for group in bench.groups) == [("a.py", 1), ("a.py", 2), ("b.py", 2)]


def test_a_batch_counts_a_call_for_each_row_and_its_taus_prompt_by_prompt(bench):
    at = next(k for k, group in enumerate(bench.groups) if len(group.prompts) == 2)
    found = bench.cell(MeasurementCell(0, at, 1.0))
    for column in found["columns"]:
        if column["verifier"] == "plain":
            assert column["tokens"] == column["calls"]
        else:
            assert len(column["accepted"]) == 2
            assert sum(map(len, column["accepted"])) == column["calls"]
            full = sum(tau + 1 for taus in column["accepted"] for tau in taus)
            assert full - 2 * column["gamma"] <= column["tokens"] <= full
    same = [(one["drafter"], one["gamma"]) for one in found["same_blocks"]]
    assert same == [(0, 1), (0, 3), (1, 1), (1, 3)]


def test_a_cell_repeats_itself_and_the_texts_of_one_group_are_not_those_of_another(bench):
    def texts(group):
        columns = bench.cell(MeasurementCell(0, group, 1.0))["columns"]
        return {(c["drafter"], c["verifier"], c["gamma"]): c["texts"] for c in columns}

    assert texts(0) == texts(0)
    assert not set(texts(0).values()) & set(texts(1).values())


def test_prompts_are_read_once_for_all_runs_and_copies_and_the_texts_are_those_of_reading_them_again(
    bench, monkeypatch
):
    group = max(bench.groups, key=lambda one: len(one.prompts))
    copies = replace(group, prompts=group.prompts[::-1] * 3)
    read = []
    monkeypatch.setattr(CachedModel, "prefill", lambda self, texts: read.append(texts) or prefill(self, texts))
    ReadOnce.kept.clear()
    pair, column = bench.pairs[0], Column(0, "block", 3)
    settings = {"temperature": 1.0, "eos": pair.end, "seed": 7, "vocabulary": pair.vocabulary}
    for given, times in ((group, 2), (group, 2), (copies, 4), (copies, 4)):
        ours = bench.run(column, given, 1.0, 7, 10)
        assert len(read) == times and all(len(texts) == len(group.prompts) for texts in read)
        with monkeypatch.context() as plainly:
            plainly.setattr(CachedModel, "prefill", prefill)
            again = generate(pair.target, pair.draft, given.prompts, "block", gamma=3, max_new_tokens=10, **settings)
        assert ours.tokens == again.tokens
    monkeypatch.setattr(ReadOnce, "select", lambda self, rows: CachedModel.select(self, rows[::-1]))
    assert bench.run(column, copies, 1.0, 7, 10).tokens != again.tokens, "rows that are exchanged are seen"
