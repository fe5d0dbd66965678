"""The decoding loop as a program over chance: the exact law of its texts on forged checkpoints, to float32 rounding."""

import pytest
import torch

from draftproof.models.battery import drawn_markov
from draftproof.models.decoding_settings import ORDERS, one_text_law
from draftproof.models.generating.draft_length import Adaptive
from draftproof.models.generating.generate import generate
from draftproof.models.generating.loop import DecodingLoop
from draftproof.models.generating.loop_verifiers import lenient
from draftproof.proofs.closed_forms import lenience_bias
from draftproof.proofs.enumeration import law_of
from draftproof.proofs.laws.text_masses import distance
from draftproof.tests.choices import long_unless
from draftproof.tests.models import generating_parts as parts
from draftproof.tests.subjects import wrong_loops
from draftproof.verifiers.registry import REFERENCES, reference

pytestmark = pytest.mark.engine
one_thread = pytest.fixture(autouse=True, scope="module")(parts.one_thread)

ROUNDING = 1e-6
SMALL, THREE = (drawn_markov, 2, 2), (drawn_markov, 3, 2)


def expected(problem, length, **settings):
    """The law of the target's texts under settings."""
    ends = {"eos": [settings.pop("eos")]} if "eos" in settings else {}
    model = problem[0](*problem[1:]).target
    return one_text_law(model, length, settings | ends, ORDERS["draftproof-loop"])


@pytest.mark.parametrize("name", sorted(REFERENCES))
@pytest.mark.parametrize("rows", ["zeros", "mixed"])
def test_the_first_gamma_and_two_tokens_follow_the_target_exactly(name, rows):
    problem = (drawn_markov, 3, 2, rows)
    law = parts.exact_law(parts.forged(*problem), reference(name), gamma=2, max_new_tokens=4)
    assert distance(law, expected(problem, 4)) < ROUNDING


class NewestAlone(DecodingLoop):
    """A loop that carries the newest modification of the target alone."""

    def verified(self, drafted):
        self.nested.in_force = self.nested.in_force[-1:]
        return super().verified(drafted)


def test_modifications_are_nested_where_a_second_rejection_comes_before_the_first_has_run_out():
    problem, settings = (drawn_markov, 2, 3), {"gamma": 3, "max_new_tokens": 4}
    right, wrong = (
        parts.exact_law(parts.forged(*problem), reference("greedy-block"), loop=loop, **settings)
        for loop in (DecodingLoop, NewestAlone)
    )
    assert distance(right, expected(problem, 4)) < ROUNDING
    assert distance(wrong, expected(problem, 4)) > 1e-3


@pytest.mark.parametrize("name", ["token", "block", "greedy-block"])
@pytest.mark.parametrize(
    "settings", [{"temperature": 0.6}, {"temperature": 1.5, "top_k": 2, "top_p": 0.6}, {"eos": 1}], ids=str
)
def test_settings_are_applied_to_both_models_alike_and_change_the_law_as_they_say(name, settings):
    law = parts.exact_law(parts.forged(*THREE), reference(name), gamma=2, max_new_tokens=3, **settings)
    assert distance(law, expected(THREE, 3, **settings)) < ROUNDING
    assert distance(law, expected(THREE, 3)) > 0.02


@pytest.mark.parametrize("name", ["token", "block", "greedy-block"])
def test_two_rows_of_a_batch_are_independent_and_each_is_lossless(name):
    law = parts.exact_law(parts.forged(*SMALL), reference(name), prompts=2, gamma=1, max_new_tokens=2)
    one = expected(SMALL, 2)
    assert distance(law, {(a, b): p * q for a, p in one.items() for b, q in one.items()}) < ROUNDING


def law_of_one_text(name, length, **settings):
    """By running one text at a time, for loops in which gamma depends on the past of all rows of a batch."""
    target, draft, start = parts.forged(*SMALL)
    drafted = set()

    def program(chance):
        found = generate(target, draft, [[start]], reference(name), chance=[chance], max_new_tokens=length, **settings)
        drafted.update(each.gamma for each in found.iterations)
        return tuple(found.tokens[0])

    return law_of(program, 1.0), drafted


class DropsUnlikely(DecodingLoop):
    """A loop that leaves out the last draft token where it is not to its liking."""

    def drafts(self, texts, gamma):
        tokens, scores = super().drafts(texts, gamma)
        kept = gamma - 1 if tokens[0, -1] == 0 else gamma
        return tokens[:, :kept], scores[:, :kept]


@pytest.mark.parametrize("name", long_unless(("token", "block", "greedy-block"), {"block"}))
def test_adaptive_gamma_leaves_the_law_as_it_is_and_a_gamma_that_looks_at_the_drafts_does_not(name):
    law, drafted = law_of_one_text(name, 3, gamma=Adaptive(longest=3, first=2, cost=0.3))
    assert distance(law, expected(SMALL, 3)) < ROUNDING
    assert len(drafted) > 1
    law, _ = law_of_one_text(name, 3, gamma=2, loop=DropsUnlikely)
    assert distance(law, expected(SMALL, 3)) > 1e-3


def test_lenience_moves_the_first_token_by_its_exact_bias_and_is_marked_as_lossy():
    problem = drawn_markov(3, 2)
    law = parts.exact_law(parts.forged(*THREE), lenient(0.5), gamma=2, max_new_tokens=1)
    target, draft = ([float(p) for p in model.start] for model in (problem.target, problem.draft))
    assert abs(distance(law, expected(THREE, 1)) - lenience_bias(target, draft, 0.5)) < ROUNDING
    found = generate(*parts.forged(*THREE)[:2], [[3]], lenient(0.5), gamma=2, max_new_tokens=4)
    assert (found.verifier, found.lossy) == ("lenient-token", "lenience 0.5")
    assert generate(*parts.forged(*THREE)[:2], [[3]], "token", max_new_tokens=4).lossy == ""


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_at_temperature_0_every_verifier_gives_the_targets_own_greedy_text(kind):
    target, draft = parts.attentive(kind)
    prompts = [[3], [4, 5, 6, 7, 8], [2, 3]]
    plain = generate(target, None, prompts, temperature=0, max_new_tokens=16).tokens
    for row, prompt in enumerate(prompts):
        text = list(prompt)
        with torch.no_grad():
            for _ in range(16):
                text.append(int(target(torch.tensor([text])).logits[0, -1].argmax()))
        assert plain[row] == text[len(prompt) :]
    settings = {"temperature": 0, "gamma": 3, "max_new_tokens": 16}
    for name in ("token", "block", "greedy-block", "block-stream"):
        assert generate(target, draft, prompts, name, **settings).tokens == plain
    assert generate(target, draft, prompts, "block", loop=wrong_loops.L01, **settings).tokens != plain
