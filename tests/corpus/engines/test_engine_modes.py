"""Modes of engines that the page has rows of: their known truth, mends that were tried, and planted bugs."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from draftproof.corpus.site.engine_modes import MODES, UNPACKED
from draftproof.models.battery import drawn, toy
from draftproof.models.problem import tree_problem_from
from draftproof.reports.audits.api import audit
from draftproof.tests.corpus.engines.test_mends import mended
from draftproof.verifiers.adapters.registry import ADAPTERS, engine_folder

pytestmark = [pytest.mark.unpacked, pytest.mark.needs("torch")]


def test_tensorrt_llm_loses_the_law_by_padding_and_by_a_planted_shift(tmp_path):
    if missing := MODES["tensorrt-llm"].missing():
        pytest.skip(f"needs {' and '.join(missing)}: make engines")
    settings = {"explain": False, "dtypes": ["float32"], "timeout": 600.0}
    planted = mended(tmp_path, MODES["tensorrt-llm"].target, ("last_target - last_draft", "last_target"))
    assert audit(planted, [toy(1)], **settings).verdict == "refuted"
    padded = audit(f"{UNPACKED}.tensorrt_llm:padded", [toy(2)], **settings)
    law = next(e for e in padded.evidence if e.claim == "lossless")
    assert law.total_variation == pytest.approx(4 / 9, abs=1e-6)


AT_ONCE = {
    "name": "at-once", "vocabulary": 2, "gamma": 4, "target": ["1/3", "2/3"],
    "draft": {
        "": ["1/3", "2/3"], "0": ["1/2", "1/2"], "1": ["3/5", "2/5"],
        "0,0": ["1/3", "2/3"], "0,1": ["1/2", "1/2"], "1,0": ["1/2", "1/2"], "1,1": ["1/2", "1/2"],
        "0,0,0": ["0", "1"], "0,0,1": ["0", "1"], "0,1,0": ["1", "0"], "0,1,1": ["1", "0"],
        "1,0,0": ["1/2", "1/2"], "1,0,1": ["1", "0"], "1,1,0": ["0", "1"], "1,1,1": ["0", "1"],
    },
}  # fmt: skip
"""Whether a second token is verified depends on it, where a block's own confidence sets the budget."""


def test_sglangs_planner_holds_with_the_budget_of_an_earlier_step_and_is_refuted_with_that_of_its_own():
    if missing := MODES["sglang-dspark-planner"].missing():
        pytest.skip(f"needs {' and '.join(missing)}: make engines")
    settings = {"explain": False, "dtypes": ["float32"], "timeout": 600.0, "claims": ("lossless",)}
    planner, problem = MODES["sglang-dspark-planner"].target, tree_problem_from(AT_ONCE)
    assert audit(planner, [problem, toy(3)], **settings).verdict == "holds"
    planted = audit(planner.replace(":planner", ":looking_ahead"), [problem], **settings)
    law = next(e for e in planted.evidence if e.claim == "lossless")
    assert law.refuted and law.total_variation == pytest.approx(1 / 27, abs=1e-6)


LEFT_OUT = {
    "name": "left-out", "vocabulary": 2, "gamma": 2, "target": ["1/3", "2/3"],
    "draft": {"": ["1/2", "1/2"], "0": ["9/10", "1/10"], "1": ["1/2", "1/2"]},
}  # fmt: skip
"""Whether a first token is verified depends on it, where the budget comes from the block's own confidences."""


def test_vllms_planner_holds_and_is_refuted_with_the_budget_that_a_left_out_step_gives():
    if missing := MODES["vllm-dspark-planner"].missing():
        pytest.skip(f"needs {' and '.join(missing)}: make engines")
    settings = {"explain": False, "dtypes": ["float32"], "timeout": 600.0, "claims": ("lossless",)}
    planner, problem = MODES["vllm-dspark-planner"].target, tree_problem_from(LEFT_OUT)
    assert audit(planner, [problem, toy(3)], **settings).verdict == "holds"
    planted = audit(planner.replace(":planner", ":looking_ahead"), [problem], **settings)
    law = next(e for e in planted.evidence if e.claim == "lossless")
    assert law.refuted and law.total_variation == pytest.approx(1 / 6, abs=1e-6)


