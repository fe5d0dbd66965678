"""draftproof engines: what there is, the page about audits of it, issues and reproductions."""

import ast
import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from msgspec import structs

from draftproof.corpus.site import survey as surveys
from draftproof.corpus.site.__main__ import site
from draftproof.corpus.site.engine_issues import FOLDER, REPORTED, RefutationRecord, advice
from draftproof.corpus.site.engines_page import EngineFinding, EngineLine, SurveyRow, kept_survey, markdown
from draftproof.corpus.site.lossy_engines import thresholds
from draftproof.corpus.site.survey import SURVEYED
from draftproof.corpus.site.survey_command import merged
from draftproof.models.errors import InputError
from draftproof.models.json_files import convert
from draftproof.reports.audits.report import Report
from draftproof.reports.commands.main import cli
from draftproof.verifiers.adapters.registry import ADAPTERS
from draftproof.verifiers.evidence import Evidence

EVIDENCE = {"claim": "lossless", "method": "driving", "verdict": "refuted", "problem": "toy", "total_variation": 0.22,
            "bound": 0.0012, "detail": {"kind": "law", "dtype": "float32", "exactness": "driven"},
            "witness": {"problem": {}, "sequence": "0", "expected": "1/3", "observed": "5/9"},
            "replay": "draftproof audit vllm-ascend-block"}  # fmt: skip


def run(*words):
    return CliRunner().invoke(site, ["engines", *words])


def test_every_adapter_and_decoder_is_listed_with_what_it_states(monkeypatch, tmp_path):
    monkeypatch.setenv("DRAFTPROOF_ENGINES", str(tmp_path))
    done = CliRunner().invoke(cli, ["engines"])
    assert done.exit_code == 0 and all(name in done.output for name in ADAPTERS)
    assert "(needs sglang, triton)" in done.output and "bonus token: outside" in done.output
    assert "openvino-genai" in done.output
    wrong = run("--only", "no-such-engine")
    assert "no-such-engine: expected some of transformers, batched-token" in str(wrong.exception)


def test_what_cannot_be_read_or_written_is_one_line_and_nothing_is_run(monkeypatch, tmp_path):
    monkeypatch.setenv("DRAFTPROOF_ENGINES", str(tmp_path / "engines"))
    monkeypatch.setattr("draftproof.corpus.site.survey.survey", None)
    (tmp_path / "file").touch()
    said = {
        (): r"sglang-block: needs sglang, triton; expected what make engines unpacks",
        ("vllm.json", "not json"): r"vllm\.json: no report of an audit; expected what --json writes",
        ("odd.json", '{"a": 1}'): r"odd\.json: report of version None: expected 2\.\d",
        ("list.json", "[]"): r"list\.json: no report",
        ("seeds.jsonl", "not json\n"): r"seeds\.jsonl: no file of engines audited with fresh seeds",
        ("runs.json", "not json"): r"runs\.json: not JSON",
    }
    for k, (given, message) in enumerate(said.items()):
        folder = tmp_path / str(k)
        folder.mkdir()
        if given:
            (folder / given[0]).write_text(given[1])
        failed = run("--out", str(folder), "--only", "batched-token" if given else "sglang-block").exception
        assert isinstance(failed, InputError) and re.search(message, str(failed)), (given, failed)
    for folder in (tmp_path / "file" / "x", Path("/proc/x")):
        failed = run("--out", str(folder), "--only", "batched-token").exception
        assert isinstance(failed, InputError) and "cannot be made" in str(failed)


def report_of(folder, name, **changes):
    """A report of block verification, changed, as one of an engine in a folder."""
    problem = '{"vocabulary": 2, "gamma": 1, "target": ["1/3", "2/3"], "draft": ["2/3", "1/3"]}'
    file = folder / f"{name}.json"
    CliRunner().invoke(cli, ["audit", "block", "--problem", problem, "--json", str(file)])
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


@pytest.fixture
def written(monkeypatch, tmp_path):
    """The folder of a page: an adapter that is refuted, one that is not, one without a law, and a server."""
    monkeypatch.setenv("DRAFTPROOF_ENGINES", str(tmp_path))
    lifted = {"engine": "vllm-ascend", "version": "0.23.0.post1", "file": "sampler.py", "digest": "sha256:0123",
              "edits": [{"old": "pin", "new": "", "why": "there is no device"}]}  # fmt: skip
    subject = {"name": "x", "source": "vllm-ascend rejection_sample", "digest": "", "dtypes": [],
               "convention": {"lifted": [lifted]}}  # fmt: skip
    report_of(tmp_path, "vllm-ascend-block", evidence=[EVIDENCE], verdict="refuted", subject=subject)
    report_of(tmp_path, "sglang-block")
    report_of(tmp_path, "a-server", failure={"kind": "crash", "message": "it closed its output"}, evidence=[])
    (tmp_path / "runs.json").write_text('{"sglang-block": {"day": "2026-11-22", "machine": "x", "seconds": 12.4}}')
    done = run("--out", str(tmp_path), "--only", "vllm-ascend-block", "--only", "sglang-block")
    assert done.exit_code == 0, done.output
    return tmp_path


