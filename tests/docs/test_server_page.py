"""The tutorial about servers: its figures are those of the audits' limits, and what it says of forged pairs holds."""

import re

import numpy as np
import pytest

from draftproof.corpus.site.server_limits import DISTANCES, SERVED, limit_of_texts, row
from draftproof.models.forge import forge
from draftproof.tests.docs import running
from draftproof.tests.reports.audits.servers.three import THREE

PAGE = (running.ROOT / "docs" / "tutorials" / "server.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "distance", [pytest.param(d, marks=pytest.mark.long if d < 0.05 else ()) for d in DISTANCES], ids=str
)
def test_each_row_of_the_table_is_what_the_audits_limits_give(distance):
    assert row(distance) in PAGE.splitlines()


def test_a_row_with_too_few_texts_would_be_found():
    texts = int(re.search(r"^\| 0\.1 \| ([\d,]+) ", PAGE, re.M)[1].replace(",", ""))
    assert limit_of_texts(SERVED, texts) <= 0.1 < limit_of_texts(SERVED, int(0.9 * texts))


@pytest.mark.needs("gguf", "torch", "transformers")
def test_a_quantised_last_layer_keeps_the_law_of_a_forged_pair_without_zeros_alone(tmp_path):
    from gguf import GGMLQuantizationType, dequantize, quantize
    from safetensors.numpy import load_file

    kind = GGMLQuantizationType.Q8_0
    for name, problem in (("positive", SERVED), ("zeros", THREE)):
        head = load_file(forge(problem, tmp_path / name).target / "model.safetensors")["lm_head.weight"]
        off = []
        for weights in (head, dequantize(quantize(head, kind), kind)):
            logits = weights[:, problem.vocabulary] * np.sqrt(head.shape[1])
            row = np.exp(logits[: problem.vocabulary] - logits.max())
            off.append(abs(row / row.sum() - [float(p) for p in problem.target.row(())]).sum() / 2)
        assert off[0] < 1e-6
        assert off[1] < 1e-3 if problem is SERVED else off[1] > 0.01, off
