"""The decoding loop as a program over chance: the exact law of its texts on forged checkpoints, to float32 rounding."""

from math import exp, log
from types import SimpleNamespace

import pytest
import torch

from draftproof.models.battery import drawn_markov
from draftproof.models.generating.draft_length import Adaptive
from draftproof.models.generating.loop import DecodingLoop, decode_plainly, generate
from draftproof.models.generating.loop_verifiers import Drafted, block_by_block, lenient
from draftproof.models.generating.sampling import RowChance
from draftproof.models.law import Markov
from draftproof.proofs.closed_forms import lenience_bias
from draftproof.proofs.enumeration import law_of
from draftproof.reports.audits.loops.mutants import LOOP_MUTANTS, LastTokenEnds
from draftproof.tests.models import generating_parts as parts
from draftproof.verifiers.batched.sampling import Uniforms
from draftproof.verifiers.lenient_token_verification import lenient_token_verification
from draftproof.verifiers.registry import REFERENCES, reference

pytestmark = pytest.mark.engine
one_thread = pytest.fixture(autouse=True, scope="module")(parts.one_thread)

ROUNDING = 1e-6
SMALL = (drawn_markov, 2, 2)
THREE = (drawn_markov, 3, 2)
EVERY = sorted(REFERENCES)


def exact(problem, length):
    return parts.law_of_text(problem[0](*problem[1:]).target, length)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize(
    ("problem", "gamma"),
    [
        ((drawn_markov, 2, 2), 2),
        ((drawn_markov, 3, 2, "zeros"), 2),
        ((drawn_markov, 3, 2, "mixed"), 2),
        ((drawn_markov, 4, 1), 1),
    ],
    ids=["V2-gamma2", "zeros", "mixed", "V4-gamma1"],
)
def test_the_first_gamma_and_two_tokens_follow_the_target_exactly(name, problem, gamma):
    law = parts.exact_law(parts.forged(*problem), reference(name), gamma=gamma, max_new_tokens=gamma + 2)
    assert parts.distance(law, exact(problem, gamma + 2)) < ROUNDING


def test_modifications_are_nested_where_a_second_rejection_comes_before_the_first_has_run_out():
    law = parts.exact_law(parts.forged(drawn_markov, 2, 3), reference("greedy-block"), gamma=3, max_new_tokens=4)
    assert parts.distance(law, exact((drawn_markov, 2, 3), 4)) < ROUNDING

    class NewestAlone(DecodingLoop):
        def verified(self, drafted):
            self.nested.in_force = self.nested.in_force[-1:]
            return super().verified(drafted)

    law = parts.exact_law(
        parts.forged(drawn_markov, 2, 3), reference("greedy-block"), loop=NewestAlone, gamma=3, max_new_tokens=4
    )
    assert parts.distance(law, exact((drawn_markov, 2, 3), 4)) > 1e-3


@pytest.mark.parametrize("name", ["L06", "L07", "L08", "L09", "L10", "L11"])
def test_the_exact_law_gives_defects_away(name):
    defect = LOOP_MUTANTS[name]
    settings = {"gamma": 2, "max_new_tokens": 3, **defect.settings}
    pair, verifier = parts.forged(*THREE), reference(defect.verifier)
    right, wrong = (parts.exact_law(pair, verifier, loop=loop, **settings) for loop in (DecodingLoop, defect.loop))
    assert parts.distance(right, processed(THREE, 3, **defect.settings)) < ROUNDING
    assert parts.distance(wrong, right) > 1e-3


def processed(problem, length, temperature=1.0, top_k=0, top_p=1.0, eos=None):
    """The law of the target's texts under settings, from the exact rows."""

    def row(probabilities):
        if temperature == 0:
            best = max(probabilities)
            chosen = probabilities.index(best)
            return tuple(float(k == chosen) for k in range(len(probabilities)))
        weights = [exp(log(p) / temperature) if p else 0.0 for p in probabilities]
        order = sorted(range(len(weights)), key=lambda k: -weights[k])
        if top_k:
            order = order[:top_k]
        kept, mass, all_mass = [], 0.0, sum(weights[k] for k in order)
        for k in order:
            if mass < top_p * all_mass:
                kept.append(k)
            mass += weights[k]
        total = sum(weights[k] for k in kept)
        return tuple(weights[k] / total if k in kept else 0.0 for k in range(len(weights)))

    target = problem[0](*problem[1:]).target
    law = parts.law_of_text(Markov(row(target.start), tuple(map(row, target.after))), length)
    if eos is None:
        return law
    cut = {}
    for text, p in law.items():
        text = text[: text.index(eos) + 1] if eos in text else text
        cut[text] = cut.get(text, 0.0) + p
    return cut


@pytest.mark.parametrize("name", ["token", "block", "greedy-block"])
@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": 0.6},
        {"temperature": 0.0},
        {"top_k": 2},
        {"top_p": 0.7},
        {"temperature": 1.5, "top_k": 2, "top_p": 0.6},
        {"eos": 1},
    ],
    ids=str,
)
def test_settings_are_applied_to_both_models_alike_and_change_the_law_as_they_say(name, settings):
    law = parts.exact_law(parts.forged(*THREE), reference(name), gamma=2, max_new_tokens=3, **settings)
    assert parts.distance(law, processed(THREE, 3, **settings)) < ROUNDING
    assert parts.distance(law, processed(THREE, 3)) > 0.02


