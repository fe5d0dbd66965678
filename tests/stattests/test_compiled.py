"""Sampling at the speed of a table: the diagram is the reference, and the compiled walk the diagram, exactly."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from draftproof.models.battery import drawn, exact_battery
from draftproof.models.decoding import Decoded, iteration
from draftproof.models.errors import InputError
from draftproof.models.rationals import as_fraction
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import output_law
from draftproof.stattests.campaign import clusters, compiled, diagram
from draftproof.stattests.campaign.compiled import CompiledSource, compiled_walk, walk
from draftproof.stattests.campaign.diagram import WORD_VALUES
from draftproof.stattests.campaign.tally import Outcomes
from draftproof.verifiers.registry import REFERENCES, Reference, reference
from draftproof.verifiers.token_verification import token_verification

pytestmark = pytest.mark.needs("numba")


BLOCK = reference("block")
SMALL = [p for p in exact_battery() if p.vocabulary**p.gamma <= 32]


def table_of(problem, verifier):
    exact, outcomes = in_field(problem), Outcomes(problem.vocabulary, problem.gamma + 1)
    return diagram.diagram(
        lambda chance: outcomes.index_of(iteration(exact, verifier, Decoded(), chance).tokens)
    ), outcomes


def distance(table, outcomes, law):
    """Total variation between a diagram's law and an exact law, exactly."""
    sampled = table.law()
    exact = {outcomes.index_of(o): as_fraction(p) for o, p in law.items()}
    return sum(abs(sampled.get(k, 0) - exact.get(k, 0)) for k in sampled.keys() | exact.keys()) / 2


def allowed(table, vocabulary):
    return Fraction(table.longest * vocabulary, WORD_VALUES)


@pytest.mark.exact
@pytest.mark.parametrize("name", REFERENCES)
def test_the_diagram_of_a_reference_has_its_exact_law_to_the_last_bit_of_a_word(name):
    for problem in SMALL:
        table, outcomes = table_of(problem, reference(name))
        law = output_law(in_field(problem), reference(name))
        assert distance(table, outcomes, law) <= allowed(table, problem.vocabulary), problem.name


@pytest.mark.exact
def test_a_diagram_with_one_edge_moved_a_little_is_told_from_the_reference():
    problem = drawn(3, 2, "generic")
    table, outcomes = table_of(problem, BLOCK)
    table.edges[5] -= np.uint64(2**30)
    assert distance(table, outcomes, output_law(in_field(problem), BLOCK)) > allowed(table, 3)


QUARTERS = ((1, 2, 1), (3, 1), (1, 1, 2))


def in_quarters(chance):
    """A program whose probabilities are multiples of 1/4, with a question that is asked on some paths only."""
    first = chance.draw([Fraction(w) for w in QUARTERS[0]])
    if first == 1 and chance.flip(Fraction(1, 4)):
        return 6
    return 2 * first + (0 if chance.flip(Fraction(3, 4)) else 1)


@pytest.mark.parametrize("step", [walk, pytest.param(None, id="compiled")])
def test_the_walk_has_the_law_of_its_diagram_counted_over_all_words(step):
    step = step or compiled_walk()
    table = diagram.diagram(in_quarters)
    counts = np.zeros(7, np.int64)
    ends = [k * 2**62 + end for k in range(4) for end in (0, 2**62 - 1)]  # each quarter of the words, at both its ends
    for words in product(ends, repeat=table.longest):
        done, used = step(*table, np.array(words, dtype=np.uint64), 1, counts)
        assert done == 1
        assert 1 <= used <= table.longest
    total = len(ends) ** table.longest
    assert {k: Fraction(int(n), total) for k, n in enumerate(counts) if n} == table.law()
    assert table.law()[6] == Fraction(1, 8)


def test_the_compiled_walk_counts_as_the_plain_one_and_stops_before_the_words_run_out():
    table, outcomes = table_of(drawn(3, 3, "mixed"), BLOCK)
    words = np.random.PCG64(5).random_raw(10_000)
    plain, fast = np.zeros(outcomes.size, np.int64), np.zeros(outcomes.size, np.int64)
    assert walk(*table, words, 10**6, plain) == compiled_walk()(*table, words, 10**6, fast)
    assert (plain == fast).all()
    assert 10_000 / table.longest - 1 <= plain.sum() <= 10_000


def test_a_verifier_that_leaves_nothing_to_chance_is_sampled_too():
    certain = Reference("certain", lambda block, chance: token_verification(block, chance), "")
    source = CompiledSource(certain, in_field(drawn(2, 1, "one-hot-target")))
    assert source.sample(np.random.SeedSequence(0), 1000).n == 1000
    table = diagram.diagram(lambda chance: 3)
    assert (table.root, table.longest, table.law()) == (-4, 0, {3: 1})


def test_a_problem_too_large_for_a_diagram_is_one_line(monkeypatch):
    monkeypatch.setattr(diagram, "MAX_DIAGRAM_PATHS", 100)
    with pytest.raises(InputError, match="generic-V4-gamma3: more than 100 random paths; expected a smaller"):
        CompiledSource(BLOCK, in_field(drawn(4, 3, "generic")))


def test_without_numba_one_line_says_what_to_install(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(clusters.importlib, "import_module", missing)
    compiled.compiled_walk.cache_clear()
    with pytest.raises(InputError, match=r"a campaign needs numba; install draftproof\[campaign\]"):
        compiled.compiled_walk()
