"""A verifier through its releases, from a real index on this machine: what changed, when, and what became of it."""

import re
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import msgspec
import pytest
from click.testing import CliRunner

from draftproof.models.errors import InputError
from draftproof.reports.audits.engines.history import Told, tell
from draftproof.reports.commands.main import cli
from draftproof.reports.pages.history import FOLDER, PAGE, kept, lines_of, markdown
from draftproof.verifiers.adapters.releases import HISTORIES, File, VerifierHistory

pytest.importorskip("torch", reason="lifted verifiers are given tensors")
pytest.importorskip("pypi_simple", reason="the extra history reads an index")
pytest.importorskip("remotezip", reason="the extra history reads an index")

RULE = """
import torch

def verify(target, draft, tokens):
    for i, x in enumerate(tokens.tolist()):
        if torch.rand(()) >= target[i, x] / draft[i, x]:
            residual = {residual}
            return [*tokens[:i].tolist(), int(torch.multinomial(residual, 1))]
    return [*tokens.tolist(), int(torch.multinomial(target[-1], 1))]
"""
RIGHT, WRONG = RULE.format(residual="(target[i] - draft[i]).clamp(min=0)"), RULE.format(residual="target[i]")
ADAPTER = """
import torch
from draftproof.verifiers.adapters.lifted import adapted, lift

lifted = lift("toy", "toy/rule.py", ["verify"], {"torch": torch})
verify = adapted(lifted.functions["verify"], lifted, rows_in_use=None, bonus="inside")
"""
TEXTS = {
    "1.0": None, "1.1": RIGHT, "1.2": "# a comment\n" + RIGHT, "1.3": WRONG, "1.4": WRONG, "1.10": RIGHT,
    "2.0rc1": WRONG,
}  # fmt: skip


class Ranges(SimpleHTTPRequestHandler):
    """Files of a folder, whole or in ranges as an index serves them."""

    def do_GET(self):
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if not asked:
            super().do_GET()
            return
        whole = Path(self.translate_path(self.path)).read_bytes()
        first, last = (int(x) if x else None for x in asked.groups())
        start, stop = (
            (max(len(whole) - last, 0), len(whole)) if first is None else (first, (last or len(whole) - 1) + 1)
        )
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{len(whole)}")
        self.send_header("Content-Length", str(len(whole[start:stop])))
        self.end_headers()
        self.wfile.write(whole[start:stop])

    def log_message(self, *_):
        pass


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A package index with the releases of TEXTS; the history of their verifier."""
    files = tmp_path / "served"
    (files / "simple" / "toy").mkdir(parents=True)
    links = []
    for version, text in TEXTS.items():
        name = f"toy-{version}-py3-none-any.whl"
        with zipfile.ZipFile(files / name, "w") as wheel:
            wheel.writestr("toy/__init__.py", "")
            if text:
                wheel.writestr("toy/rule.py", text)
        links.append(f'<a href="/{name}">{name}</a>')
    (files / "simple" / "toy" / "index.html").write_text(f"<!doctype html><body>{''.join(links)}", encoding="utf-8")
    adapter = tmp_path / "adapter.py"
    adapter.write_text(ADAPTER, encoding="utf-8")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Ranges, directory=str(files)))
    Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple/")
    yield VerifierHistory(
        "toy", "toy", "toy", f"{adapter}:verify", "a rule", (File("toy/rule.py", ("verify",)),), "1.0"
    )
    server.shutdown()
    server.server_close()


def test_each_text_is_audited_once_and_the_change_that_broke_it_is_named(index, tmp_path):
    seen = []
    told = tell(index, tmp_path / "kept", progress=lambda *step: seen.append(step))
    assert [row.version for row in told.releases] == ["1.0", "1.1", "1.2", "1.3", "1.4", "1.10"]
    texts = [row.text for row in told.releases]
    assert texts[0] == "" and texts[1] == texts[2] == texts[5] and texts[3] == texts[4] != texts[1]
    verdicts = [told.verdict(row) and told.verdict(row).verdict for row in told.releases]
    assert verdicts == [None, "holds", "holds", "refuted", "refuted", "holds"]
    assert [*told.changes] == ["1.2..1.3", "1.4..1.10"]
    assert "+            residual = target[i]" in told.changes["1.2..1.3"]
    assert [number for *_, number, _ in told.spells()] == [1, 2, 2, 1]
    assert {stage for stage, *_ in seen} == {"reading releases", "auditing texts"}
    lines = [*lines_of(told)]
    assert "no such verifier" in lines[0] and "**refuted**: lossless on" in lines[2]
    assert "| 1.3 | 1.4 | 2 |" in markdown([msgspec.structs.replace(told, name="eagle")])

    again = tell(index, tmp_path / "kept", progress=lambda *step: seen.append(step))  # from what is kept
    assert again == told

    one = tell(index, tmp_path / "kept", only=lambda release: release.version == "1.3")
    assert len(one.releases) == 1 and not one.changes


def test_an_index_that_lacks_the_package_or_the_file_is_one_line(index, tmp_path):
    with pytest.raises(InputError, match=r"none of 6 releases has toy/other\.py"):
        tell(msgspec.structs.replace(index, files=(File("toy/other.py"),)), tmp_path)
    with pytest.raises(InputError, match=r"nothing: its releases cannot be read \(the index has no such package\)"):
        tell(msgspec.structs.replace(index, package="nothing"), tmp_path)


def test_the_page_is_what_the_kept_histories_say():
    assert PAGE.read_text(encoding="utf-8") == markdown(kept())
    assert {file.stem for file in FOLDER.glob("*.json")} == set(HISTORIES)
    for told in kept():
        assert {row.text for row in told.releases} - {""} == set(told.texts), told.name
        assert isinstance(told, Told) and not any(v.verdict == "error" for v in told.texts.values()), told.name


def test_the_known_story_of_block_verification_in_vllm_ascend():
    """Wrong in 0.13.0, whose only rule from three tokens on it is; what 0.11.0 had was right."""
    told = {told.name: told for told in kept()}["vllm-ascend"]
    verdicts = {row.version: told.verdict(row) for row in told.releases}
    assert verdicts["0.11.0"].verdict == "holds" and verdicts["0.13.0"].verdict == "refuted"
    assert verdicts["0.13.0"].findings[0].problem.startswith("paper-example-gamma3")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["no-engine"], "expected one of transformers"),
        (["eagle", "--since", "new"], "expected a release"),
    ],
)
def test_wrong_use_is_one_line(arguments, says):
    result = CliRunner().invoke(cli, ["history", *arguments])
    assert isinstance(result.exception, InputError) and says in str(result.exception)
