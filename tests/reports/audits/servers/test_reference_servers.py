"""Servers of real weights: a right one, whose arithmetic is its own, passes with its limits; planted faults are refuted
on a small checkpoint, and by make smollm2 on llama.cpp's server with an open model, its draft and a proxy that changes
requests."""

import json
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from draftproof.models.errors import InputError
from draftproof.reports.audits.servers import reference
from draftproof.reports.commands.server import command
from draftproof.tests.models.pairs_parts import save
from draftproof.tests.reports.report_schema import validate

pytestmark = pytest.mark.needs("httpx2", "jsonschema", "torch", "transformers")

SUBJECTS = Path(__file__).parents[3] / "subjects"
SERVERS = Path(os.environ.get("DRAFTPROOF_SERVERS", Path(__file__).parents[4] / ".venv-servers"))


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two small checkpoints of one tokenizer whose rows are as uneven as those of real models."""
    import torch
    from transformers import AutoModelForCausalLM

    where = tmp_path_factory.mktemp("weights")
    for seed, name in ((0, "target"), (1, "draft")):
        folder = save(where / name, seed=seed, context=512)
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        model.lm_head.weight.data *= 25
        model.save_pretrained(folder)
    return where


@pytest.fixture(scope="module")
def models(folders):
    import torch
    from transformers import AutoModelForCausalLM

    load = AutoModelForCausalLM.from_pretrained
    return [load(folders / name, dtype=torch.float32).eval() for name in ("target", "draft")]


def audited(tmp_path, *words):
    """Exit status, report and output of the command; bad input as the entry point shows it."""
    file = tmp_path / "report.json"
    file.unlink(missing_ok=True)
    done = CliRunner().invoke(command, [*map(str, words), "--json", str(file)])
    if isinstance(done.exception, InputError):
        return 2, None, str(done.exception)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    report = json.loads(file.read_text()) if file.exists() else None
    if report:
        validate(report)
    return done.exit_code, report, done.output


def noticed(report):
    return {finding["kind"]: finding["text"] for finding in report["findings"]}


@pytest.mark.parametrize("apart", [True, False])
def test_a_right_server_with_an_arithmetic_of_its_own_passes_with_its_limits(apart, folders, models, tmp_path):
    from draftproof.tests.subjects.reference_server import serving

    with serving(*models) as url, serving(*models) as plain:
        words = [url, "--reference", folders / "target", "--samples", 16, *(["--without", plain] if apart else [])]
        status, report, out = audited(tmp_path, *words)
    assert (status, report["verdict"], report["failure"]) == (0, "inconclusive", None), out
    bets = report["evidence"][0]
    assert 0 < bets["bound"] < 0.5 and bets["detail"]["tokens"] > 500 and bets["detail"]["texts"] == 16
    assert bets["detail"]["false_alarm_rate"] == 1e-3
    assert "are off the reference's by TV 0.0" in noticed(report)["drift"]
    assert "bets pay up to 0.0" in noticed(report)["drift"]
    measured = "a server without speculation" if apart else "the server itself, one token a request"
    assert any(measured in sentence for sentence in report["not_examined"])
    assert any("differs from the reference as a whole" in s for s in report["not_examined"]) != apart
    assert any("--draft names their model" in s for s in report["not_examined"])


def test_planted_faults_are_refuted(folders, models, tmp_path):
    from draftproof.tests.subjects import reference_server as server

    with server.serving(*models) as plain:
        for fault in (server.HOT, server.NUCLEUS, server.OTHER, server.DRAFT_IN_TEN):
            with server.serving(*models, fault=fault) as url:
                words = [url, "--reference", folders / "target", "--without", plain, "--samples", 48]
                status, report, out = audited(tmp_path, *words)
            assert (status, report["verdict"]) == (1, "refuted"), (fault, out)
            bets = report["evidence"][0]
            assert bets["witness"]["sequence"].startswith(("temperature", "top-p", "transform"))
            assert bets["replay"].startswith(f"draftproof server {url} --reference ")
            assert bets["detail"]["refuted_at_token"] < bets["detail"]["tokens"]


def test_with_the_drafts_weights_its_law_in_one_block_of_ten_is_refuted_by_its_share_and_a_right_server_is_not(
    folders, models, tmp_path
):
    from draftproof.tests.subjects.reference_server import DRAFT_IN_TEN, serving

    at = {}
    with serving(*models) as plain, serving(*models) as right, serving(*models, fault=DRAFT_IN_TEN) as wrong:
        for url, samples in ((right, 24), (wrong, 48)):
            words = [url, "--reference", folders / "target", "--draft", folders / "draft", "--without", plain]
            status, report, out = audited(tmp_path, *words, "--samples", samples)
            at[url] = status, report["evidence"][0], out
            assert not any("--draft names their model" in s for s in report["not_examined"])
    status, bets, out = at[right]
    assert (status, bets["verdict"]) == (0, "no-evidence") and bets["detail"]["tokens"] > 800, out
    status, bets, out = at[wrong]
    assert status == 1 and "% of the draft's row, by token" in bets["witness"]["sequence"], out
    assert f"--draft {folders / 'draft'}" in bets["replay"]
    assert bets["detail"]["refuted_at_token"] < 300


def test_a_draft_with_rows_for_fewer_ids_than_its_target_is_told(folders, tmp_path):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    small = tmp_path / "small"
    model = AutoModelForCausalLM.from_pretrained(folders / "draft", dtype=torch.float32)
    model.resize_token_embeddings(model.config.vocab_size - 1)
    model.save_pretrained(small)
    AutoTokenizer.from_pretrained(folders / "draft").save_pretrained(small)
    words = ["http://127.0.0.1:9", "--reference", folders / "target", "--draft", small]
    status, _, said = audited(tmp_path, *words)
    assert status == 2 and said == f"{small}: has rows for 269 ids; expected the 270 of {folders / 'target'}"


def test_rows_too_far_from_the_reference_are_no_evidence_and_are_said_to_be(folders, models, tmp_path):
    from draftproof.tests.subjects.reference_server import OTHER, serving

    with serving(*models, fault=OTHER) as url:
        status, report, _ = audited(tmp_path, url, "--reference", folders / "target", "--samples", 8)
    assert (status, report["verdict"]) == (0, "inconclusive")
    assert report["evidence"][0]["bound"] == 1.0
    assert "beyond TV 0.25 they are no evidence" in noticed(report)["drift"]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (
            "no logprobs",
            "reports no probabilities of its tokens, without which drift is not known; expected a server with",
        ),
        ("no ids", "the answer does not say which tokens it has; expected token_ids, or logprobs with ids"),
        ("an id beyond", "a token beyond the reference's 270 ids: another tokenizer"),
    ],
)
def test_a_server_that_cannot_be_judged_is_status_3_in_one_line(fault, message, folders, models, tmp_path):
    from draftproof.tests.subjects.reference_server import serving

    with serving(*models) as plain, serving(*models, fault=fault) as url:
        apart = ["--without", plain] if fault == "an id beyond" else []
        status, report, said = audited(tmp_path, url, "--reference", folders / "target", "--samples", 8, *apart)
    assert status == 3
    assert message in report["failure"]["message"], said
    assert report["evidence"] == []


def test_time_that_ends_leaves_what_was_examined(folders, models, tmp_path, monkeypatch):
    """By a clock that is looked at first, and after every two texts."""
    from draftproof.tests.subjects.reference_server import serving

    looks = iter([0.0, 1.0, 2.0, 3.5])
    monkeypatch.setattr(reference, "time", SimpleNamespace(monotonic=lambda: next(looks)))
    with serving(*models) as url:
        words = [url, "--reference", folders / "target", "--samples", 100_000, "--timeout", 3, "--at-once", 2]
        status, report, _ = audited(tmp_path, *words)
    assert (status, report["verdict"]) == (0, "inconclusive")
    assert "6 of 100000 texts, in the time given (--timeout 3)" in noticed(report)["fewer texts"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["http://127.0.0.1:9"], "needs --target DIR"),
        (["http://127.0.0.1:9", "--reference", "a", "--target", "b"], "needs --target DIR"),
        (
            ["http://[::1]:9", "--target", "b", "--without", "http://[::1]:9"],
            "--without does not go with --target without --grid",
        ),
        (["http://127.0.0.1:9", "--reference", "a", "--gamma", "3"], "--gamma does not go with --reference"),
        (["http://127.0.0.1:9", "--target", "b", "--draft", "a"], "--draft does not go with --target"),
        (["http://127.0.0.1:9", "--reference", "./nowhere"], "./nowhere: no such folder"),
    ],
)
def test_wrong_use_is_status_2(words, message, tmp_path):
    status, _, said = audited(tmp_path, *words)
    assert status == 2
    assert message in said


# ---------------------------------------------------------------- an open model behind llama.cpp's server


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    """Starts servers: of the open model with its draft, with fields of requests changed, and without the draft."""
    if not (SERVERS / "llama" / "bin" / "python").exists():
        pytest.skip(f"needs {SERVERS / 'llama'}: make servers")
    from draftproof.models.pairs.packaged_pair import SMOLLM2, rounded_layers
    from draftproof.tests.models.gguf_parts import write_changed
    from draftproof.tests.reports.audits.servers.test_real_servers import LLAMA, started

    folder = tmp_path_factory.mktemp("llama")
    write_changed(SMOLLM2.gguf(), folder / "draft.gguf", rounded_layers(3), "Q8_0")
    python = SERVERS / "llama" / "bin" / "python"

    def start(draft):
        words = [python, LLAMA, SMOLLM2.gguf(), draft, "PORT", "4", "probabilistic"]
        return started(words, tmp_path_factory.mktemp("run"))

    def altered(url, **fields):
        words = [sys.executable, SUBJECTS / "altering_proxy.py", url, "PORT", json.dumps(fields)]
        return started(words, tmp_path_factory.mktemp("proxy"))

    with ExitStack() as stack:
        plain, url = (stack.enter_context(start(draft)) for draft in ("-", folder / "draft.gguf"))
        yield {"plain": plain, "url": url, "altered": altered}


LONG = ("--request-timeout", 900, "--timeout", 5400, "--at-once", 4)


@pytest.mark.smollm2
def test_llama_cpp_with_a_requantised_draft_emits_the_law_of_the_open_model(llama, tmp_path):
    words = [llama["url"], "--reference", "smollm2:target", "--without", llama["plain"], "--samples", 16, *LONG]
    status, report, out = audited(tmp_path, *words)
    assert (status, report["verdict"]) == (0, "inconclusive"), out
    assert report["evidence"][0]["detail"]["tokens"] > 500


@pytest.mark.smollm2
@pytest.mark.parametrize("fields", [{"temperature": 1.1}, {"top_p": 0.95}], ids=str)
def test_a_setting_that_was_not_asked_for_is_refuted_within_2000_tokens(fields, llama, tmp_path):
    with llama["altered"](llama["url"], **fields) as url:
        words = [url, "--reference", "smollm2:target", "--without", llama["plain"], "--samples", 40, *LONG]
        status, report, out = audited(tmp_path, *words)
    assert (status, report["verdict"]) == (1, "refuted"), out
    assert report["evidence"][0]["detail"]["refuted_at_token"] < 2000