EVIDENCE["witness"]["problem"] = {
    "vocabulary": 2, "gamma": 3, "target": ["1/3", "2/3"], "draft": ["2/3", "1/3"]}  # fmt: skip


def line(**verdicts):
    """A line of the page: its verdicts on claims, in one type of numbers."""
    row = SurveyRow("x", "1", "rule", "", "float32", "", "", "", "how", "", "TV 0.2", "", "", "")
    row = structs.replace(row, **verdicts)
    found = [EngineFinding(name="x", claim="support", witness="1: expected 0, observed 2^-53", problem=None,
                     total_variation=None, replay=None)]  # fmt: skip
    return EngineLine([row], found if verdicts.get("support", "").startswith("refuted") else [])


def test_a_sentence_is_no_stronger_than_the_verdicts_and_the_worst_stand_first():
    wrong = line(text="refuted, 1 of 4", support="holds, 4 of 4", batch="refuted, 1 of 5")
    apart = line(text="holds, 4 of 4", support="refuted, 1 of 4")
    right, unknown = line(text="holds, 4 of 4", support="holds, 4 of 4"), line(text="no-evidence, 2 of 2")
    assert wrong.sentence.endswith("target; what a request emits depends on the others of its batch.")
    assert apart.sentence == "Refuted: a token of probability 0 can come out (Pr 2^-53). Otherwise not refuted on 4 " \
        "problems in float32."  # fmt: skip
    assert right.sentence == "Not refuted on 4 problems in float32."
    assert unknown.sentence == "Undecided: samples show no difference, and would not show one below TV 0.2."
    driven = line(text="no-evidence, 1 of 2", how="driven, no distribution")
    assert driven.sentence == "Undecided: one block at a time shows no difference above TV 0.2."
    half = EngineLine([*right.rows, *wrong.rows], [])
    assert half.sentence.startswith("Refuted") and "not refuted" not in half.sentence.lower()
    assert [each.rank for each in (wrong, apart, right, unknown)] == sorted({0, 1, 3, 4})


@pytest.mark.skipif(not FOLDER.is_dir(), reason="the page is in the repository, not in the wheel")
def test_the_page_of_this_version_is_made_of_the_survey_beside_its_issues():
    assert markdown(kept_survey()) == (FOLDER.parent / "survey.md").read_text(encoding="utf-8")


def test_an_issue_has_the_witness_by_hand_the_reproduction_and_what_would_fix_it(written):
    text = (written / "engines" / "vllm-ascend-block-lossless.md").read_text()
    assert text.startswith("# vllm-ascend 0.23.0.post1: sampled output does not follow the target model's distribution")
    for part in ("| target | always | 1/3, 2/3 |", "| 0 | 1/3 | 5/9 |", "```python", "Algorithm 2",
                 "`pin` -> ``: there is no device", "Total variation between the two distributions: 0.22",
                 "$ draftproof audit vllm-ascend-block"):  # fmt: skip
        assert part in text
    assert [file.name for file in (written / "engines").glob("*.md")] == ["vllm-ascend-block-lossless.md"]


def test_fresh_seeds_go_on_where_they_were_ended_and_an_unexpected_verdict_is_exit_status_1(written, monkeypatch):
    made = []

    def examined(what, seed):
        made.append((what.name, seed))
        report = Report.begin(what.name, "", ["float32"], seed)
        report.fail("crash", "it ended")
        if what.name == "vllm-ascend-block" or seed == 3:
            report.add([convert(Evidence, EVIDENCE, "evidence")])
        return report

    monkeypatch.setattr(surveys, "examined", examined)
    monkeypatch.setattr(surveys, "code_digest", lambda declared: "this code")
    monkeypatch.setattr(SURVEYED["vllm-ascend-block"].__class__, "missing", lambda self: [])
    words = [
        "--out",
        str(written),
        *["--workers", "1", "--only", "vllm-ascend-block", "--only", "sglang-block", "--seeds"],
    ]
    done = run(*words, "3")
    assert done.exit_code == 0 and "2 fresh seeds: 0 verdicts are not as they are known to be" in done.output
    assert made == [(name, seed) for seed in (1, 2) for name in ("vllm-ascend-block", "sglang-block")]
    assert "seed   1  sglang-block                  error        it ended" in done.output
    again = run(*words, "4")
    assert again.exit_code == 1 and len(made) == 6 and "1 verdicts are not as they are known to be" in again.output
    page = (written / "survey.md").read_text()
    assert "- sglang-block: refuted with 1 of 3 fresh seeds, 1 otherwise than known (code this code, " in page
    assert "vllm-ascend-block: refuted with 3 of 3 fresh seeds, 0 otherwise" in (written / "engines.html").read_text()
    monkeypatch.setattr(surveys, "code_digest", lambda declared: "other code")
    run(*words, "2")
    assert len(made) == 8
    row = {"name": "sglang-jax", "verdict": "refuted", "refuted": ["batch on greedy beside sampled"]}
    assert not surveys.unexpected(row) and surveys.unexpected(row | {"name": "sglang-block"})
    assert surveys.unexpected(row | {"refuted": ["lossless on toy", *row["refuted"]]})