@pytest.mark.parametrize("name", ["token", "block", "greedy-block"])
def test_two_rows_of_a_batch_are_independent_and_each_is_lossless(name):
    law = parts.exact_law(parts.forged(*SMALL), reference(name), prompts=2, gamma=1, max_new_tokens=2)
    one = exact(SMALL, 2)
    assert parts.distance(law, {(a, b): p * q for a, p in one.items() for b, q in one.items()}) < ROUNDING


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
    """Leaves out the last draft token where it is not to its liking."""

    def drafts(self, texts, gamma):
        tokens, scores = super().drafts(texts, gamma)
        kept = gamma - 1 if tokens[0, -1] == 0 else gamma
        return tokens[:, :kept], scores[:, :kept]


@pytest.mark.parametrize("name", ["token", "block", "greedy-block"])
def test_adaptive_gamma_leaves_the_law_as_it_is_and_a_gamma_that_looks_at_the_drafts_does_not(name):
    law, drafted = law_of_one_text(name, 3, gamma=Adaptive(longest=3, first=2, cost=0.3))
    assert parts.distance(law, exact(SMALL, 3)) < ROUNDING
    assert len(drafted) > 1
    law, _ = law_of_one_text(name, 3, gamma=2, loop=DropsUnlikely)
    assert parts.distance(law, exact(SMALL, 3)) > 1e-3


@pytest.mark.parametrize("lenience", [0.5, 0.9])
def test_lenience_moves_the_first_token_by_its_exact_bias_and_is_marked_as_lossy(lenience):
    problem = drawn_markov(3, 2)
    rule = block_by_block(lenient_token_verification(lenience))
    rule = lenient(lenience)._replace(verify=rule)
    law = parts.exact_law(parts.forged(*THREE), rule, gamma=2, max_new_tokens=1)
    target, draft = ([float(p) for p in model.start] for model in (problem.target, problem.draft))
    assert abs(parts.distance(law, exact(THREE, 1)) - lenience_bias(target, draft, lenience)) < ROUNDING
    found = generate(*parts.forged(*THREE)[:2], [[3]], lenient(lenience), gamma=2, max_new_tokens=4)
    assert (found.verifier, found.lossy) == ("lenient-token", f"lenience {lenience}")
    assert generate(*parts.forged(*THREE)[:2], [[3]], "token", max_new_tokens=4).lossy == ""


def test_lenience_on_tensors_accepts_and_draws_as_the_reference_does():
    """Both with the same numbers: the coins in their order, and the draw by the same inverse transform."""
    torch.manual_seed(1)
    target, draft = torch.rand(300, 4, 5).log_softmax(-1), torch.rand(300, 3, 5).log_softmax(-1)
    tokens = torch.randint(5, (300, 3))
    numbers = Uniforms(torch.rand(300, 3, dtype=torch.float64), torch.rand(300, 2, dtype=torch.float64))
    drafted = Drafted(4 * target, 4 * draft, tokens)
    on_tensors = lenient(0.4).verify(drafted, Replayed(numbers))
    one_by_one_ = block_by_block(lenient_token_verification(0.4))(drafted, Replayed(numbers))
    strict = block_by_block(lenient_token_verification(1.0))(drafted, Replayed(numbers))
    assert torch.equal(on_tensors.accepted, one_by_one_.accepted)
    assert torch.equal(on_tensors.tokens, one_by_one_.tokens)
    assert not torch.equal(on_tensors.accepted, strict.accepted)


class Replayed:
    """Chances that give out numbers made before."""

    def __init__(self, numbers):
        self.numbers = numbers

    def uniforms(self, tokens):
        return self.numbers

    def of_row(self, row):
        return RowChance(
            SimpleNamespace(random=iter(self.numbers.acceptance[row].tolist()).__next__),
            SimpleNamespace(random=iter(self.numbers.residual[row].tolist()[1:]).__next__),
        )


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_at_temperature_0_every_verifier_gives_the_targets_own_greedy_text(kind):
    target, draft = parts.attentive(kind)
    prompts = [[3], [4, 5, 6, 7, 8], [2, 3]]
    plain = decode_plainly(target, prompts, temperature=0, max_new_tokens=16).tokens
    for row, prompt in enumerate(prompts):
        text = list(prompt)
        with torch.no_grad():
            for _ in range(16):
                text.append(int(target(torch.tensor([text])).logits[0, -1].argmax()))
        assert plain[row] == text[len(prompt) :]
    for name in ("token", "block", "greedy-block", "block-stream"):
        found = generate(target, draft, prompts, name, temperature=0, gamma=3, max_new_tokens=16)
        assert found.tokens == plain
    wrong = generate(
        target, draft, prompts, "block", temperature=0, gamma=3, max_new_tokens=16, loop=LOOP_MUTANTS["L01"].loop
    )
    assert wrong.tokens != plain


@pytest.mark.parametrize("name", ["token", "block", "greedy-block"])
def test_nothing_follows_an_end_token_and_no_text_is_longer_than_asked(name):
    target, draft = parts.attentive("gpt2")
    prompts = [[3]] * 40
    found = generate(target, draft, prompts, name, gamma=5, max_new_tokens=6, eos=[2, 7])
    assert {len(tokens) for tokens in found.tokens} > {6}
    for row, tokens in enumerate(found.tokens):
        ends = [at for at, token in enumerate(tokens) if token in (2, 7)]
        assert len(tokens) == (ends[0] + 1 if ends else 6)
        assert found.lengths(row)[-1] == len(tokens)
    within = [
        each for each in found.iterations for tau, n in zip(each.accepted, each.added, strict=True) if n < tau + 1
    ]
    assert within
    wrong = generate(target, draft, prompts, name, gamma=5, max_new_tokens=6, eos=[2, 7], loop=LastTokenEnds)
    assert any(token in (2, 7) for tokens in wrong.tokens for token in tokens[:-1])