def test_sglangs_blockwise_rejection_holds_and_is_refuted_where_it_forgets_the_drafts_share(tmp_path):
    if missing := MODES["sglang-dspark"].missing():
        pytest.skip(f"needs {' and '.join(missing)}: make engines")
    settings = {"explain": False, "dtypes": ["float32"], "timeout": 40.0, "claims": ("lossless",)}
    held = audit(MODES["sglang-dspark"].target, [toy(1)], **settings)
    assert held.verdict == "holds" and held.evidence[0].bound < 0.1
    forgotten = "(log_p > tl.log(u) + log_q)", "(log_p > tl.log(u))"
    planted = mended(tmp_path, f"{UNPACKED}.sglang_dspark:Blockwise()", forgotten)
    assert audit(planted, [toy(1)], **settings).verdict == "refuted"


@pytest.mark.parametrize(
    ("made", "change"),
    [("dflash2()", ("torch.rand_like(q) * q < p", "torch.rand_like(q) < p")),
     ("msd()", ("residual = (target_probs - draft_probs).clamp_min(0)", "residual = target_probs"))],
)  # fmt: skip
def test_what_nemo_automodel_verifies_with_is_refuted_with_a_planted_bug(made, change, tmp_path):
    if missing := ADAPTERS["nemo-automodel-dflash2"].missing():
        pytest.skip(f"needs {' and '.join(missing)}: make engines")
    settings = {"explain": False, "dtypes": ["float32"], "timeout": 600.0}
    planted = mended(tmp_path, f"{UNPACKED}.nemo_automodel:{made}", change)
    assert audit(planted, [toy(2)], **settings).verdict == "refuted"


def test_spec_rls_rollouts_follow_the_policy_where_the_token_after_them_is_drawn_from_the_residual():
    if missing := MODES["spec-rl"].missing():
        pytest.skip(f"needs {' and '.join(missing)}: make engines")
    settings = {"explain": False, "dtypes": ["float32"], "timeout": 600.0, "claims": ("lossless",)}
    for name, wrong in (("policy", 1 / 9), ("lenient", 0.25527), ("with_residual", 0.0)):
        found = audit(MODES["spec-rl"].target.replace("policy", name), [toy(2)], **settings)
        law = next(e for e in found.evidence if e.claim == "lossless")
        assert law.total_variation == pytest.approx(wrong, abs=1e-5) and law.refuted == (wrong > 0)


def test_mlx_lms_step_of_a_release_holds_and_is_refuted_where_it_keeps_every_draft(tmp_path):
    if not engine_folder("mlx-lm").is_dir():
        pytest.skip("needs mlx-lm: make engines")
    settings = {"explain": False, "dtypes": ["float32"], "timeout": 600.0, "claims": ("lossless",)}
    step = f"{UNPACKED}.mlx_releases:of_release"
    assert audit(step, [toy(2)], **settings).verdict == "holds"
    every_draft = ("if tn != dtn:", "if False:"), ("yield tn, lpn, True", "yield dtn, lpn, True")
    planted = mended(tmp_path, step, *every_draft)
    assert audit(planted, [toy(2)], **settings).verdict == "refuted"


def test_medusas_nucleus_draws_anew_what_it_compared_with_and_mended_it_holds(tmp_path):
    if missing := MODES["medusa-nucleus"].missing():
        pytest.skip(f"needs {' and '.join(missing)}: make engines")
    settings = {"explain": False, "dtypes": ["float32"], "timeout": 600.0}
    found = audit(MODES["medusa-nucleus"].target, [toy(1)], **settings)
    law = next(e for e in found.evidence if e.claim == "lossless")
    assert law.total_variation == pytest.approx(2 / 27, abs=1e-6)
    (tmp_path / "mended.py").write_text(MENDED_MEDUSA)
    assert audit(f"{tmp_path / 'mended.py'}:mended", [toy(1), drawn(3, 1, "zeros")], **settings).verdict == "holds"


