"""The decoding loop on many rows: seeds, neighbours, and what the result tells. The law of its texts is counted in
``tests/reports/audits/loops/test_e2e_mutants.py``."""

import pytest

from draftproof.models.generating.generate import generate
from draftproof.tests.models import generating_parts as parts

pytestmark = pytest.mark.engine
one_thread = pytest.fixture(autouse=True, scope="module")(parts.one_thread)


@pytest.mark.parametrize("name", ["token", "block", "greedy-block", "block-stream"])
def test_a_seed_repeats_itself_and_a_row_does_not_depend_on_those_beside_it(name):
    target, draft = parts.attentive("gpt2")
    prompts = [[3], [4, 5, 6, 7, 8], [2, 3], [5, 5, 5, 5]]
    settings = {"gamma": 3, "max_new_tokens": 20, "eos": [9]}
    first, again, other = (generate(target, draft, prompts, name, seed=seed, **settings).tokens for seed in (1, 1, 2))
    assert first == again != other
    for count in (1, 2, 3):
        assert generate(target, draft, prompts[:count], name, seed=1, **settings).tokens == first[:count]


def test_the_result_tells_what_was_accepted_and_how_long_it_took():
    target, draft = parts.attentive("gpt2")
    found = generate(target, draft, [[3], [4, 5]], "block", gamma=3, max_new_tokens=10, seed=4)
    assert (found.verifier, found.lossy, found.device, found.dtype) == ("block", "", "cpu", "float32")
    for row in range(2):
        grown = [b - a for a, b in zip(found.lengths(row), found.lengths(row)[1:], strict=False)]
        assert len(grown) == len(found.accepted(row))
        assert all(n == tau + 1 for n, tau in zip(grown[:-1], found.accepted(row), strict=False))
        assert sum(grown) == len(found.tokens[row]) == 10
    spent = sum(each.draft_seconds + each.target_seconds + each.verify_seconds for each in found.iterations)
    assert 0 < spent <= found.seconds
    plain = generate(target, None, [[3]], max_new_tokens=10)
    assert (plain.verifier, {each.gamma for each in plain.iterations}, len(plain.iterations)) == ("plain", {0}, 10)
