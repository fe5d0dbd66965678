"""The batched verifiers, coupled with the reference: the same uniforms must give the same tokens, block for block."""

import random
from fractions import Fraction
from functools import cache
from itertools import accumulate

import pytest
import torch

from draftproof.models.battery import audit_battery, drawn_markov, toy
from draftproof.models.decoding import Decoded, iteration
from draftproof.models.decoding import modified as modified_model
from draftproof.tests.verifiers.batched_parts import (
    DEVICES,
    FORMS,
    LARGEST,
    VERIFIERS,
    as_on_cuda,
    in_torch,
    large,
    on,
    probabilities32,
    probabilities64,
)
from draftproof.verifiers.batched import sampling
from draftproof.verifiers.batched.emitted import PADDING
from draftproof.verifiers.batched.rows import Probabilities, rows_of
from draftproof.verifiers.batched.sampling import Uniforms, uniforms
from draftproof.verifiers.batched.verification import (
    Modification,
    carried,
    greedy_block_verification,
    modified,
    token_verification,
)
from draftproof.verifiers.draft_block import Block
from draftproof.verifiers.registry import reference


@pytest.fixture(params=FORMS, ids=lambda form: form.__name__)
def form(request):
    return request.param


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


class Scripted:
    """A reference's chance that reads given uniforms: coins in the order of its flips, one uniform a draw."""

    def __init__(self, coins, draws):
        self.coins, self.draws = iter(coins), iter(draws)

    def flip(self, probability):
        return next(self.coins) < probability

    def draw(self, weights):
        edges = list(accumulate(weights))
        point = Fraction(next(self.draws)) * edges[-1]
        return next(k for k, edge in enumerate(edges) if edge > point)


def coins_of(name, eta):
    """eta_1..eta_gamma in the order in which the reference flips: token verification from the front."""
    return eta if name == "token" else eta[::-1]


def batch_of(problem, size, seed):
    """Drafted blocks of a problem, float64 rows: target [B, gamma + 1, V], draft [B, gamma, V], tokens [B, gamma]."""
    draw, blocks = random.Random(f"{problem.name}/{seed}"), []
    for _ in range(size):
        tokens = ()
        for _ in range(problem.gamma):
            row = problem.draft.row(tokens)
            tokens += tuple(draw.choices(range(problem.vocabulary), weights=list(map(float, row))))
        blocks.append(problem.block(tokens))
    rows = [[[[float(p) for p in row] for row in getattr(b, model)] for b in blocks] for model in ("target", "draft")]
    return blocks, *(torch.tensor(r, dtype=torch.float64) for r in rows), torch.tensor([b.tokens for b in blocks])


def given(tokens, row):
    return tuple(tokens[row][: int((tokens[row] != PADDING).sum())].tolist())


@cache
def expected(name):
    """Return 12 blocks of each problem, the uniforms, and what the reference emits with them."""
    every = []
    for problem in audit_battery():
        blocks, *rows = batch_of(problem, 12, name)
        chance = uniforms(rows[-1], *(torch.Generator().manual_seed(k) for k in (1, 2)))
        verdicts = []
        for k, block in enumerate(blocks):
            scripted = Scripted(coins_of(name, chance.acceptance[k].tolist()), [float(chance.residual[k, 1])])
            verdict = reference(name).verify(block, scripted)
            verdicts.append((verdict.accepted, verdict.tokens(block)))
        every.append((problem.name, rows, chance, verdicts))
    return every


@pytest.mark.parametrize("name", VERIFIERS)
def test_with_the_same_uniforms_the_same_tokens_as_the_reference(name, form, device):
    differing = []
    for problem, rows, chance, verdicts in expected(name):
        found = VERIFIERS[name](form(*(x.to(device) for x in rows)), on(device, chance))
        emitted = [(int(found.accepted[k]), given(found.tokens, k)) for k in range(12)]
        differing += [(problem, one) for one, other in zip(emitted, verdicts, strict=True) if one != other]
    assert not differing


def test_a_planted_bug_differs_from_the_reference():
    class WrongRow(Probabilities):
        def excess(self, at, kept):
            return super().excess((at + 1).clamp(max=kept.shape[1]), kept)

    for name in VERIFIERS:
        with pytest.raises(AssertionError, match="paper-example"):
            test_with_the_same_uniforms_the_same_tokens_as_the_reference(name, WrongRow, "cpu")


class InChunks(Scripted):
    """Draws as the batched verifiers do: a chunk, then a token in it. Floats."""

    def draw(self, weights):
        width = min(sampling.CHUNK_WIDTH, len(weights))
        parts = [weights[k : k + width] for k in range(0, len(weights), width)]
        chosen = super().draw([sum(map(Fraction, part)) for part in parts])
        return chosen * width + super().draw(list(map(Fraction, parts[chosen])))


