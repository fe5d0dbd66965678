"""Drafts that are looked up in the text: the token they propose, and a loop with them that keeps the target's law, with
as many accepted by token as by block verification."""

from dataclasses import replace

import pytest

from draftproof.models.generating.generate import generate
from draftproof.models.generating.loop import DecodingLoop
from draftproof.models.generating.loop_verifiers import Drafted
from draftproof.models.pairs.loading import load_pair
from draftproof.tests.models.pairs_parts import save
from draftproof_paper.distilling.lookup_model import LookupModel, following
from draftproof_paper.tables.measure import ExpectedAcceptance

pytestmark = [pytest.mark.engine, pytest.mark.needs("torch", "transformers")]


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folder = save(tmp_path_factory.mktemp("pair") / "target", context=64)
    pair = load_pair(folder, folder)
    return replace(pair, draft=LookupModel(pair.target.config.vocab_size).eval())


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ([1, 2, 3, 4, 1, 2, 3], 4),
        ([9, 3, 7, 2, 3, 5, 2, 3], 5),
        ([9, 3, 7, 2, 3, 5, 8, 3], 5),
        ([6, 1, 2], 6),
        ([6, 6, 6], 6),
    ],
)
def test_what_followed_the_longest_end_at_its_latest_place_is_proposed(text, token):
    assert following(text) == token


PROMPTS = [[5, 6, 7, 5, 6], [9, 8, 9, 8, 9, 8, 4], [3]]


@pytest.mark.parametrize("verifier", ["token", "block"])
def test_at_temperature_0_the_texts_of_a_batch_are_those_of_plain_decoding(pair, verifier):
    settings = {"temperature": 0, "max_new_tokens": 16, "vocabulary": pair.vocabulary}
    plain = generate(pair.target, None, PROMPTS, **settings)
    ours = generate(pair.target, pair.draft, PROMPTS, verifier, gamma=3, **settings)
    assert ours.tokens == plain.tokens
    assert sum(map(sum, map(ours.accepted, range(3)))) > 0, "something was proposed that the target says too"


def blocks_of(pair, prompts, draft=None):
    found = []

    class Loop(DecodingLoop):
        def verified(self, drafted):
            found.append(drafted)
            return super().verified(drafted)

    generate(
        pair.target, draft or pair.draft, prompts, "block", gamma=3, max_new_tokens=20, seed=1, loop=Loop,
        vocabulary=pair.vocabulary,
    )  # fmt: skip
    return found


def test_block_verification_gains_nothing_on_point_masses_and_gains_on_another_draft(pair, tmp_path):
    def gain(drafted: Drafted) -> float:
        expected = ExpectedAcceptance(drafted)
        return float((expected.by_block(3) - expected.by_token(3)).abs().max())

    assert max(map(gain, blocks_of(pair, PROMPTS))) < 1e-12
    other = load_pair(save(tmp_path / "other", seed=5, context=64), tmp_path / "other").target
    assert max(map(gain, blocks_of(pair, PROMPTS, other))) > 1e-3
