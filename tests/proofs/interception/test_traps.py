"""Where an interception could be fooled it gives the true law, or refuses: never another law."""

import ast
from pathlib import Path

import pytest

from draftproof.models.battery import toy
from draftproof.models.problem import problem_from
from draftproof.models.rationals import as_float
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.sandbox import Sandbox

pytestmark = pytest.mark.interception
FOLDER = Path(__file__).parents[2] / "subjects"
ONE_DRAW = problem_from({"vocabulary": 3, "gamma": 1, "target": ["1/4", "1/2", "1/4"], "draft": ["0", "1", "0"]})


def table(file, name):
    """A constant of the file, read without importing it here."""
    for node in ast.parse((FOLDER / file).read_text()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == name:
            return eval(compile(ast.Expression(node.value), file, "eval"))
    raise KeyError(name)


@pytest.fixture(scope="module")
def plain():
    with Sandbox("", timeout=30) as box:
        yield box


@pytest.fixture(scope="module")
def torched():
    with Sandbox("", "torch", timeout=60, torch=True) as box:
        yield box


def check(box, file, name):
    box.load(f"{FOLDER / file}:{name}", [ONE_DRAW])
    found = measured(ONE_DRAW, "float64", box.law(ONE_DRAW))
    true, followed = table(file, "TRUE")[name], name in table(file, "FOLLOWED")
    assert found.known or not followed, found.reason
    if true is None:  # seeded in the call: whatever comes out comes always
        assert len(found.outcomes()) == 1
        assert "reseeds" in found.findings
    elif found.known:
        assert as_float(found.outputs().get((1,), 0)) == pytest.approx(true, abs=2e-6)
    else:
        assert found.reason


@pytest.mark.parametrize("name", table("traps.py", "TRUE"))
def test_the_law_is_the_true_one_or_none(plain, name):
    check(plain, "traps.py", name)


@pytest.mark.engine
@pytest.mark.parametrize("name", table("torch_traps.py", "TRUE"))
def test_the_law_of_torch_code_is_the_true_one_or_none(torched, name):
    check(torched, "torch_traps.py", name)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("def f(target_probs, draft_probs, draft_tokens):\n    return [10**5000]\n", None),
        ("import subprocess, os\ndef f(target_probs, draft_probs, draft_tokens):\n"
         "    subprocess.Popen(['sleep', '30'], start_new_session=True, close_fds=False)\n    os._exit(3)\n",
         "exit status 3"),
    ],
    ids=["huge token", "daemon holds the pipe"],
)  # fmt: skip
def test_the_parent_survives_what_the_child_does(tmp_path, source, text):
    from draftproof.reports.audits.api import audit

    file = tmp_path / "hostile.py"
    file.write_text(source)
    report = audit(f"{file}:f", [toy(1)], dtypes=["float64"], timeout=3)
    assert report.text()
    if text is not None:
        assert text in report.failure["message"]
