"""The decoding loop as it runs: batched verifiers, seeded streams, many rows at once, prompts of several lengths."""

from collections import Counter

import pytest

from draftproof.models.battery import drawn_markov
from draftproof.models.generating.loop import DecodingLoop, decode_plainly, generate
from draftproof.models.law import Markov
from draftproof.stattests.design import Refuted, assert_goodness, min_detectable_goodness
from draftproof.tests.models import generating_parts as parts
from draftproof.tests.subjects import wrong_loops

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
    counts = counts_by_prompt("block", getattr(wrong_loops, name), rows=ROWS // 3)
    with pytest.raises(Refuted):
        for prompt, law in laws_by_prompt().items():
            assert_goodness(counts[prompt], law)


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
