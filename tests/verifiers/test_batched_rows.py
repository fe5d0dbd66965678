"""What the batched verifiers draw and sum with: uniforms, running sums, rows of any range, rows that are refused."""

import re

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
)
from draftproof.verifiers.batched.rows import BatchRows, rows_of
from draftproof.verifiers.batched.sampling import pick, running_sums, uniforms


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
        looking = BatchRows(target, draft, tokens)
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


def test_rows_that_do_not_fit_are_told():
    target, draft, tokens = large(2, 5, 3)
    for given, text in (
        (
            (target[:, :3], draft, tokens),
            "need target [2, 4, 5] and draft [2, 3, 5]",
        ),
        ((target, draft, tokens[0]), "none of them empty"),
        ((target, draft.to("meta"), tokens), "rows and tokens on cpu, meta; expected one device"),
    ):
        with pytest.raises(ValueError, match=re.escape(text)):
            rows_of(*given, logits=False)


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
