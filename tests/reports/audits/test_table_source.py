"""Sampling from a table: it has the exact law of the reference, to the last bit of a word."""

from fractions import Fraction

import numpy as np
import pytest

from draftproof.models.battery import drawn
from draftproof.models.errors import InputError
from draftproof.models.rationals import as_float, as_fraction
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import output_law
from draftproof.reports.audits.campaigns import table_source
from draftproof.reports.audits.campaigns.table_source import WORD_VALUES, TableSource
from draftproof.stattests.goodness import goodness_of_fit
from draftproof.tests.proofs.enumerated import EXACT
from draftproof.verifiers.registry import REFERENCES, reference

SMALL = [p for p in EXACT if p.vocabulary**p.gamma <= 32]


def distance(table, law):
    """Total variation between a table's law and an exact law, exactly."""
    edges = [0, *map(int, table.edges), WORD_VALUES]
    sampled = {int(k): Fraction(b - a, WORD_VALUES) for k, a, b in zip(table.emitted, edges, edges[1:])}
    exact = {table.outcomes.index_of(o): as_fraction(p) for o, p in law.items()}
    return sum(abs(sampled.get(k, 0) - exact.get(k, 0)) for k in sampled.keys() | exact.keys()) / 2


@pytest.mark.exact
@pytest.mark.parametrize("name", REFERENCES)
def test_the_table_of_a_reference_has_its_exact_law_to_the_last_bit_of_a_word(name):
    for problem in SMALL:
        table, law = TableSource(reference(name), in_field(problem)), output_law(in_field(problem), reference(name))
        assert distance(table, law) <= Fraction(len(law), WORD_VALUES), problem.name
    if len(table.edges) > 5:
        table.edges[5] -= np.uint64(2**30)
        assert distance(table, law) > Fraction(len(law), WORD_VALUES), "an edge that is moved a little is seen"


def test_each_word_is_looked_up_between_its_edges():
    table = TableSource(reference("block"), in_field(drawn(3, 2, "mixed")))
    before, at = table.outcomes_of(table.edges - np.uint64(1)), table.outcomes_of(table.edges)
    assert (before == table.emitted[:-1]).all() and (at == table.emitted[1:]).all()
    assert [*table.outcomes_of(np.array([0, WORD_VALUES - 1], np.uint64))] == [*table.emitted[[0, -1]]]


@pytest.mark.parametrize("problem", [drawn(4, 3, "generic"), drawn(3, 2, "zeros"), drawn(2, 1, "one-hot-target")])
def test_counts_follow_the_exact_law_whatever_is_left_to_chance(problem):
    law = {o: as_float(p) for o, p in output_law(in_field(problem), reference("block")).items()}
    tally = TableSource(reference("block"), in_field(problem)).sample(np.random.SeedSequence(1), 1_000_000)
    counts = dict(tally.items())
    assert tally.n == 1_000_000 and goodness_of_fit(counts, dict.fromkeys(counts, 0.0) | law).p_value > 1e-6


def test_a_problem_with_too_many_paths_is_one_line(monkeypatch):
    monkeypatch.setattr(table_source, "MOST_PATHS", 100)
    with pytest.raises(InputError, match="generic-V4-gamma3: more than 100 random paths; expected a smaller"):
        TableSource(reference("block"), in_field(drawn(4, 3, "generic")))
