"""The place that a finding names is a line of the audited code."""

import pytest

from draftproof.models.battery import toy
from draftproof.proofs.sandbox import Sandbox

pytestmark = pytest.mark.interception
SOURCE = """import functools, random

def verify(target_probs, draft_probs, draft_tokens):
    u = random.random()
    weights = functools.reduce(lambda total, p: total + p, [1.0, u])
    return [int(map_of(u))]

def map_of(u):
    return sorted([u], key=random.Random(u).random)[0]
"""


@pytest.mark.parametrize("name", ["torch_free", "randomised", "numpy2_rule", "bisecting"])
def test_code_in_a_module_whose_name_begins_like_a_library_is_named(tmp_path, name):
    file = tmp_path / f"{name}.py"
    file.write_text(SOURCE.replace("sorted([u], key=random.Random(u).random)[0]", "hash(u)"))
    with Sandbox(f"{file}:verify") as box:
        box.start([toy(1)])
        reasons = [answer["reason"] for answer in box.law(toy(1)) if answer.get("reason")]
    assert reasons and f"{name}.py:9" in reasons[0], reasons


def test_a_number_that_the_standard_library_asks_is_named_where_the_subject_calls_it(tmp_path):
    file = tmp_path / "rule.py"
    file.write_text(SOURCE.replace("sorted([u], key=random.Random(u).random)[0]", "__import__('statistics').mode([u])"))
    with Sandbox(f"{file}:verify") as box:
        box.start([toy(1)])
        reasons = [answer["reason"] for answer in box.law(toy(1)) if answer.get("reason")]
    assert reasons and "rule.py:9" in reasons[0] and "statistics" not in reasons[0], reasons
