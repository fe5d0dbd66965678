"""The decoding loop as it runs: batched verifiers, seeded streams, many rows at once, prompts of several lengths."""

from collections import Counter
from itertools import product

import pytest

from draftproof.models.battery import drawn_markov
from draftproof.models.generating.loop import DecodingLoop, decode_plainly, generate
from draftproof.models.generating.sampling import Streams
from draftproof.models.law import Markov
from draftproof.reports.audits.loops.mutants import LOOP_MUTANTS
from draftproof.stattests.design import Refuted, assert_goodness, min_detectable_goodness
from draftproof.tests.models import generating_parts as parts

pytestmark = pytest.mark.engine
one_thread = pytest.fixture(autouse=True, scope="module")(parts.one_thread)

THREE = (drawn_markov, 3, 2)
RAGGED = [[3], [3, 0], [3, 2, 1], [3, 1, 1, 1, 2]]
ROWS = 3000


def counts_by_prompt(verifier, loop=DecodingLoop, rows=ROWS, **settings):
    """Texts of three tokens behind each prompt, all prompts in one batch, so many rows of each."""
    target, draft, _ = parts.forged(*THREE)
    settings = {"gamma": 2, "max_new_tokens": 3, "seed": 5, **settings}
    if verifier == "plain":
        found = decode_plainly(target, RAGGED * rows, **settings)
    else:
        found = generate(target, draft, RAGGED * rows, verifier, loop=loop, **settings)
    texts = list(map(tuple, found.tokens))
    return {tuple(prompt): Counter(texts[at :: len(RAGGED)]) for at, prompt in enumerate(RAGGED)}


def laws_by_prompt():
    model = drawn_markov(3, 2).target
    rows = {prompt: model.after[prompt[-1]] if len(prompt) > 1 else model.start for prompt in map(tuple, RAGGED)}
    return {prompt: parts.law_of_text(Markov(row, model.after), 3) for prompt, row in rows.items()}


@pytest.mark.parametrize(
    "name", ["block", *(pytest.param(name, marks=pytest.mark.long) for name in ("plain", "token", "greedy-block"))]
)
def test_texts_follow_the_target_behind_prompts_of_several_lengths_in_one_batch(name):
    """Deviations of 11% in total variation from any prompt's law would be seen."""
    counts = counts_by_prompt(name)
    for prompt, law in laws_by_prompt().items():
        assert_goodness(counts[prompt], law)
    assert min_detectable_goodness(ROWS, 27) < 0.11


@pytest.mark.parametrize("name", ["L12", "L13", "L14"])
def test_shared_noise_is_refuted(name):
    defect = LOOP_MUTANTS[name]
    counts = counts_by_prompt(defect.verifier, defect.loop, rows=ROWS // 3)
    with pytest.raises(Refuted):
        for prompt, law in laws_by_prompt().items():
            assert_goodness(counts[prompt], law)


class SharedByTwo(Streams):
    """A row in two has the numbers of the row before it."""

    def generators(self, seed, row):
        return super().generators(seed, row - row % 2)


class InPairs(DecodingLoop):
    streams = SharedByTwo


def test_neighbours_in_a_batch_are_independent_and_seen_where_they_are_not():
    """Their law is the product of both; a deviation of 17% in total variation would be seen."""
    target, draft, start = parts.forged(*THREE)
    alone = parts.law_of_text(drawn_markov(3, 2).target, 2)
    both = {pair: alone[pair[0]] * alone[pair[1]] for pair in product(alone, repeat=2)}

    def neighbours(loop):
        found = generate(target, draft, [[start]] * 4000, "block", gamma=2, max_new_tokens=2, seed=2, loop=loop)
        texts = list(map(tuple, found.tokens))
        return Counter(zip(texts[::2], texts[1::2], strict=True))

    assert_goodness(neighbours(DecodingLoop), both)
    assert min_detectable_goodness(2000, 81) < 0.17
    with pytest.raises(Refuted):
        assert_goodness(neighbours(InPairs), both)


@pytest.mark.parametrize("name", ["token", "block", "greedy-block", "block-stream"])
def test_a_seed_repeats_itself_and_a_row_does_not_depend_on_those_beside_it(name):
    target, draft = parts.attentive("gpt2")
    prompts = [[3], [4, 5, 6, 7, 8], [2, 3], [5, 5, 5, 5]]
    settings = {"gamma": 3, "max_new_tokens": 20, "eos": [9]}
    first, again, other = (generate(target, draft, prompts, name, seed=seed, **settings).tokens for seed in (1, 1, 2))
    assert first == again
    assert first != other
    for count in (1, 2, 3):
        assert generate(target, draft, prompts[:count], name, seed=1, **settings).tokens == first[:count]


def test_streams_are_of_their_own_for_every_row_and_purpose():
    streams = Streams(7, 3)
    numbers = [g.random() for kind in (streams.drafts, streams.acceptance, streams.residual) for g in kind]
    assert len(set(numbers)) == 9
    again = Streams(7, 3)
    again.select([2, 0])
    assert [g.random() for g in again.acceptance] == [numbers[5], numbers[3]]


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
    plain = decode_plainly(target, [[3]], max_new_tokens=10)
    assert (plain.verifier, {each.gamma for each in plain.iterations}, len(plain.iterations)) == ("plain", {0}, 10)