@pytest.mark.parametrize("name", VERIFIERS)
def test_so_it_is_on_a_vocabulary_of_several_chunks(name, form, device):
    target, draft, tokens = large(12, 2500, 3)
    chance = uniforms(tokens, *(torch.Generator().manual_seed(k) for k in (3, 4)))
    found = VERIFIERS[name](form(target.to(device), draft.to(device), tokens.to(device)), on(device, chance))
    for k in range(len(tokens)):
        block = Block(target[k].tolist(), draft[k].tolist(), tuple(tokens[k].tolist()))
        scripted = InChunks(coins_of(name, chance.acceptance[k].tolist()), chance.residual[k].tolist())
        verdict = reference(name).verify(block, scripted)
        assert (int(found.accepted[k]), given(found.tokens, k)) == (verdict.accepted, verdict.tokens(block))


@pytest.mark.parametrize("uniform", [0.0, LARGEST])
@pytest.mark.parametrize("name", VERIFIERS)
def test_a_token_that_the_target_excludes_is_never_emitted_at_either_end_of_the_uniforms(name, uniform, form, device):
    batches = [batch_of(problem, 8, uniform)[1:] for problem in audit_battery()] + [large(6, 2500, 3)]
    batches = [rows for rows in batches if (rows[0] == 0).any()]
    assert len(batches) > 10
    for target, draft, tokens in batches:
        batch, gamma = tokens.shape
        full = torch.full((batch, gamma), uniform, dtype=torch.float64)
        for chance in (
            Uniforms(full, full[:, :1].expand(-1, 2)),
            Uniforms(full, 1 - full[:, :1].expand(-1, 2) - 2**-53),
        ):
            chance = on(device, Uniforms(chance.acceptance, chance.residual.clamp(0, LARGEST)))
            found = VERIFIERS[name](form(target.to(device), draft.to(device), tokens.to(device)), chance)
            emitted = found.tokens.cpu()
            allowed = target.gather(2, emitted.clamp(min=0)[..., None]).squeeze(-1) > 0
            assert bool((allowed | (emitted == PADDING)).all())
            assert bool(((emitted != PADDING).sum(-1) == found.accepted.cpu() + 1).all())


def test_accepting_at_u_equal_to_the_ratio_would_be_seen():
    """The planted bug of the test above: <= at u = 0 keeps a token that the target excludes."""
    target, draft = torch.tensor([[[0.0, 1.0]] * 2]).double(), torch.tensor([[[1.0, 0.0]]]).double()
    tokens, zero = torch.tensor([[0]]), torch.zeros(1, 2).double()
    below_zero = Uniforms(zero[:, :1] - 1e-300, zero)  # u < p/q at u just below 0 is u <= p/q at 0
    assert token_verification(rows_of(target, draft, tokens, logits=False), below_zero).tokens.tolist() == [[0, 1]]
    assert token_verification(
        rows_of(target, draft, tokens, logits=False), Uniforms(zero[:, :1], zero)
    ).tokens.tolist() == [[1, PADDING]]


@pytest.mark.parametrize("name", VERIFIERS)
@pytest.mark.parametrize(
    "form", [probabilities32, probabilities64, in_torch, as_on_cuda], ids=lambda form: form.__name__
)
def test_where_rounding_empties_the_residual_the_target_row_is_drawn_from(name, form, device):
    """Two rows of 1/2, one entry short by its last place: the coin can fall there, and nothing is left to draw."""
    draft = torch.full((1, 1, 2), 0.5, dtype=torch.float64)
    target = torch.tensor([[[0.5 - 2**-24, 0.5], [0.25, 0.75]]], dtype=torch.float64)
    tokens, coin = torch.tensor([[0]]), torch.full((1, 1), LARGEST, dtype=torch.float64)
    for uniform, token in ((0.25, 0), (0.75, 1)):
        chance = on(device, Uniforms(coin, torch.full((1, 2), uniform, dtype=torch.float64)))
        found = VERIFIERS[name](form(target.to(device), draft.to(device), tokens.to(device)), chance)
        assert found.tokens.tolist() == [[token, PADDING]]


def unlike_alone(verify, form, given, chance):
    """The members of a batch that get other tokens than they get as a batch of one."""
    together = verify(form(*given), chance)
    assert 0 < float(together.accepted.double().mean()) < given[2].shape[1]
    members = [([x[k : k + 1] for x in given], Uniforms(*(x[k : k + 1] for x in chance))) for k in range(len(given[2]))]
    alone = [verify(form(*rows), numbers).tokens.tolist() for rows, numbers in members]
    return [k for k, tokens in enumerate(alone) if tokens != together.tokens[k : k + 1].tolist()]


@pytest.mark.parametrize("size", [(9, 1500, 4), (6, 33_000, 2)], ids=str)
@pytest.mark.parametrize("name", VERIFIERS)
def test_each_member_of_a_batch_gets_what_it_gets_alone(name, size, form, device):
    given = [x.to(device) for x in large(*size, seed=5)]
    chance = on(device, uniforms(given[2].cpu(), *(torch.Generator().manual_seed(k) for k in (7, 8))))
    assert unlike_alone(VERIFIERS[name], form, given, chance) == []

    def one_coin_for_all(rows, numbers):
        return VERIFIERS[name](rows, Uniforms(*(x[:1].expand(len(x), -1) for x in numbers)))

    assert unlike_alone(one_coin_for_all, form, given, chance), "a batch that shares what its members draw is noticed"


