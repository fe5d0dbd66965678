"""The decoding loop on a GPU: rows, laws and seeds as on the CPU."""

from collections import Counter

import pytest
import torch

from draftproof.models.battery import drawn_markov
from draftproof.models.generating.generate import generate
from draftproof.models.generating.loop import DecodingLoop
from draftproof.reports.audits.loops.observed_loop import Observations, observed
from draftproof.stattests.design import assert_goodness
from draftproof.tests.models import generating_parts as parts

pytestmark = [
    pytest.mark.engine,
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device, and there is none here"),
]

RAGGED = [[3], [4, 5, 6, 7, 8], [2, 3], [5, 5, 5, 5]]


@pytest.fixture(autouse=True)
def back_on_the_cpu():
    """Models are shared with the other tests."""
    yield
    for pair in (parts.attentive("llama"), parts.forged(drawn_markov, 3, 2)[:2]):
        for model in pair:
            model.to("cpu", torch.float32)


@pytest.mark.parametrize("name", ["token", "block", "greedy-block"])
def test_rows_and_texts_on_the_gpu_are_right_and_a_seed_repeats_itself(name):
    observations = Observations()
    loop, settings = observed(DecodingLoop, observations), {"gamma": 3, "max_new_tokens": 20, "seed": 3}
    run = generate(*parts.attentive("llama"), RAGGED, name, loop=loop, device="cuda", **settings)
    assert run.device.startswith("cuda") and not observations.misread
    assert max(seen.distance for seen in observations.rows) < 1e-4
    target, draft, start = parts.forged(drawn_markov, 3, 2)
    settings = {"gamma": 2, "max_new_tokens": 3, "seed": 5, "device": "cuda"}
    found, again = (generate(target, draft, [[start]] * 10_000, name, **settings).tokens for _ in range(2))
    assert_goodness(Counter(map(tuple, found)), parts.law_of_text(drawn_markov(3, 2).target, 3))
    assert found == again


def test_greedy_block_verification_on_the_gpu_gives_the_text_of_the_cpu_token_by_token():
    """float64 on both: rounding moves no coin and no draw, unless one in 2^40 is that close."""
    target, draft, start = parts.forged(drawn_markov, 3, 2)
    texts = []
    for device in ("cpu", "cuda"):
        models = [model.double().to(device) for model in (target, draft)]
        texts.append(generate(*models, [[start]] * 200, "greedy-block", gamma=3, max_new_tokens=12, seed=1).tokens)
    assert texts[0] == texts[1]
