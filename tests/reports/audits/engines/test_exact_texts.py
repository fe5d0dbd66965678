"""Decoders followed: the exact law of their first tokens under settings, and what is said where there is none."""

from pathlib import Path

import msgspec
import pytest

from draftproof.corpus.site.cell_states import states
from draftproof.models.errors import InputError
from draftproof.proofs.audit_claims import judge
from draftproof.proofs.laws.text_laws import TextsLaw, TextsRequest
from draftproof.reports.audits.engines.audit import audit_engine, engine_from
from draftproof.reports.audits.engines.cells import TextCell, decoder_problem, grid_cells
from draftproof.reports.audits.engines.exact_texts import ExactTexts
from draftproof.reports.audits.report import Report
from draftproof.verifiers.adapters.registry import ENGINES, Engine

PLANTED = Path(__file__).parents[3] / "subjects" / "engines.py"

pytestmark = pytest.mark.engine


def verdicts(report):
    return {e.claim: str(e.verdict) for e in report.evidence}


def exact(name, **settings):
    tokens = settings.pop("tokens", 2)
    return audit_engine(engine_from(f"{PLANTED}:{name}"), levels=("exact",), tokens=tokens, settings=settings)


def test_a_right_decoder_holds_exactly_and_a_wrong_one_is_refuted_with_its_laws_side_by_side():
    report = exact("speculative")
    assert report.verdict == "holds"
    assert verdicts(report) == {"lossless": "holds", "same-as-plain": "holds", "support": "holds"}
    assert report.evidence[0].total_variation < 1e-6 and report.evidence[0].bound < 1e-6
    report = exact("replaced_by_the_target")
    assert verdicts(report) == {"lossless": "refuted", "same-as-plain": "refuted", "support": "holds"}
    witness = report.evidence[0].witness
    assert (witness.sequence, witness.expected, witness.observed[:5]) == ("0", "0.55", "0.415")
    assert "--level exact --tokens 2" in report.evidence[0].replay


def test_levels_that_cannot_be_had_and_settings_that_an_engine_has_not_are_refused_in_one_line():
    with pytest.raises(InputError, match="cannot be followed; expected --level statistical"):
        audit_engine(_without_packages(), levels=("exact",))
    with pytest.raises(
        InputError, match="temperature changes the expected distribution, by which samples are not judged"
    ):
        audit_engine(_without_packages(), settings={"temperature": 0.5})
    with pytest.raises(InputError, match="it has no setting mirostat"):
        audit_engine(ENGINES["transformers"], levels=("exact",), settings={"mirostat": 2})


def _without_packages():
    return msgspec.structs.replace(ENGINES["openvino-genai"], packages=())


FAILING = Path(__file__).parents[3] / "subjects" / "seeded_decoders.py"


def test_a_cell_that_fails_has_its_reason_in_one_line_and_the_others_stand():
    engine = Engine("failing", "planted", f"{FAILING}:by_temperature", follows=True, forged=False)
    report = Report.begin("failing", "planted", ["float32"], 0)
    cells = [
        TextCell(str(t), {"temperature": t}, 2, "plain", decoder_problem()) for t in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    ]
    run = ExactTexts(engine, cells, 3.0, 8.0, report)
    run.run()
    found = {row: state for row, _, state in states(run.evidence(True))}
    assert [found[t].word for t in ("0.1", "0.2", "0.3", "0.4", "0.5", "0.6")] == [
        "not known", "refuted", "not known", "not known", "refuted", "refuted",
    ]  # fmt: skip
    assert "a call did not return within" in found["0.1"].why
    assert "ValueError: no such temperature" in found["0.3"].why
    assert "exit status 3" in found["0.4"].why
    assert all("\n" not in state.why for state in found.values())
    assert found["0.6"].why == "lossless: 0: expected 0.676209, observed 1", "too few tokens"
    assert len(run.without) == 3


def test_one_output_without_followed_numbers_refutes_nothing_where_other_calls_did_not_repeat_themselves():
    engine = Engine("hashed", "hashed", f"{FAILING}:hashed_behind_the_first", follows=True, forged=False)
    cells = [TextCell("none", {}, tokens, "draft", decoder_problem()) for tokens in (1, 2)]
    examined = ExactTexts(engine, cells[:1], 10.0, 4.0, Report.begin("hashed", "planted", ["float32"], 0))
    examined.run()
    assert any(e.refuted for e in examined.evidence(True))
    examined = ExactTexts(engine, cells, 10.0, 4.0, Report.begin("hashed", "planted", ["float32"], 0))
    examined.run()
    assert not any(e.refuted for e in examined.evidence(True)) and not examined.seen
    assert "none of its random numbers are followed" in examined.evidence(True)[0].detail.reason


