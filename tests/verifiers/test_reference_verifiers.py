"""The algorithms on the corners of their domain, and as samplers."""

import random
from collections import Counter

import pytest
from sympy import QQ

from draftproof.models.battery import drawn
from draftproof.models.problem import with_numbers
from draftproof.proofs.enumeration import law_of
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import enumerated_law
from draftproof.verifiers.chance import NothingToDrawError, RandomChance
from draftproof.verifiers.draft_block import Block
from draftproof.verifiers.registry import REFERENCES, reference

pytestmark = pytest.mark.exact
ALL = sorted(REFERENCES)
ROW = (QQ(1, 4), QQ(3, 4))


def law_on(name, block):
    return law_of(lambda chance: reference(name).verify(block, chance).tokens(block))


@pytest.mark.parametrize("name", ALL)
def test_a_one_hot_draft_that_the_target_excludes_is_always_rejected(name):
    target, draft = (QQ(0), QQ(1, 3), QQ(2, 3)), (QQ(1), QQ(0), QQ(0))
    block = Block([target, target, target], [draft, draft], (0, 0))
    assert law_on(name, block) == {(1,): QQ(1, 3), (2,): QQ(2, 3)}


@pytest.mark.parametrize("name", ALL)
def test_a_draft_token_of_draft_probability_zero_is_kept_only_if_the_target_allows_it(name):
    target, draft = (QQ(0), QQ(1, 2), QQ(1, 2)), (QQ(0), QQ(0), QQ(1))
    for impossible, outcome in ((0, 0), (1, 1)):
        emitted = law_on(name, Block([target, target], [draft], (impossible,)))
        assert {len(tokens) - 1 for tokens in emitted} == {outcome}
        assert all(target[tokens[0]] > 0 for tokens in emitted)


@pytest.mark.parametrize("name", ALL)
def test_rows_equal_after_certain_survival_are_the_harmless_zero_over_zero(name):
    """p_1 = 1 and equal rows at step 2: Eq. (4) and (5) are 0/0 there, every token survives."""
    first_p, first_q, same = (QQ(1, 2), QQ(1, 2)), (QQ(1, 4), QQ(3, 4)), (QQ(1, 3), QQ(2, 3))
    emitted = law_on(name, Block([first_p, same, same], [first_q, same], (0, 1)))
    assert emitted == {(0, 1, 0): QQ(1, 3), (0, 1, 1): QQ(2, 3)}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("problem", [drawn(3, 2, "mixed")], ids=lambda p: p.name)
def test_sampling_on_floats_follows_the_law_enumerated_on_rationals(name, problem):
    """Pearson's statistic of 20,000 samples against the exact law, at a false-alarm rate below 1e-9."""
    law = enumerated_law(in_field(problem), reference(name))
    floats, chance = with_numbers(problem, float), RandomChance(random.Random(7))
    counts = Counter()
    for _ in range(20_000):
        tokens = ()
        for _ in range(problem.gamma):
            tokens = (*tokens, chance.draw(floats.draft.row(tokens)))
        block = floats.block(tokens)
        counts[reference(name).verify(block, chance).tokens(block)] += 1
    assert set(counts) <= set(law)
    cells = [(counts[o], e) for o, p in law.items() if (e := 20_000 * float(p)) >= 5]
    assert sum((n - e) ** 2 / e for n, e in cells) < len(cells) + 7 * (2 * len(cells)) ** 0.5 + 40


def test_a_draw_never_returns_a_token_of_weight_zero():
    class Largest(random.Random):
        def random(self):
            return 1 - 2**-53

    class Smallest(random.Random):
        def random(self):
            return 0.0

    for generator in (Largest(), Smallest()):
        assert RandomChance(generator).draw([0.0, 0.1, 0.2, 0.0]) in (1, 2)
        assert RandomChance(generator).flip(0.0) is False
        assert RandomChance(generator).flip(1.0) is True


def test_weights_that_are_all_zero_are_an_error_not_a_token():
    with pytest.raises(NothingToDrawError, match="sum to 0"):
        RandomChance(random.Random(1)).draw([0.0, 0.0])
    with pytest.raises(NothingToDrawError, match="all zero"):
        law_of(lambda chance: chance.draw([0, 0]))
