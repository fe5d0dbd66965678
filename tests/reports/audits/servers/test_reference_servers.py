"""Servers of real weights: a right one, whose arithmetic is its own, passes with its limits; planted faults are refuted
on a small checkpoint, and by make smollm2 on llama.cpp's server with an open model, its draft and a proxy that changes
requests."""

import json
import os
import re
import shutil
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from draftproof.models.errors import RunFailed
from draftproof.reports.audits.servers import examination, reference
from draftproof.tests.models.pairs_parts import save
from draftproof.tests.reports.commands.in_process import draftproof
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


@pytest.fixture(scope="module")
def plain(models):
    """The URL of a right server."""
    from draftproof.tests.subjects.reference_server import serving

    with serving(*models) as url:
        yield url


@pytest.fixture
def faulty(models, folders, tmp_path):
    """Audits a server with a planted fault, or without one: status, report, and what was said."""
    from draftproof.tests.subjects.reference_server import serving

    def run(fault, samples, *words):
        with serving(*models, fault=fault) as url:
            asked = [url, "--reference", folders / "target", "--samples", samples, *words]
            return audited(tmp_path, *asked)

    return run


def audited(tmp_path, *words):
    """Exit status, report and output of the command; bad input as the entry point shows it."""
    file = tmp_path / "report.json"
    file.unlink(missing_ok=True)
    done = draftproof("server", *words, "--json", file)
    report = json.loads(file.read_text()) if file.exists() else None
    if report:
        validate(report)
    return done.status, report, done.err if done.status == 2 else done.out


def noticed(report):
    return {finding["kind"]: finding["text"] for finding in report["findings"]}


HOT, NUCLEUS, OTHER, DRAFT_IN_TEN = "hot", "nucleus", "another model", "draft in one block of ten"
long = pytest.mark.long


@pytest.mark.parametrize("apart", [True, pytest.param(False, marks=long)])
def test_a_right_server_with_an_arithmetic_of_its_own_passes_with_its_limits(apart, faulty, plain):
    status, report, out = faulty("", 16, *(["--without", plain] if apart else []))
    assert (status, report["verdict"], report["failure"]) == (0, "inconclusive", None), out
    bets = report["evidence"][0]
    assert 0 < bets["bound"] < 0.5 and bets["detail"]["tokens"] > 500 and bets["detail"]["texts"] == 16
    assert bets["detail"]["false_alarm_rate"] == 1e-3
    drift, said = noticed(report)["drift"], " ".join(report["not_examined"])
    assert "streaming, several choices, stop strings, outputs of more than 64 tokens" in said
    assert "other prompts than the 12 that come with draftproof" in said
    assert "are off the reference's by TV 0.0" in drift and "bets pay up to 0.0" in drift
    assert ("a server without speculation" if apart else "the server itself, one token a request") in said
    assert ("differs from the reference as a whole" in said) != apart and "--draft names their model" in said


@pytest.mark.parametrize("fault", [NUCLEUS, *(pytest.param(one, marks=long) for one in (HOT, OTHER, DRAFT_IN_TEN))])
def test_a_planted_fault_is_refuted(fault, faulty, plain):
    status, report, out = faulty(fault, 24, "--without", plain)
    assert (status, report["verdict"]) == (1, "refuted"), out
    bets = report["evidence"][0]
    assert bets["witness"]["sequence"].startswith(("temperature", "top-p", "transform"))
    assert bets["replay"].startswith("draftproof server http://127.0.0.1:") and "--reference" in bets["replay"]
    assert bets["detail"]["refuted_at_token"] < bets["detail"]["tokens"]


def test_outputs_of_one_prompt_that_repeat_each_other_are_refuted(faulty):
    """A cache of answers, or one seed whatever is asked for: each output alone follows the rows."""
    status, report, out = faulty("one seed", 16)
    assert (status, report["verdict"]) == (1, "refuted"), out
    bets = report["evidence"][0]
    assert bets["witness"]["sequence"].startswith("repeated output, by token ")
    assert bets["detail"]["texts"] == 16 and bets["detail"]["p_value"] < 1e-9
    assert re.match(r"two that begin with \d\d equal tokens$", bets["witness"]["observed"])


@pytest.mark.parametrize(("fault", "samples"), [(DRAFT_IN_TEN, 24), pytest.param("", 24, marks=long)])
def test_with_the_drafts_weights_its_share_in_the_texts_is_bet_on(fault, samples, faulty, folders, plain):
    status, report, out = faulty(fault, samples, "--draft", folders / "draft", "--without", plain)
    bets = report["evidence"][0]
    assert not any("--draft names their model" in s for s in report["not_examined"])
    if not fault:
        assert (status, bets["verdict"]) == (0, "no-evidence") and bets["detail"]["tokens"] > 800, out
        return
    assert status == 1 and "% of the draft's row, by token" in bets["witness"]["sequence"], out
    assert f"--draft {folders / 'draft'}" in bets["replay"]
    assert bets["detail"]["refuted_at_token"] < 300


CHAT = "/v1/chat/completions"


