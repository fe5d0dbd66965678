"""draftproof engines: what there is, and the page about audits of it."""

import json

from click.testing import CliRunner

from draftproof.reports.commands.main import cli
from draftproof.reports.pages.engines import page
from draftproof.verifiers.adapters.registry import ADAPTERS

EVIDENCE = {"claim": "lossless", "method": "driving", "verdict": "refuted", "problem": "toy", "total_variation": 0.22,
            "bound": 0.0012, "detail": {"dtype": "float32", "exactness": "driven"},
            "witness": {"problem": {}, "sequence": "0", "expected": "1/3", "observed": "5/9"},
            "replay": "draftproof audit vllm-ascend-block"}  # fmt: skip


def run(*words):
    return CliRunner().invoke(cli, ["engines", *words])


def test_every_adapter_and_decoder_is_listed_with_what_it_states(monkeypatch, tmp_path):
    monkeypatch.setenv("DRAFTPROOF_ENGINES", str(tmp_path))
    done = run()
    assert done.exit_code == 0 and all(name in done.output for name in ADAPTERS)
    assert "(needs sglang, triton)" in done.output and "bonus token: outside" in done.output
    assert "openvino-genai" in done.output
    wrong = run("--only", "no-such-engine")
    assert "no-such-engine: expected adapters, transformers" in str(wrong.exception)


def test_the_page_says_what_was_refuted_with_its_witness_and_what_was_not_run(monkeypatch, tmp_path):
    monkeypatch.setenv("DRAFTPROOF_ENGINES", str(tmp_path))
    report = json.loads(run_of_block(tmp_path))
    lifted = [{"engine": "vllm-ascend", "version": "0.23.0.post1"}]
    report["subject"]["convention"] = {"lifted": lifted}
    report |= {"evidence": [EVIDENCE], "verdict": "refuted"}
    text = page({"vllm-ascend-block": report}, "out")
    assert (
        "| `vllm-ascend-block` | vllm-ascend 0.23.0.post1 | a higher acceptance rate | lossless | float32 | refuted |"
        in text
    )
    assert "TV 0.22" in text and "- `vllm-ascend-block`, lossless: 0: expected 1/3, observed 5/9" in text
    assert "- `sglang-block`: sglang, triton" in text and "no proof" in text


def run_of_block(folder):
    """A report to put evidence into."""
    problem = '{"vocabulary": 2, "gamma": 1, "target": ["1/3", "2/3"], "draft": ["2/3", "1/3"]}'
    file = folder / "report.json"
    CliRunner().invoke(cli, ["audit", "block", "--problem", problem, "--json", str(file)])
    return file.read_text(encoding="utf-8")
