"""The exact law of functions that draw with torch, in each precision, on torch's own lattice."""

from fractions import Fraction
from pathlib import Path

import pytest

from draftproof.models.problem import problem_from
from draftproof.models.rationals import as_float
from draftproof.proofs.audit_claims import lossless
from draftproof.proofs.laws.small_measurement import measured

pytestmark = [pytest.mark.interception, pytest.mark.engine]
FILE = Path(__file__).parents[2] / "subjects" / "torch_draws.py"
ZERO = {
    "float64": Fraction(1, 2**53),
    "float32": Fraction(1, 2**24),
    "float16": Fraction(1, 2**12) + Fraction(1, 2**24),
    "bfloat16": Fraction(1, 2**9) + Fraction(1, 2**24),
}
"""How often torch's uniform is exactly 0: in half precision what rounds up to 1 becomes 0."""
ROW = ["21/100", "47/100", "32/100"]


def names(group):
    body = FILE.read_text().split(f"\n{group} = (", 1)[1].split(")", 1)[0]
    return [name.strip() for name in body.replace("\n", " ").split(",") if name.strip()]


@pytest.fixture(params=["float64", "float32"])
def sandbox(request, torch_child):
    return torch_child(request.param)


def measure(sandbox, name, problem, file=FILE):
    sandbox.load(f"{file}:{name}", [problem])
    return measured(problem, sandbox.dtype, sandbox.law(problem))


@pytest.mark.parametrize("row", [ROW, ["0", "63/100", "37/100"], ["0", "1", "0"]], ids=["plain", "zero", "one-hot"])
@pytest.mark.parametrize(
    ("name", "exactness"),
    [(n, "exact") for n in names("EXACT")]
    + [(n, "lattice") for n in names("LATTICE")]
    + [(n, "by-calls") for n in names("RACES")],
)
def test_every_way_of_drawing_is_followed(sandbox, name, exactness, row):
    problem = problem_from({"vocabulary": 3, "gamma": 1, "target": row, "draft": ["0", "1", "0"]})
    found = measure(sandbox, name, problem)
    assert found.known, found.reason
    if row == ROW:
        assert found.exactness == exactness
    for token, p in enumerate(found.in_use.target.row(())):  # the rows as they are in this precision
        observed = as_float(found.outputs().get((token,), 0))
        assert observed == pytest.approx(as_float(p), abs=found.tolerance)
        assert as_float(p) == pytest.approx(float(Fraction(row[token])), abs=1e-7)


@pytest.mark.parametrize("dtype", ZERO)
def test_the_uniform_of_each_precision_is_zero_as_often_as_torch_makes_it(dtype, tmp_path, torch_child):
    file = tmp_path / "zero.py"
    file.write_text(
        "import torch\n"
        "def f(target_probs, draft_probs, draft_tokens):\n"
        "    return [0 if torch.rand_like(target_probs[0, 0]) <= target_probs[0, 0] else 1]\n"
    )
    problem = problem_from({"vocabulary": 2, "gamma": 1, "target": ["0", "1"], "draft": ["1", "0"]})
    found = measure(torch_child(dtype), "f", problem, file)
    assert Fraction(str(found.outputs()[(0,)])) == ZERO[dtype]


@pytest.mark.parametrize("dtype", ZERO)
def test_real_draws_of_torch_follow_the_lattice_that_is_assumed(dtype):
    """A million real draws: the share of zeros and of values below 0.3, within six standard errors."""
    import torch

    n, generator = 1_000_000, torch.Generator().manual_seed(11)
    drawn = torch.rand(n, dtype=getattr(torch, dtype), generator=generator)
    for value, expected in ((0.0, float(ZERO[dtype])), (0.3, None)):
        share = float((drawn <= value).double().mean())
        if expected is None:
            single = torch.rand(4_000_000, generator=generator).to(getattr(torch, dtype))
            expected = float(((single <= value) | (single == 1)).double().mean())
        assert abs(share - expected) < 6 * (expected * (1 - expected) / n) ** 0.5 + 2.5 / n
    single = torch.rand(n, generator=torch.Generator().manual_seed(3))
    half = torch.rand(n, dtype=getattr(torch, dtype), generator=torch.Generator().manual_seed(3))
    if dtype != "float64":
        rounded = single.to(half.dtype)
        assert bool((half == torch.where(rounded == 1, torch.zeros_like(rounded), rounded)).all())


