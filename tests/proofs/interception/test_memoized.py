"""What torch computed of a large tensor is returned for the same numbers alone, in memory of its own."""

import pytest

torch = pytest.importorskip("torch")

from draftproof.models.battery import toy  # noqa: E402
from draftproof.models.wide import wide  # noqa: E402
from draftproof.proofs.audit_claims import judge  # noqa: E402
from draftproof.proofs.interception.memoized import CALLS, LARGE, MEMOIZED, MOST_BYTES  # noqa: E402
from draftproof.proofs.laws.wide_measurement import measured_wide  # noqa: E402


def called(name, func, *args, **kwargs):
    return CALLS[name](func, args, kwargs)


@pytest.fixture
def calls():
    """A function that counts how often it is called."""

    def softmax(x, dim):
        softmax.made += 1
        return x.softmax(dim)

    softmax.made = 0
    return softmax


@pytest.mark.parametrize("name", sorted(MEMOIZED))
def test_what_is_returned_again_is_what_torch_returns(name):
    x, settings = torch.rand(2, LARGE, dtype=torch.float32), (-1,) if name not in ("exp", "log") else ()
    function = getattr(torch.Tensor, name)
    for _ in range(2):
        found, right = called(name, function, x, *settings), function(x, *settings)
        assert type(found) is type(right)
        for one, other in zip(found, right) if name == "sort" else [(found, right)]:
            assert one.equal(other) and one.dtype == other.dtype and one.data_ptr() != x.data_ptr()


def test_who_writes_to_what_he_was_given_does_not_change_what_comes_next(calls):
    x = torch.rand(LARGE, dtype=torch.float64)
    for _ in range(3):
        found = called("softmax", calls, x, -1)
        assert found.equal(x.softmax(-1))
        found.zero_()
    assert calls.made == 1


@pytest.mark.parametrize("at", [0, 1, LARGE // 2 + 1, LARGE - 1])
def test_one_number_that_is_another_one_is_seen_wherever_it_stands(calls, at):
    x = torch.rand(LARGE, dtype=torch.float64)
    called("softmax", calls, x, -1)
    x.numpy()[at] += 1.0  # torch does not count this as a change
    assert called("softmax", calls, x, -1).equal(x.softmax(-1)) and calls.made == 2


def test_other_settings_types_and_shapes_are_computed(calls):
    x = torch.rand(2, LARGE, dtype=torch.float64)
    for y, dim in ((x, -1), (x, 0), (x.reshape(-1), -1), (x.reshape(4, -1), -1), (x.float(), -1)):
        assert called("softmax", calls, y, dim).equal(y.softmax(dim))
    assert calls.made == 5


def test_small_tensors_views_with_gaps_and_those_that_need_gradients_are_not_kept(calls):
    x = torch.rand(2, 2 * LARGE)
    for y in (x[:, :9], x[:, ::2], x.T, x.double().requires_grad_()):
        for _ in range(2):
            called("softmax", calls, y, -1)
    assert calls.made == 8


def test_what_is_kept_does_not_grow_without_end(calls):
    memo = CALLS["softmax"].__self__
    for k in range(2 * MOST_BYTES // (16 * LARGE) + 2):
        called("softmax", calls, torch.full((LARGE,), float(k), dtype=torch.float64), -1)
        assert memo._bytes <= MOST_BYTES + 16 * LARGE
    assert memo._kept


NAN = torch.full((LARGE,), float("nan"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (torch.zeros(LARGE), torch.zeros(LARGE)), (torch.zeros(LARGE), -torch.zeros(LARGE)), (NAN, NAN.clone()),
        (torch.zeros(LARGE), torch.zeros(1, LARGE)), (torch.zeros(LARGE), torch.eye(1, LARGE)[0]),
        (torch.zeros(4, LARGE), torch.zeros(LARGE, 4).T),
    ],
)  # fmt: skip
def test_large_tensors_are_equal_where_torch_says_so(one, other):
    assert called("equal", torch.equal, one, other) is torch.equal(one, other)


def test_code_that_writes_to_its_softmax_has_the_law_that_it_has_without(torch_child):
    laws, problem, sandbox = {}, wide(40_000, 1), torch_child("float64")
    for name in ("writes_to_its_softmax", "changes_its_logits"):
        sandbox.load(f"draftproof.tests.subjects.wide_torch:{name}", [toy(1)])
        measurement = measured_wide(problem, "float64", sandbox.law(problem))
        assert measurement.unknown == 0.0, measurement.reason
        laws[name] = judge(measurement)[0]
    assert laws["writes_to_its_softmax"].holds and laws["writes_to_its_softmax"].total_variation < 1e-12
    assert laws["changes_its_logits"].refuted