@pytest.mark.parametrize(
    "problem", [toy(3), drawn_markov(3, 3, "mixed"), drawn_markov(4, 2), drawn_markov(2, 4)], ids=lambda p: p.name
)
def test_the_loop_with_the_modified_target_is_algorithm_6_nested_modifications_included(problem, device):
    """Four iterations of 60 texts in one batch, coupled with models.decoding, draft draws and all."""
    size, gamma, greedy = 60, problem.gamma, reference("greedy-block")
    draw = random.Random(problem.name)
    decoded, modifications, nested = [Decoded()] * size, [], 0
    for _ in range(4):
        draws = [[draw.random() for _ in range(gamma)] for _ in range(size)]
        chance = Uniforms(
            *(torch.tensor([[draw.random() for _ in range(n)] for _ in range(size)]).double() for n in (gamma, 2))
        )
        target, draft, tokens = drafted_behind(problem, [d.tokens for d in decoded], draws, device)
        inner = []
        for modification in modifications:  # the oldest first; each changes what the next one is nested in
            rows = rows_of(target, draft, tokens, logits=False)
            inner.append(rows)
            target = modified(target, rows, draft, modification)
        found, fresh = greedy_block_verification(rows_of(target, draft, tokens, logits=False), on(device, chance))
        modifications = [*(carried(m, rows, found) for m, rows in zip(modifications, inner)), fresh]
        nested += int((sum((m.remaining > 0).long() for m in modifications) > 1).sum())
        for k in range(size):
            coins = chance.acceptance[k].tolist()[::-1]
            scripted = Scripted(coins, [*draws[k], float(chance.residual[k, 1])])
            after = iteration(problem, greedy, decoded[k], scripted)
            assert after.tokens[len(decoded[k].tokens) :] == given(found.tokens, k)
            decoded[k] = after
    assert gamma == 2 or nested > 0


def drafted_behind(problem, texts, draws, device):
    """A batch with each block drafted behind its own text, by the given uniforms; the target is not modified."""
    target, draft, tokens = [], [], []
    for text, uniform in zip(texts, draws):
        chance, drafted = Scripted((), uniform), ()
        for _ in range(problem.gamma):
            drafted = (*drafted, chance.draw(problem.draft.row(text + drafted)))
        block = problem.block(drafted, text)
        target.append([list(map(float, row)) for row in block.target])
        draft.append([list(map(float, row)) for row in block.draft])
        tokens.append(drafted)
    kind = {"dtype": torch.float64, "device": device}
    return torch.tensor(target, **kind), torch.tensor(draft, **kind), torch.tensor(tokens, device=device)


def test_a_modified_row_is_that_of_the_reference_and_a_lost_ratio_is_seen():
    problem = drawn_markov(3, 3)
    start = modified_model(problem.target, problem.draft, (0,), 3)
    text = (2, 0)  # two tokens after the iteration began: one row is still modified
    target, draft, tokens = drafted_behind(problem, [text], [[0.1, 0.5, 0.9]], "cpu")
    rows = rows_of(target, draft, tokens, logits=False)
    ratio = 1.0
    for n in range(2):
        ratio *= float(problem.target.row(text[:n])[text[n]] / problem.draft.row(text[:n])[text[n]])
    known = Modification(torch.tensor([1]), torch.tensor([ratio], dtype=torch.float64).log())
    new = modified(target, rows, draft, known)
    assert new[0, 0].tolist() == pytest.approx(list(map(float, start.row(text))), abs=1e-12)
    assert bool((new[:, 1:] == target[:, 1:]).all())
    lost = modified(target, rows, draft, Modification(known.remaining, torch.zeros(1).double()))
    assert lost[0, 0].tolist() != pytest.approx(list(map(float, start.row(text))), abs=1e-3)


def test_inputs_are_left_as_they_were(form):
    target, draft, tokens = large(2, 1500, 3)
    kept = [x.clone() for x in (target, draft, tokens)]
    for verify in VERIFIERS.values():
        verify(form(target, draft, tokens), uniforms(tokens))
    assert all(bool((now == before).all()) for now, before in zip((target, draft, tokens), kept))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_an_emitted_token_that_the_draft_excludes_leaves_the_target_as_it_is(dtype):
    """M_b(y | c) / M_s(y | c) is infinite behind it, so Algorithm 5 has M_new = M_b."""
    target = torch.tensor([[[0.2, 0.3, 0.5]] * 4], dtype=dtype)
    draft = torch.tensor([[[0.6, 0.4, 0.0]] * 3], dtype=dtype)
    rows = rows_of(target, draft, torch.tensor([[0, 0, 0]]), logits=False)
    none = torch.full((1, 3), 1 - 2.0**-53, dtype=torch.float64)
    given, modification = greedy_block_verification(rows, Uniforms(none, torch.full((1, 2), 0.99, dtype=torch.float64)))
    assert given.tokens.tolist() == [[2, -1, -1, -1]]
    assert modification.remaining.tolist() == [2]
    assert torch.allclose(modified(target, rows, draft, modification), target)