RARE = """
import torch


def sometimes_the_draft(target_probs, draft_probs, draft_tokens, generator):
    token = torch.multinomial(target_probs[0], 1, generator=generator)
    return [draft_tokens[0] if {} < 1e-6 else token]
"""


@pytest.mark.parametrize("function", ["ops.aten.uniform", "ops.aten.uniform.default", "_standard_gamma"])
def test_what_draws_past_the_functions_that_are_followed_has_no_law(sandbox, function, tmp_path):
    problem = problem_from({"vocabulary": 2, "gamma": 1, "target": ["1/4", "3/4"], "draft": ["3/4", "1/4"]})
    (tmp_path / "rare.py").write_text(RARE.format(f"torch.{function}(torch.ones(()), generator=generator)"))
    found = measure(sandbox, "sometimes_the_draft", problem, tmp_path / "rare.py")
    assert not found.known and "is not followed" in found.reason


OPERATOR = """
import torch

library = torch.library.Library("an_engine", "DEF")
library.define("coin(Tensor like, *, Generator? generator=None) -> Tensor")


@torch.library.impl(library, "coin", "CPU")
def coin(like, generator=None):
    with torch._C.DisableTorchFunction():  # as an operator in C++ draws
        return torch.rand(like.shape, generator=generator)
"""


def test_an_operator_of_an_engine_that_takes_the_generator_has_no_law(torch_child, tmp_path):
    problem = problem_from({"vocabulary": 2, "gamma": 1, "target": ["1/4", "3/4"], "draft": ["3/4", "1/4"]})
    rare = RARE.format("torch.ops.an_engine.coin(torch.ones(()), generator=generator)").removeprefix("\nimport torch\n")
    (tmp_path / "operator.py").write_text(OPERATOR + rare)
    found = measure(torch_child("float64"), "sometimes_the_draft", problem, tmp_path / "operator.py")
    assert not found.known and "coin at operator.py" in found.reason


def test_every_function_of_torch_that_takes_a_generator_is_known():
    import torch

    from draftproof.proofs.interception.hook_torch import RANDOM, UNFOLLOWED

    schemas = [s for s in torch._C._jit_get_all_schemas() if s.name.startswith("aten::")]
    draws = {s.name[6:] for s in schemas if any(a.name == "generator" for a in s.arguments)}
    assert {"uniform", "_standard_gamma"} < draws
    assert (
        draws - {"_no_grad_normal_", "_no_grad_uniform_"} <= RANDOM.keys() | UNFOLLOWED
    )  # those call normal_, uniform_


LAST_UNIFORM = """
import torch
kept = []


def of_the_last_call(target_probs, draft_probs, draft_tokens):
    kept.append(torch.rand((), dtype=target_probs.dtype))
    drawn = kept[-2] if len(kept) > 1 else kept[-1]
    ratio = target_probs[0, draft_tokens[0]] / draft_probs[0, draft_tokens[0]]
    accepted = bool(drawn < ratio)
    row = target_probs[1] if accepted else (target_probs[0] - draft_probs[0]).clamp(min=0)
    token = int(torch.multinomial(row, 1))
    return [int(draft_tokens[0]), token] if accepted else [token]
"""


def test_a_tensor_that_was_kept_from_an_earlier_call_is_no_random_number_of_this_one(sandbox, tmp_path):
    file = tmp_path / "keeps.py"
    problem = problem_from({"vocabulary": 2, "gamma": 1, "target": ["1/4", "3/4"], "draft": ["3/4", "1/4"]})
    file.write_text(LAST_UNIFORM)
    assert not measure(sandbox, "of_the_last_call", problem, file).known
    file.write_text(LAST_UNIFORM.replace("kept[-2] if len(kept) > 1 else ", ""))
    found = measure(sandbox, "of_the_last_call", problem, file)
    assert found.known and lossless(found).holds
