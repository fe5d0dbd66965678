"""Calls of third-party functions: what they leave behind ends."""

import collections
import math
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from draftproof.verifiers.adapters.calling_convention import (
    BadResult,
    NotASubject,
    OnLogits,
    arguments,
    call,
    logits_of,
    plan_call,
    rounded,
    tokens_of,
)

FORKS = """
import os, sys
from draftproof.verifiers.adapters.calling_convention import call, plan_call

def f(target_probs, draft_probs, draft_tokens):
    os.fork()
    return [0]

def raises(target_probs, draft_probs, draft_tokens):
    os.fork()
    raise ValueError

first = os.getpid()
for k in range(40):  # 2^40 processes if each came back
    function = (f, raises)[k % 2]
    try:
        call(function, plan_call(function, "f"), ([], [], []), None)
    except ValueError:
        pass
    assert os.getpid() == first
print("done", end="")
"""


def test_forks_that_come_back_from_a_call_do_not_multiply():
    done = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, timeout=3600, check=False)
    assert (done.stdout, done.returncode) == ("done", 0), done.stderr


ALONE = [[3], (0, 3), np.array([0, 3]), [np.int64(0), np.array(3)], [[0], [3]], [[0, 3]], [0, np.array([3])],
         np.array([[0, 3]]), 3, np.float32(3.0)]  # fmt: skip
Result = collections.namedtuple("Result", "tokens accepted")


@pytest.mark.parametrize("result", ALONE, ids=str)
def test_tokens_are_taken_from_lists_arrays_scalars_and_nested_lists_of_one(result):
    assert tokens_of(result) in [(3,), (0, 3)]


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (([0, 3], 1), r"a tuple of \(list of length 2, int\), .*returns f\(...\)\[0\]"),
        ([np.array([3]), 0], r"a list of \(ndarray of shape \(1,\), int\)"),
        (([3], [True]), "True among the tokens"),
        ((np.array([[0, 3]]), np.array([1])), "among the tokens"),
        (Result([3], 0), r"returns f\(...\).tokens"),
        ({"ids": [3], "n": 0}, r"a dict with the keys ids, n, .*returns f\(...\)\['ids'\]"),
        (SimpleNamespace(output_tokens=[3]), r"returns f\(...\).output_tokens"),
        ((t for t in [3]), r"a generator, .*returns list\(f\(...\)\)"),
        (object(), "an object, expected only the emitted tokens, in a list or an array$"),
    ],
)
def test_what_is_not_tokens_alone_is_no_result_and_says_what_to_audit_instead(result, text):
    with pytest.raises(BadResult, match=text):
        tokens_of(result)


def test_rows_that_are_lists_hold_the_numbers_of_their_type():
    assert rounded([1 / 3, 0.0, 1.0], "bfloat16") == [0.333984375, 0.0, 1.0]
    assert rounded([1 + 2**-8, 1 + 3 * 2**-8], "bfloat16") == [1.0, 1 + 2**-6]  # half to even
    assert rounded([0.1], "float32") == [float(np.float32(0.1))]
    assert arguments([[1 / 3]], [], [], "list", "float64")[0] == [[1 / 3]]


def test_parents_by_position_alone_are_the_fourth_argument_or_are_refused():
    def fourth(a, b, c, parents, /, rng=None):
        return [a, b, c, parents, rng]

    def drawing(a, b, c, rng, /):
        return []

    assert call(fourth, plan_call(fourth, "f"), [1, 2, 3, 4], 5) == [1, 2, 3, 4, 5]
    with pytest.raises(NotASubject, match="'rng' by position only"):
        plan_call(drawing, "f")


def test_around_a_function_of_logits_it_is_called_with_logarithms():
    def on_logits(target, draft, tokens, rng):
        return target, draft, tokens, rng

    verify, rows = OnLogits(on_logits, "rng"), np.array([[0.5, 0.5], [0.0, 1.0]])
    assert verify.__name__ == "on_logits"
    plan = plan_call(verify, "f")
    assert (plan.by_name, plan.random) == (True, "rng")
    target, draft, tokens, rng = call(verify, plan, [rows, rows[:1], [1]], 7)
    assert target.tolist() == np.array([[math.log(0.5)] * 2, [-math.inf, 0.0]]).tolist()
    assert (draft.tolist(), tokens, rng) == ([[math.log(0.5)] * 2], [1], 7)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize("row", [[0.0, 0.3, -0.0, 1e-46, 0.7], [0.1, 0.9], [0.0, 0.0], []])
def test_a_row_in_a_list_has_the_same_numbers_and_its_zeros_are_one_object(row, dtype):
    listed = rounded(row, dtype)
    if dtype == "bfloat16":
        torch = pytest.importorskip("torch")
        wanted = torch.tensor(row, dtype=torch.float32).bfloat16().tolist()
    else:
        wanted = [float(np.dtype(dtype).type(x)) for x in row]
    assert [*map(repr, listed)] == [*map(repr, wanted)] and {*map(type, listed)} <= {float}
    assert len({id(x) for x in listed if repr(x) == "0.0"}) <= 1


@pytest.mark.parametrize("kind", ["float64", "bfloat16"])
@pytest.mark.parametrize("share", [1e-4, 0.9])
def test_logits_are_those_of_torch_bit_by_bit(kind, share):
    torch = pytest.importorskip("torch")
    draw = torch.Generator().manual_seed(7)
    rows = torch.rand(3, 5003, generator=draw) * (torch.rand(3, 5003, generator=draw) < share)
    rows[1, :6] = torch.tensor([0.0, -0.0, math.inf, math.nan, 1e-45, -1.0])  # as a wrong caller would hand them
    rows = rows.to(getattr(torch, kind))
    for given in (rows, rows[:, ::2], rows[:1]):
        bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[rows.element_size()]
        assert torch.equal(logits_of(given).view(bits), given.log().view(bits))
