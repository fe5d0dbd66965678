"""What the batched verifiers draw and sum with: uniforms, running sums, rows of any range, rows that are refused."""

import sys

import pytest
import torch

from draftproof.tests.verifiers.batched_parts import (
    DEVICES,
    FORMS,
    LARGEST,
    ON_CUDA,
    VERIFIERS,
    block_verification,
    large,
    token_verification,
)
from draftproof.verifiers.batched import rows as rows_module
from draftproof.verifiers.batched.rows import Probabilities, rows_of
from draftproof.verifiers.batched.sampling import Uniforms, pick, running_sums, uniforms


def rise_at_weights_only(weights, sums):
    """Whether sums, a row for each row of weights, never fall, and stay as they are where the weight is 0."""
    before = torch.nn.functional.pad(sums[:, :-1], (1, 0))
    return bool(((sums >= before) & ((sums == before) | (weights > 0))).all())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("batch", [1, 5])
def test_running_sums_never_fall_and_rise_at_positive_weights_only(batch, device):
    make = torch.Generator().manual_seed(batch)
    for size in (1, 2, 33, 1024, 5000):
        weights = torch.rand(batch, size, generator=make) * (torch.rand(batch, size, generator=make) < 0.3)
        weights = weights.to(device)
        sums = running_sums(weights)
        assert rise_at_weights_only(weights, sums)
        assert torch.allclose(sums[:, -1], weights.sum(-1, dtype=torch.float64), rtol=1e-12)


def test_a_rise_by_one_unit_in_the_last_place_where_there_is_no_weight_would_be_seen_and_is_taken_away(monkeypatch):
    weights = torch.tensor([[0.0, 0.3, 0.0, 0.2, 0.0]])
    right = weights.cumsum(-1, dtype=torch.float64)
    off = right.clone()
    off[0, 2], off[0, 4] = torch.nextafter(off[0, 2], torch.tensor(1.0)), torch.nextafter(off[0, 4], torch.tensor(0.0))
    assert rise_at_weights_only(weights, right)
    assert not rise_at_weights_only(weights, off)
    monkeypatch.setattr(torch.Tensor, "cumsum", lambda *_, **__: off)
    assert torch.equal(running_sums(weights), right)


WATCHED = [*ON_CUDA, pytest.mark.filterwarnings("ignore:Synchronization debug mode")]


@pytest.mark.parametrize("logits", [True, False])
@pytest.mark.parametrize("name", [pytest.param(name, marks=WATCHED) for name in VERIFIERS])
def test_on_cuda_no_verifier_waits_for_a_result(name, logits):
    target, draft, tokens = (x.to("cuda") for x in large(4, 2500, 5))
    if logits:
        target, draft = target.log(), draft.log()
    torch.cuda.set_sync_debug_mode("error")
    try:
        found = VERIFIERS[name](rows_of(target, draft, tokens, logits=logits), uniforms(tokens))
        looking = Probabilities(target, draft, tokens)
        looking.waits = False
        with pytest.raises(RuntimeError, match="synchroniz"):
            block_verification(looking, uniforms(tokens))
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert found.tokens.device.type == "cuda"


def test_a_pick_lies_on_a_positive_weight_for_every_uniform():
    weights = torch.tensor([[0.0, 0.1, 0.0, 0.2, 0.0, 0.0], [0.0, 0.0, 3e-39, 0.0, 0.0, 0.0]])
    for uniform in (0.0, 2**-53, 0.5, LARGEST):
        chosen = pick(weights.cumsum(-1, dtype=torch.float64), torch.full((2, 1), uniform, dtype=torch.float64))
        assert bool((weights.gather(1, chosen) > 0).all())


def test_acceptance_and_residual_come_from_their_own_generators():
    tokens = torch.zeros(3, 4, dtype=torch.long)

    def seeded(*seeds):
        return uniforms(tokens, *(torch.Generator().manual_seed(seed) for seed in seeds))

    first, other_coins, other_draws = seeded(1, 2), seeded(3, 2), seeded(1, 4)
    assert bool((first.residual == other_coins.residual).all())
    assert not bool((first.acceptance == other_coins.acceptance).any())
    assert bool((first.acceptance == other_draws.acceptance).all())
    assert not bool((first.residual == other_draws.residual).any())
    assert len(torch.cat([*first], 1).unique()) == 3 * (4 + 2), "no member of a batch shares a number with another"


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(lambda x: x * 30, marks=pytest.mark.needs("numba")),  # in torch a probability below 1e-45 is 0
        lambda x: x.sort().values * 60,
        lambda x: x + torch.linspace(-2000, 3000, x.numel()),
        lambda x: torch.cat([torch.full((1100,), -torch.inf), x[1100:]]),
        lambda x: torch.where(torch.arange(x.numel()) == x.numel() - 1, 0.0, -torch.inf),
    ],
    ids=["wide", "rising", "far", "first-part-excluded", "one-hot"],
)
def test_logits_of_any_range_have_their_softmax(row):
    """log(M_b / M_s) of the last token, which every row allows, against float64; a uniform draft's is -log V."""
    size = 5000
    logits = row(torch.randn(size, generator=torch.Generator().manual_seed(1))).float()
    target, draft = logits.repeat(1, 2, 1), torch.zeros(1, 1, size)
    found = rows_of(target, draft, torch.tensor([[size - 1]]), logits=True)
    expected = logits.double().log_softmax(0)[-1] + torch.tensor(size).log()
    assert float(found.log_ratios()) == pytest.approx(float(expected), rel=1e-6, abs=1e-5)
    point = Uniforms(torch.full((1, 1), LARGEST).double(), torch.full((1, 2), 0.5).double())
    assert float(logits[int(token_verification(found, point).tokens[0, 0])]) > -torch.inf


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_logits_that_are_not_finite_are_told_wherever_they_stand(value):
    pytest.importorskip("numba", reason="said where the rows are compiled for: needs numba")
    for where in (0, 2000, 4999):
        for model in (0, 1):
            given = [torch.zeros(1, 2, 5000), torch.zeros(1, 1, 5000)]
            given[model][0, 0, where] = value
            with pytest.raises(ValueError, match=r"block 0, row 0 allows no token, or holds NaN or \+inf"):
                rows_of(*given, torch.tensor([[3]]), logits=True)


