"""Modes of engines that the page has rows of: their known truth, mends that were tried, and planted bugs."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from draftproof.corpus.site.engine_modes import MODES, UNPACKED
from draftproof.models.battery import drawn, toy
from draftproof.models.problem import tree_problem_from
from draftproof.reports.audits.api import audit

pytestmark = [pytest.mark.unpacked, pytest.mark.needs("torch")]

MENDED_2026 = """
from functools import partial
from draftproof_engines.adapters import ipex_llm, mlx_engines, tensorrt_llm, tree_posteriors, whole_decoders
from draftproof_engines.adapters.ipex_llm import Edit

def lifted(module, *changes, **more):
    lift = module.lift
    def changed(engine, path, names, given, edits=(), **said):
        text = engine_file(engine, path).read_text()
        mine = [edit for edit in changes if edit.old in text]
        return lift(engine, path, names, given, [*edits, *mine], **said)
    module.lift = changed
    return lambda made: (made(), setattr(module, "lift", lift))[0]

from draftproof_engines.lifted import engine_file
STRICT = Edit("> accept_probs", ">= accept_probs", "the uniform 0 accepts nothing that is impossible")
WIDE = Edit("torch.rand_like(accept_draft_prob) > accept", "torch.rand(accept_draft_prob.shape) >= accept", "float32")
IPEX = (Edit("device=self.device, dtype=self.dtype)", "device=self.device)", "float32"),
        Edit("random_probs[:drafted_n_tokens] > accept", "random_probs[:drafted_n_tokens] >= accept", "strict"))
SHIFT = Edit("last_target - last_draft", "last_target", "planted: what is drawn anew comes from the target's row")
tensorrt = lifted(tensorrt_llm, STRICT)(lambda: tensorrt_llm.verification(True))
planted = lifted(tensorrt_llm, SHIFT)(lambda: tensorrt_llm.verification(True))
gpt_fast = lifted(whole_decoders, WIDE)(whole_decoders.gpt_fast)
ipex = lifted(ipex_llm, *IPEX)(ipex_llm.block)
angelslim = lifted(tree_posteriors, Edit("if r <= acp:", "if r < acp:", "strict"))(tree_posteriors.angelslim)
"""
ENGINES_2026 = {"tensorrt": "tensorrt-llm", "gpt_fast": "gpt-fast", "ipex": "ipex-llm", "angelslim": "angelslim"}


@pytest.mark.parametrize("name", ENGINES_2026)
def test_with_a_strict_test_in_float32_nothing_impossible_comes_out_and_the_law_stays(name, tmp_path):
    mode = MODES[ENGINES_2026[name]]
    if missing := mode.missing():
        pytest.skip(f"needs {' and '.join(missing)}: make engines")
    settings = {"explain": False, "dtypes": mode.dtypes[:1], "timeout": 600.0}
    found = audit(mode.target, [drawn(3, 1, "zeros")], **settings)
    refuted = {e.claim: e for e in found.evidence if e.refuted}
    assert "support" in refuted and "lossless" not in refuted
    if mode.dtypes[0] == "bfloat16":  # one uniform of 256, of a drafted token that the target never says
        assert 1e-4 < float(refuted["support"].witness.observed) < 1 / 256
    (tmp_path / "mended.py").write_text(MENDED_2026)
    mended = audit(f"{tmp_path / 'mended.py'}:{name}", [drawn(3, 1, "zeros")], **settings)
    assert {e.claim for e in mended.evidence if e.holds} >= {"lossless", "support"}
    assert not {e.claim for e in mended.evidence if e.refuted} & {"lossless", "support"}
    if name == "tensorrt":
        assert audit(f"{tmp_path / 'mended.py'}:planted", [toy(1)], **settings).verdict == "refuted"
        padded = audit(mode.target.replace(":tested", ":padded"), [toy(2)], **settings)
        law = next(e for e in padded.evidence if e.claim == "lossless")
        assert law.total_variation == pytest.approx(4 / 9, abs=1e-6)


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


EACH = """
from functools import partial
from draftproof_engines.adapters import mlx_engines
from draftproof_engines.adapters.mlx_engines import Edit

own = "residual_tokens_by_uid[uid], residual_logprobs_by_uid[uid] = draft_token, verify_distribution[row]"
edit = Edit("if not accepted and batch_size == 1:", f"if accepted:\\n{' ' * 24}{own}\\n{' ' * 20}else:", "each its own")
lift = mlx_engines.lift

def mended(engine, path, names, given, edits=(), **said):
    return lift(engine, path, names, given, [*edits, edit], **said)

mlx_engines.lift = mended
beside = mlx_engines.MultiTokenPrediction(True)
"""


def test_vllm_mlx_keeps_the_law_alone_and_loses_it_beside_another_request_until_each_has_its_own_token(tmp_path):
    if missing := MODES["vllm-mlx"].missing():
        pytest.skip(f"needs {' and '.join(missing)}: make engines")
    settings = {"explain": False, "dtypes": ["float32"], "timeout": 600.0}
    alone, beside = (
        next(e for e in audit(MODES[name].target, [toy(1)], **settings).evidence if e.claim == "lossless")
        for name in ("vllm-mlx", "vllm-mlx-beside")
    )
    assert alone.holds and alone.total_variation < 1e-6
    assert beside.refuted and beside.total_variation == pytest.approx(1 / 9, abs=1e-6)
    (tmp_path / "mended.py").write_text(EACH)
    mended = audit(f"{tmp_path / 'mended.py'}:beside", [toy(1)], **settings)
    assert mended.verdict == "holds" and {e.claim for e in mended.evidence if e.holds} >= {"lossless", "support"}


@pytest.mark.parametrize("name", ["tensorrt-llm-equality", "litgpt", "mlx-vlm", "mlx-vlm-seeded", "vllm-watermark"])
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
