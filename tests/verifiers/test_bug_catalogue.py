"""Every public bug of a verifier in the catalogue of real bugs is a mutant of the zoo, with its link.

Numbers are those of the catalogue's rows; their text is not copied here.
"""

import re
from math import log

import numpy as np
import pytest

from draftproof.verifiers.zoo.block_rule import products_of_uniforms_by_law
from draftproof.verifiers.zoo.catalogue import BATCH_MUTANTS, MUTANTS, TREE_MUTANTS

ZOO = MUTANTS | BATCH_MUTANTS | TREE_MUTANTS

CATALOGUE = {
    1: ("vllm/54282", "M26"), 2: ("vllm-ascend/16370", "M24"), 3: ("vllm-ascend/13730", "M02"),
    4: ("vllm-ascend/7807", "M36", "M37"), 5: ("vllm-ascend/7603", "M38"), 6: ("vllm-ascend/15673", "M42"),
    7: ("vllm/50939", "M39", "B05"), 8: ("vllm-ascend/2881", "M23"), 9: ("transformers/28508", "M01", "M10"),
    10: ("transformers/32867", "M17"), 11: ("transformers/47932", "M18"), 12: ("vllm/9834", "M21"),
    13: ("dflash/74", "M19"), 14: ("DeepSpec/31", "M44"), 15: ("transformers/32867", "M17"),
    16: ("ml-recurrent-drafter/6", "M20"), 17: ("rtp-llm/1295", "M06"), 18: ("sglang/35771", "M09"),
    19: ("sglang/30822", "M46"), 20: ("sglang/12561", "M16"), 21: ("sglang/39253", "M08"),
    22: ("openvino.genai/4190", "M31"), 23: ("openvino.genai/4490", "M03", "M04", "M05"),
    24: ("flash-attention/2779", "M35"), 25: ("flashinfer/425", "M25", "B01"), 26: ("flashinfer/879", "M47"),
    27: ("vllm/45060", "M14"), 28: ("TensorRT-LLM/15098", "M32", "T05"), 29: ("TensorRT-LLM/17599", "M28", "B06"),
    30: ("vllm/10863", "B02"), 31: ("lattice/243", "M30"), 32: ("Spec-RL/14", "M11", "T07"),
    33: ("vllm-ascend/16396", "M33"), 34: ("vllm-ascend/5417", "B03"), 35: ("vllm-ascend/15118", "M48"),
    36: ("llama.cpp/27694", "M27"), 37: ("llama.cpp/speculative.cpp", "M15"), 38: ("mlxcel/992", "M45"),
    39: ("vllm/41044", "M34", "B04"), 41: ("vllm/17498", "M29"), 42: ("vmlx-swift/357", "M22"),
    43: ("vllm-ascend/13755", "B07"), 44: ("LMFlow/630", "M49"),
}  # fmt: skip
"""Row -> where it was reported, project/number, and the mutants with its cause."""

NO_MUTANT = {40: "its cause is not known"}


def wrong_rows(catalogue, zoo):
    """Rows whose mutants are missing, or of which none has the row's link; and rows that are missing."""
    wrong = [number for number in range(1, 45) if number not in catalogue and number not in NO_MUTANT]
    for number, (reported, *mutants) in catalogue.items():
        project, _, issue = reported.partition("/")
        linked = rf"/{re.escape(project)}/(.*/)?{re.escape(issue)}$"
        if not any(name in zoo and re.search(linked, zoo[name].link) for name in mutants) or set(mutants) - set(zoo):
            wrong.append(number)
    return wrong


def test_each_row_has_a_mutant_with_its_link_that_an_audit_must_refute():
    assert wrong_rows(CATALOGUE, ZOO) == []
    assert all(ZOO[name].refutes for _, *mutants in CATALOGUE.values() for name in mutants)


class Asked:
    """Keeps the weights of each draw, and draws the first."""

    def __init__(self):
        self.weights = []

    def choice(self, count, p):
        self.weights.append([*p])
        return 0


@pytest.mark.parametrize("ratios", [(0.6, 0.4), (1.0, 0.8)])
def test_products_of_uniforms_are_passed_as_often_as_their_densities_say(ratios):
    """Two products: the second passes L2 with L2 (1 - ln L2), and only the first with L1 - L2 - L2 ln(L1 / L2)."""
    (first, other), asked = ratios, Asked()
    rows = [[first / 2, 1 - first / 2], [other / 2, 1 - other / 2], [0.5, 0.5]]
    products_of_uniforms_by_law(np.array(rows), np.full((2, 2), 0.5), [0, 0], asked)
    both = first * other
    twice, once = both * (1 - log(both)), first - both - both * log(first / both)
    assert asked.weights[0] == pytest.approx([1 - once - twice, once, twice], rel=1e-12, abs=1e-15)