MENDED_MEDUSA = """
from draftproof_engines.adapters import tree_posteriors

def lifted(engine, path, names, given, edits=(), **said):
    made = lift(engine, path, names, given, edits, **said)
    said_before, drawn = [], made.functions["get_nucleus_posterior_mask"]
    multinomial = given["torch"].multinomial

    def mask(*arguments):  # what it draws is kept, for the token after those that were accepted
        given["torch"].multinomial = lambda *rows: said_before.append(multinomial(*rows)) or said_before[-1]
        try:
            said_before.clear()
            return drawn(*arguments)
        finally:
            given["torch"].multinomial = multinomial

    def evaluate(logits, path, *more):
        best, accepted = evaluate_posterior(logits, path, *more)
        said_before.append(int(accepted))
        return best, accepted

    def next_token(logit, temperature, top_p):
        sampled, accepted = said_before
        return sampled[accepted] if accepted < len(sampled) else one(logit, temperature, top_p)

    evaluate_posterior, one = made.functions["evaluate_posterior"], made.functions["get_nucleus_one_token"]
    made.functions.update(get_nucleus_posterior_mask=mask, get_nucleus_one_token=next_token)
    return made._replace(functions=made.functions | {"evaluate_posterior": evaluate})

lift, tree_posteriors.lift = tree_posteriors.lift, lifted
mended = tree_posteriors.medusa("nucleus")
tree_posteriors.lift = lift
"""


@pytest.mark.parametrize(
    "name", ["tensorrt-llm-equality", "litgpt", "mlx-vlm", "mlx-vlm-seeded", "vllm-mlx", "vllm-watermark"]
)
def test_what_draws_as_its_target_does_holds(name):
    if missing := MODES[name].missing():
        pytest.skip(f"needs {' and '.join(missing)}: make engines")
    report = audit(MODES[name].target, [toy(1)], explain=False, dtypes=["float32"], timeout=600.0)
    assert report.verdict == "holds" and {e.claim for e in report.evidence if e.holds} >= {"lossless", "support"}


@pytest.mark.filterwarnings("ignore:invalid value encountered")  # logits of -inf, under the interpreter
@pytest.mark.parametrize("repeated", ["single_turn", "none"])
def test_vllms_watermarked_texts_of_several_blocks_are_the_targets_where_a_context_again_is_drawn_without_the_key(
    repeated,
):
    if missing := MODES["vllm-watermark"].missing():
        pytest.skip(f"needs {' and '.join(missing)}: make engines")
    torch = pytest.importorskip("torch")
    from draftproof_engines.adapters.vllm_watermark import Watermarked

    engine, chance, count = Watermarked(repeated), np.random.default_rng(1), 300
    target, draft = torch.full((2, 2), 0.5), torch.tensor([[0.0, 1.0]])
    texts = Counter(engine.text(target, draft, 4, chance) for _ in range(count))
    off = sum((texts[text] - count / 16) ** 2 / (count / 16) for text in product((0, 1), repeat=4))
    assert off < 45 if repeated == "single_turn" else off > 45  # chi-square with 15 degrees of freedom, p = 8e-5


def test_litgpt_keeps_temperature_and_top_k():
    if missing := MODES["litgpt"].missing():
        pytest.skip(f"needs {' and '.join(missing)}: make engines")
    given = {"target": ["8/22", "7/22", "6/22", "1/22"], "draft": ["1/4", "3/4", "0", "0"]}
    law = {"temperature": "1/2", "top_k": 3}
    asked = tree_problem_from({"name": "asked", "vocabulary": 4, "gamma": 1, **given, "law": law})
    for module in ("whole_decoders:litgpt_settings", "whole_decoders:gpt_fast_settings", "ipex_llm:settings"):
        report = audit(f"{UNPACKED}.{module}", [asked], explain=False, dtypes=["float32"], timeout=600.0)
        laws = {e.problem: e for e in report.evidence if e.claim == "lossless"}  # others have ties at the cut
        assert laws["asked"].holds, module
