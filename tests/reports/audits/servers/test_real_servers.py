"""Servers as published, started here with speculation on: mlx-lm on Hugging Face checkpoints, llama.cpp on GGUF."""

import os
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from socket import socket
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from draftproof.models.forge import forge
from draftproof.models.problem import problem_from
from draftproof.reports.audits.servers.audit import audit_server
from draftproof.reports.audits.servers.settings import ServerSettings, SweepSettings
from draftproof.reports.audits.servers.sweep import audit_sweep

pytestmark = pytest.mark.needs("httpx2", "gguf", "torch", "transformers")

SERVERS = Path(os.environ.get("DRAFTPROOF_SERVERS", Path(__file__).parents[4] / ".venv-servers"))
LLAMA = Path(__file__).parents[3] / "subjects" / "llama_server.py"

PAIR = {
    "vocabulary": 4,
    "gamma": 2,
    "target": {"start": ["2/5", "3/10", "1/5", "1/10"], "after": {
        "0": ["1/10", "2/5", "1/4", "1/4"], "1": ["1/2", "1/5", "3/10", "0"],
        "2": ["1/10", "1/5", "2/5", "3/10"], "3": ["3/20", "7/20", "3/10", "1/5"]}},
    "draft": ["1/10", "1/5", "3/10", "2/5"],
    "name": "server-pair",
}  # fmt: skip


def needs(server):
    there = (SERVERS / server / "bin" / "python").exists()
    return pytest.mark.skipif(not there, reason=f"needs {SERVERS / server}: make servers")


@pytest.fixture(scope="module")
def forged(tmp_path_factory):
    return forge(problem_from(PAIR), tmp_path_factory.mktemp("pair"), gguf=True)


@contextmanager
def started(command, folder):
    """The URL of a server that a command starts on the port PORT."""
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    hub = {"HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": str(folder), "PYTHONPATH": "", "PYTHONWARNINGS": "ignore"}
    with (folder / "log").open("w") as log:
        words = [port if word == "PORT" else str(word) for word in command]
        process = subprocess.Popen(words, stdout=log, stderr=log, env=os.environ | hub)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            assert process.poll() is None, (folder / "log").read_text()[-2000:]
            try:
                urlopen(f"{url}/v1/models", timeout=5).close()
                break
            except (URLError, OSError):
                time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait(20)


def audited(url, target, **settings):
    return audit_server(url, str(target), ServerSettings(request_timeout=30.0, **settings))


@needs("mlx")
def test_mlx_lm_with_a_draft_model_passes_with_its_limits_and_another_law_is_refuted(forged, tmp_path):
    words = [SERVERS / "mlx" / "bin" / "mlx_lm.server", "--model", forged.target, "--draft-model", forged.draft]
    with started([*words, "--num-draft-tokens", "2", "--host", "127.0.0.1", "--port", "PORT"], tmp_path) as url:
        report = audited(url, forged.target, samples=40)
        assert (report.verdict, report.failure) == ("inconclusive", None), report.findings
        assert report.server["choices"] == {"1": 40}, "it gives one choice, whatever n is"
        assert report.evidence[-1].bound < 0.5
        cut = audited(url, forged.target, samples=100, kinds=("alone",), fields={"min_p": 0.7})
        assert cut.verdict == "refuted", "it was sampled by another law than the one that is judged"
        assert audited(url, forged.target, samples=50, kinds=("alone",), top_k=3).verdict == "inconclusive"


@needs("llama")
@pytest.mark.parametrize("mode", ["matching", "probabilistic"])
def test_llama_cpp_with_a_draft_model_passes_with_its_limits_and_another_law_is_refuted(mode, forged, tmp_path):
    folder = forged.target.parent
    python, files = SERVERS / "llama" / "bin" / "python", [folder / "target.gguf", folder / "draft.gguf"]
    with started([python, LLAMA, *files, "PORT", "2", mode], tmp_path) as url:
        report = audited(url, files[0], samples=150)
        assert (report.verdict, report.failure) == ("inconclusive", None), report.findings
        said = report.server
        assert said["header"] == "llama.cpp" and 0 < said["speculation"]["accepted"] < said["speculation"]["drafted"]
        assert said["choices"] == {"3": 150}
        cut = audited(url, files[0], samples=100, kinds=("together",), fields={"min_p": 0.7})
        assert cut.verdict == "refuted", "it was sampled by another law than the one that is judged"
        assert audited(url, files[0], samples=150, kinds=("together",), top_k=3).verdict == "inconclusive"


@needs("llama")
def test_a_server_that_serves_the_draft_in_place_of_the_target_is_refuted(forged, tmp_path):
    folder = forged.target.parent
    with started(
        [SERVERS / "llama" / "bin" / "python", LLAMA, folder / "draft.gguf", "-", "PORT", "2"], tmp_path
    ) as url:
        report = audited(url, folder / "target.gguf", samples=200, kinds=("together",))
    assert report.verdict == "refuted"
    assert not report.server["speculation"].get("drafted")


@needs("llama")
def test_llama_cpp_passes_a_sweep_and_another_law_is_refuted_at_each_level(forged, tmp_path):
    folder, settings = forged.target.parent, {"samples": 80, "at_once": 8, "request_timeout": 30.0}
    python, files = SERVERS / "llama" / "bin" / "python", [folder / "target.gguf", folder / "draft.gguf"]
    with started([python, LLAMA, *files, "PORT", "2", "probabilistic", "8"], tmp_path) as url:
        report = audit_sweep(url, str(files[0]), SweepSettings(**settings))
        assert (report.verdict, report.failure) == ("inconclusive", None)
        assert all(0 < level["kept"] < level["drafted"] for level in report.server["levels"])
        cut = audit_sweep(url, str(files[0]), SweepSettings(**settings, fields={"min_p": 0.7}))
    assert {level["verdict"] for level in cut.server["levels"]} == {"refuted"}