def test_a_decoder_that_starts_a_process_or_asks_the_clock_shows_nothing_that_holds():
    law = TextsLaw(masses={(0,): 1.0}, reads=("processes (_posixsubprocess.fork_exec at d.py:3)",))
    request = TextsRequest(1, 1, [{(0,): 1.0}], facts={"sampling": "plain", "settings": {}})
    judged = judge(law.of_request(decoder_problem(), request))
    reasons = {e.claim: (str(e.verdict), e.detail.reason) for e in judged}
    asked = "it reads its environment: processes (_posixsubprocess.fork_exec at d.py:3)"
    assert reasons == {"lossless": ("no-evidence", asked), "support": ("no-evidence", asked)}


@pytest.mark.parametrize("where", ["decoder.py", "rule.py"])
def test_a_law_in_the_checkpoint_is_that_of_the_code_that_stands_there_now(tmp_path, where):
    """A decoder that is mended, or broken, in its own file or in one that it imports, is measured anew."""
    law, wrong = "rng.random() < 0.45", "rng.random() < 0.550"  # compiled files are known by second and length
    (tmp_path / "decoder.py").write_text(
        "import numpy as np\nfrom rule import first\n\n"
        "def decode(target, draft, start, tokens, gamma, seeds, banned):\n"
        f"    for rng in map(np.random.default_rng, seeds):\n        yield [int({law}) * first()]\n",
        encoding="utf-8",
    )
    (tmp_path / "rule.py").write_text("def first():\n    return 2\n", encoding="utf-8")
    engine = Engine("kept", "planted", f"{tmp_path / 'decoder.py'}:decode", follows=True, forged=False)

    def run():
        kept = str(tmp_path / "laws")
        report = audit_engine(engine, levels=("exact",), tokens=1, checkpoint=kept, plain=True,
                              settings={"banned": [1]})  # fmt: skip
        return [(e.detail.calls, e.total_variation) for e in report.evidence if e.claim == "lossless"]

    before = run()
    assert before[0][1] is not None
    with pytest.raises(InputError, match="sample"):
        audit_engine(msgspec.structs.replace(engine, sample="other:decode"), levels=("exact",),
                     checkpoint=str(tmp_path / "laws"))  # fmt: skip
    assert run() == before
    changed = (tmp_path / where).read_text(encoding="utf-8").replace(law, wrong).replace("return 2", "return 1 - 1")
    (tmp_path / where).write_text(changed, encoding="utf-8")
    ((_, away),) = run()
    assert away != before[0][1]


def test_rows_of_a_grid_are_asked_for_by_name_and_any_other_name_is_refused():
    engine = ENGINES["draftproof-reference"]
    cells = grid_cells(engine, rows=["top-k", "cap inside a block"])
    assert {cell.name for cell in cells} == {"top-k", "cap inside a block"} and len(cells) == 4
    with pytest.raises(InputError, match="'top-q' is no row of the grid"):
        grid_cells(engine, rows=["top-q"])
    with pytest.raises(InputError, match="--grid has settings, tokens and a problem of its own"):
        audit_engine(engine, rows=["top-k"], tokens=2)


@pytest.mark.needs("torch", "transformers")
def test_a_draft_of_another_tokenizer_has_the_drafts_law_under_other_ids(tmp_path):
    import torch

    from draftproof.models.forge import forge
    from draftproof.verifiers.adapters import hf_generation

    draft = forge(decoder_problem(), tmp_path / "pair").draft
    model, tokenizer = hf_generation._apart(draft)
    own = hf_generation._tokenizer(draft)
    words = ["0", "1", "2", "</s>"]
    ids, others = own.convert_tokens_to_ids(words), tokenizer.convert_tokens_to_ids(words)
    assert not set(zip(ids, others)) & {(t, t) for t in ids} and "unused0" in tokenizer.get_vocab()
    with torch.no_grad():
        before = hf_generation._model(draft)(torch.tensor([[own.bos_token_id, *ids[:2]]])).logits.softmax(-1)
        after = model(torch.tensor([[tokenizer.bos_token_id, *others[:2]]])).logits.softmax(-1)
    assert torch.allclose(before[..., ids], after[..., others], atol=1e-7)