def lines_of(script):
    """How many lines of a program do something: without its docstring, comments and blank lines."""
    first, *_ = ast.parse(script).body
    said = range(first.lineno, first.end_lineno + 1) if ast.get_docstring(ast.parse(script)) else ()
    numbered = enumerate(map(str.strip, script.splitlines()), 1)
    return sum(bool(line) and not line.startswith("#") and k not in said for k, line in numbered)


def without(text, reported=REPORTED):
    """What refuted rows of the page have no issue, witness, reproduction, fix or word on reports for; long scripts."""
    lacking = []
    for name, claim, witness in re.findall(r"^- `([\w.-]+)`, (\w+): (.*)", text, re.M):
        key, about = f"{name}-{claim}", reported.get(f"{name}-{claim}")
        files = script, issue = FOLDER / f"{key}.py", FOLDER / f"{key}.md"
        if not all(file.is_file() for file in files) or about is None or about.fix == "Not known.":
            lacking.append(key)
            continue
        said, program = issue.read_text(), script.read_text()
        where, _, test = about.mend.partition("::")
        mended = where.startswith("not tried") or f"def {test}(" in (FOLDER.parents[2] / where).read_text()
        known = about.found and "observed" in witness and mended
        if not known or not all(part in said for part in ("## By hand", program.strip(), advice(key))):
            lacking.append(f"{key}: its issue")
        if lines_of(program) > 20 or "draftproof" in program:
            lacking.append(f"{key}: {lines_of(program)} lines")
    return lacking


@pytest.mark.skipif(not FOLDER.is_dir(), reason="the page is in the repository, not in the wheel")
def test_each_refuted_row_of_the_page_has_an_issue_a_mend_and_a_reproduction_of_20_lines_without_this_project():
    text = (FOLDER.parent / "survey.md").read_text()
    listed = re.findall(r"^- `([\w.-]+)`, (\w+): ", text, re.M)
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| `")]
    refuted = {row[0].strip("| `") for row in rows if row[3].startswith("Refuted")}
    assert refuted == {name for name, _ in listed} and listed
    assert without(text) == []
    assert without("- `sglang-block`, lossless: 0") == ["sglang-block-lossless"]
    eagle = "- `eagle`, support: 1: expected 0, observed 1."
    assert without(eagle) == [] and without(eagle.replace("observed", "")) == ["eagle-support: its issue"]
    assert without(eagle, {}) == ["eagle-support"]
    assert without(eagle, {"eagle-support": RefutationRecord("2026-11-22", mend="Makefile::test_it", fix="<")}) == [
        "eagle-support: its issue"
    ]
    # An adapter under settings too; and three that are audited as "module:name", their reports put into the folder.
    of_a_module = {"sglang-jax-plain", "sglang-jax-tree", "sglang-jax-tree-scheduled"}
    assert of_a_module <= refuted and set(SURVEYED) >= {
        name.removesuffix("-settings") for name in refuted - of_a_module
    }


@pytest.mark.skipif(not FOLDER.is_dir(), reason="the page is in the repository, not in the wheel")
def test_new_reports_take_the_place_of_rows_of_the_same_name_and_leave_the_others():
    kept = kept_survey()
    other = SurveyRow("eagle", "2", "rule", "", "float32", "", "", "", "", "", "", "", "", "3 s")
    new = structs.replace(kept, rows=[other], findings=[], absent={"eagle": "needs eagle", "what is left": "why"})
    made = merged(kept, new)
    assert [row for row in made.rows if row.name == "eagle"] == [other] and "eagle" in {f.name for f in kept.findings}
    assert {row.name for row in made.rows} == {row.name for row in kept.rows} and made.lossy == kept.lossy
    assert "eagle" not in {f.name for f in made.findings} and made.absent == {"what is left": "why"}


def test_thresholds_of_1_lose_nothing_and_lower_ones_what_is_known_of_sglang_jax():
    p, q = np.array([1, 2]) / 3, np.array([2, 1]) / 3
    assert thresholds(1.0, 1.0)(p, q) == pytest.approx(p)
    assert thresholds(0.5, 0.5)(p, q) == pytest.approx([4 / 9, 5 / 9])  # TV 1/9, as its unpacked test has it