def test_rows_that_do_not_fit_or_allow_nothing_are_told():
    target, draft, tokens = large(2, 5, 3)
    with pytest.raises(
        ValueError, match=r"need target \[2, 4, 5\] and draft \[2, 3, 5\], none of them empty; got \[2, 3, 5\]"
    ):
        rows_of(target[:, :3], draft, tokens, logits=False)
    with pytest.raises(ValueError, match="none of them empty"):
        rows_of(target, draft, tokens[0], logits=False)
    with pytest.raises(ValueError, match="rows and tokens on cpu, meta; expected one device"):
        rows_of(target, draft.to("meta"), tokens, logits=False)
    pytest.importorskip("numba", reason="said where the rows are compiled for: needs numba")
    empty = draft.log().float()
    empty[1, 2] = -torch.inf
    with pytest.raises(ValueError, match="block 1, row 2 allows no token"):
        rows_of(target.log().float(), empty, tokens, logits=True)
    with pytest.raises(ValueError, match="draft tokens from 0 to 5; expected 0 to 4"):
        rows_of(target.float(), draft.float(), torch.tensor([[0, 1, 2], [2, 1, 5]]), logits=False).log_ratios()
    bonus, zero = target.float(), torch.zeros(2, 3, dtype=torch.float64)
    bonus[0, 3], bonus[:, :3] = 0, draft  # all is accepted, and then there is no bonus token
    with pytest.raises(ValueError, match="block 0, row 3 allows no token"):
        token_verification(rows_of(bonus, draft.float(), tokens, logits=False), Uniforms(zero, zero[:, :2]))


def test_where_numba_is_missing_or_refuses_the_rows_are_worked_on_in_torch(monkeypatch):
    target, draft, tokens = large(2, 50, 3)
    given = target.float(), draft.float(), tokens
    monkeypatch.setitem(sys.modules, "draftproof.verifiers.batched.compiled", None)  # its import is an ImportError
    rows_module.compiled_rows.cache_clear()
    try:
        assert isinstance(rows_of(*given, logits=False), Probabilities)
    finally:
        monkeypatch.undo()
        rows_module.compiled_rows.cache_clear()
    pytest.importorskip("numba", reason="rows are compiled by numba")
    assert not isinstance(rows_of(*given, logits=False), Probabilities)


def test_coins_may_lie_in_any_order_in_memory():
    target, draft, tokens = large(6, 50, 3)
    chance = uniforms(tokens)
    turned = Uniforms(chance.acceptance.T.contiguous().T, chance.residual.T.contiguous().T)
    for verify in VERIFIERS.values():
        rows = rows_of(target.float(), draft.float(), tokens, logits=False)
        assert torch.equal(verify(rows, turned).tokens, verify(rows, chance).tokens)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_a_draft_token_that_the_draft_excludes_is_rejected_where_the_target_does_too_and_else_has_ratio_one(
    form, device
):
    target = torch.tensor([[[0.5, 0.5, 0.0]] * 3], dtype=torch.float64, device=device)
    draft = torch.tensor([[[1.0, 0.0, 0.0]] * 2], dtype=torch.float64, device=device)
    rows = form(target, draft, torch.tensor([[1, 2]], device=device))
    assert rows.log_ratios().tolist() == [[0.0, -torch.inf]]
    assert rows.survival().tolist() == [[1.0, 0.0]]
    for verify in VERIFIERS.values():
        assert verify(rows, uniforms(rows.tokens)).accepted.tolist() == [1]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_behind_a_whole_block_the_targets_row_is_drawn_from_as_it_is_whatever_the_block_survived_with(form, device):
    """Multiplied by p first it would be rounded once more, and block verification of one token draw otherwise than
    token verification: on an H200 one text of 164 was another."""
    target, draft, tokens = (x.to(device) for x in large(6, 5000, 1))
    rows, at = form(target, draft, tokens), torch.ones(6, dtype=torch.long, device=device)
    survived = torch.tensor([[0.3], [0.7], [1.0], [1e-9], [3.0], [0.9]], dtype=torch.float64, device=device)
    found, expected = (rows.excess(at, p) for p in (survived, torch.ones_like(survived)))
    assert torch.equal(found.edges, expected.edges)
    for chunk in range(found.edges.shape[1]):
        place = torch.full((6, 1), chunk, device=device)
        assert torch.equal(found.inside(place), expected.inside(place))