@pytest.fixture
def chatting(models, folders, tmp_path):
    """Audits a server by chats: the checkpoint's tokenizer with a chat template."""
    from transformers import AutoTokenizer

    from draftproof.tests.subjects.reference_server import serving

    shutil.copytree(folders / "target", tmp_path / "chatty")
    tokenizer = AutoTokenizer.from_pretrained(folders / "target")
    tokenizer.chat_template = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }} {% endfor %}assistant:"
    tokenizer.save_pretrained(tmp_path / "chatty")

    def run(fault, samples, *words):
        with serving(*models, fault=fault, tokenizer=tokenizer) as url:
            asked = [url + CHAT, "--reference", tmp_path / "chatty", "--samples", samples, *words]
            return audited(tmp_path, *asked)

    return run


def test_a_right_server_passes_by_chats_and_a_hot_one_is_refuted(chatting):
    status, report, out = chatting("", 8, "--device", "cpu")
    assert (status, report["verdict"], report["failure"]) == (0, "inconclusive", None), out
    assert report["evidence"][0]["detail"]["tokens"] > 250 and "rows of 20" in noticed(report)["drift"]
    status, report, out = chatting(HOT, 16)
    assert (status, report["verdict"]) == (1, "refuted"), out
    assert CHAT in report["evidence"][0]["replay"]


def test_chats_that_cannot_be_judged_say_so_in_one_line(chatting, plain, folders, tmp_path):
    status, report, out = chatting("another template", 8)
    assert (status, report["evidence"]) == (3, []), out
    assert (
        "the server's chat template makes other tokens of a chat than the reference's" in report["failure"]["message"]
    )
    status, _, said = audited(tmp_path, plain + CHAT, "--reference", folders / "target")
    assert status == 2 and "has no chat template; expected one, or a URL of completions" in said


UNJUDGED = {
    "no logprobs": "reports no probabilities of its tokens, without which drift is not known; expected a server with",
    "no ids": "the answer does not say which tokens it has; expected token_ids, or logprobs with ids",
    "cut short": "11 answers lost, the last one: fewer tokens than asked for, with finish_reason 'length'",
    "an id beyond": "a token beyond the reference's 270 ids: another tokenizer",
}


@pytest.mark.parametrize("fault", UNJUDGED)
def test_a_server_that_cannot_be_judged_is_status_3_in_one_line(fault, faulty, plain):
    status, report, said = faulty(fault, 16, *(["--without", plain] if fault == "an id beyond" else []))
    assert (status, report["evidence"]) == (3, [])
    assert UNJUDGED[fault] in report["failure"]["message"], said
    assert not [thread for thread in threading.enumerate() if thread.name == "requests"]


def test_time_that_ends_leaves_what_was_examined(faulty, monkeypatch):
    """By a clock that is looked at first, and after every two texts."""
    looks = iter([0.0, 1.0, 2.0, 3.5])
    for module in (examination, reference):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(looks)))
    status, report, _ = faulty("", 100_000, "--timeout", 3, "--at-once", 2)
    assert (status, report["verdict"]) == (0, "inconclusive")
    assert "6 of 100000 outputs, in the time given (--timeout 3)" in noticed(report)["fewer texts"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "needs --target DIR"),
        (["--reference", "a", "--target", "b"], "needs --target DIR"),
        (["--target", "b", "--without", "http://[::1]:9"], "--without does not go with --target without --grid"),
        (["--reference", "a", "--gamma", "3"], "--gamma does not go with --reference"),
        (["--reference", "a", "--grid"], "--grid does not go with --reference"),
        (["--reference", "a", "--row", "none"], "--row does not go with --reference"),
        (["--target", "b", "--draft", "a"], "--draft does not go with --target"),
        (["--reference", "./nowhere"], "./nowhere: no such folder"),
        (["--reference", "./nowhere", "--device", "cuda:99"], "device 'cuda:99': not available here"),
        (["--target", "b", "--device", "cpu"], "--device does not go with --target"),
    ],
)
def test_wrong_use_is_status_2(words, message, tmp_path):
    status, _, said = audited(tmp_path, "http://127.0.0.1:9", *words)
    assert status == 2 and message in said


@pytest.mark.parametrize("logprobs", [[-0.5, float("nan")], [-0.1, -0.1], [3.0], [float("inf")]])
def test_reported_probabilities_that_are_no_row_are_one_line(logprobs):
    with pytest.raises(RunFailed, match=r"^here: reported probabilities sum to [\w.]+, expected at most 1$"):
        reference.probabilities_of(logprobs, "here")
    assert reference.probabilities_of([0.01], "here").tolist() == [1.0]


def test_a_draft_with_rows_for_fewer_ids_than_its_target_is_bad_input(folders, tmp_path):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    small = tmp_path / "small"
    model = AutoModelForCausalLM.from_pretrained(folders / "draft", dtype=torch.float32)
    model.resize_token_embeddings(model.config.vocab_size - 1)
    model.save_pretrained(small)
    AutoTokenizer.from_pretrained(folders / "draft").save_pretrained(small)
    words = ["http://127.0.0.1:9", "--reference", folders / "target", "--draft", small]
    status, _, said = audited(tmp_path, *words)
    assert status == 2
    assert f"{small}: has rows for 269 ids; expected the 270 of {folders / 'target'}" in said


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
