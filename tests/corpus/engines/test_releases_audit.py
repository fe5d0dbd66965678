"""A verifier through its releases, from a real index on this machine: what changed, when, and what became of it."""

import io
import json
import re
import tarfile
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import msgspec
import pytest
from click.testing import CliRunner

from draftproof.corpus.site.histories_page import FOLDER, KNOWN, PAGE, kept, markdown
from draftproof.models.battery import toy
from draftproof.models.errors import InputError
from draftproof.reports.commands.main import cli
from draftproof_engines import releases_audit as history
from draftproof_engines.releases import HISTORIES, File, VerifierHistory
from draftproof_engines.releases_audit import ExaminedHistory, history_of
from draftproof_engines.releases_page import lines_of

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
from draftproof_engines.lifted import adapted, lift

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


def wheel(name, text):
    """The bytes of a wheel with the verifier's text, if it has one."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("toy/__init__.py", "")
        if text:
            archive.writestr("toy/rule.py", text)
    return made.getvalue()


def sources(text):
    """The bytes of a source distribution with the verifier's text."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, content in (("toy-0/README", b"toy"), ("toy-0/toy/rule.py", text.encode())):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return made.getvalue()


def put(served, files, yanked=()):
    """Files by name on the index, instead of what is there."""
    (served / "simple" / "toy").mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (served / name).write_bytes(content)
    links = [f'<a href="/{n}"{" data-yanked" if n in yanked else ""}>{n}</a>' for n in files]
    (served / "simple" / "toy" / "index.html").write_text(f"<!doctype html><body>{''.join(links)}", encoding="utf-8")


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A package index with the releases of TEXTS; the history of their verifier."""
    files = tmp_path / "served"
    put(files, {name: wheel(name, text) for version, text in TEXTS.items()
                if (name := f"toy-{version}-py3-none-any.whl")})  # fmt: skip
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


@pytest.fixture
def few(monkeypatch):
    """One problem for each text: what is looked at is which text has which verdict."""
    monkeypatch.setattr(history, "problems_of", lambda triton: [toy(2)])


def test_each_text_is_audited_once_and_the_change_that_broke_it_is_named(index, few, tmp_path):
    seen = []
    found = history_of(index, tmp_path / "kept", progress=lambda *step: seen.append(step))
    assert [row.version for row in found.releases] == ["1.0", "1.1", "1.2", "1.3", "1.4", "1.10"]
    texts = [row.text for row in found.releases]
    assert texts[0] == "" and texts[1] == texts[2] == texts[5] and texts[3] == texts[4] != texts[1]
    verdicts = [found.verdict(row) and found.verdict(row).verdict for row in found.releases]
    assert verdicts == [None, "holds", "holds", "refuted", "refuted", "holds"]
    assert [*found.changes] == ["1.2..1.3", "1.4..1.10"]
    assert "+            residual = target[i]" in found.changes["1.2..1.3"]
    assert [number for *_, number, _ in found.spells()] == [1, 2, 2, 1]
    assert {stage for stage, *_ in seen} == {"reading releases", "auditing texts"}
    lines = [*lines_of(found)]
    assert "no such verifier" in lines[0] and "**refuted**: lossless on" in lines[2]
    assert "| 1.3 | 1.4 | 2 |" in markdown([msgspec.structs.replace(found, name="eagle")])

    again = history_of(index, tmp_path / "kept", progress=lambda *step: seen.append(step))  # from what is kept
    assert again == found

    one = history_of(index, tmp_path / "kept", only=lambda release: release.version == "1.3")
    assert len(one.releases) == 1 and not one.changes


ANY = "py3-none-any.whl"


@pytest.mark.long
def test_a_release_that_cannot_be_read_is_not_examined_and_takes_no_other_verdict(index, few, tmp_path):
    """No file, a damaged one, wheels that differ, no Python: each has its reason, and the others their verdicts."""
    right, wrong = wheel("", RIGHT), wheel("", WRONG)
    broken = bytearray(right)
    broken[right.index(b"clamp")] ^= 1  # one bit of the verifier's text
    yanked = f"toy-2.0-{ANY}"
    put(tmp_path / "served", {
        f"toy-1.1-{ANY}": right, "toy-1.2.tar.gz": b"", f"toy-1.3-{ANY}": right[: len(right) // 2],
        f"toy-1.4-{ANY}": bytes(broken),
        "toy-1.5-cp312-cp312-linux_x86_64.whl": right, "toy-1.5-cp312-cp312-linux_aarch64.whl": wrong,
        "toy-1.5.1-cp312-cp312-linux_x86_64.whl": right,
        "toy-1.5.1-cp312-cp312-win_amd64.whl": wheel("", RIGHT.replace("\n", "\r\n")),  # the same lines
        "toy-1.6-cp312-cp312-linux_x86_64.whl": wrong, "toy-1.6-cp312-cp312-linux_aarch64.whl": wrong,
        f"toy-1.7-{ANY}": wheel("", "def verify(:"), f"toy-1.7.post1-{ANY}": wrong, yanked: right,
        f"toy-2.1.dev3-{ANY}": wrong, f"toy-nonsense-{ANY}": wrong, "toy-2.2.zip": b"",
        "toy-2.3.tar.gz": sources(WRONG),
    }, [yanked])  # fmt: skip
    found = history_of(index, tmp_path / "kept")
    said = {row.version: row.why or found.verdict(row).verdict for row in found.releases}
    assert {version: why for version, why in said.items() if version not in ("1.2", "1.3", "1.4", "1.7")} == {
        "1.1": "holds", "1.5": "its wheels have different verifiers", "1.5.1": "holds", "1.6": "refuted",
        "1.7.post1": "refuted", "2.0": "holds", "2.2": "it has neither a wheel nor a source distribution",
        "2.3": "refuted",
    }  # fmt: skip
    assert said["1.2"].startswith("its source distribution cannot be read")
    assert said["1.3"].startswith(unread := "its wheel cannot be read") and said["1.4"].startswith(unread)
    assert said["1.7"].startswith("toy/rule.py does not parse")
    assert [row.version for row in found.releases if row.yanked] == ["2.0"]
    lines = [*lines_of(found)]
    assert "1.2: not examined: its source distribution cannot be read" in lines[1] and lines[-1] == "yanked: 2.0"
    assert "| 2.2 | 2.2 | 1 |  | not examined: it has neither a wheel nor a source distribution |" in markdown(
        [msgspec.structs.replace(found, name="eagle")]
    )
    assert history_of(index, tmp_path / "kept") == found


@pytest.mark.long
def test_ended_while_it_reads_or_audits_it_goes_on_with_the_same_history(index, few, tmp_path):
    whole = history_of(index, tmp_path / "whole")

    def ended(at):
        def step(stage, done, total):
            if (stage, done) == at:
                raise KeyboardInterrupt

        return step

    for at in (("reading releases", 3), ("auditing texts", 0), ("auditing texts", 1)):
        with pytest.raises(KeyboardInterrupt):
            history_of(index, tmp_path / "kept", progress=ended(at))
    (tmp_path / "kept" / "toy" / "1.3" / "toy" / "PKG-INFO").unlink()  # as if it was killed before the last file
    (tmp_path / "kept" / "toy" / "1.3" / "toy" / "toy" / "rule.py").write_text(RIGHT[:50], encoding="utf-8")
    assert history_of(index, tmp_path / "kept") == whole


@pytest.mark.long
def test_a_kept_verdict_is_of_the_text_and_not_of_the_folder_it_lies_in(index, few, tmp_path):
    kept_in = tmp_path / "kept"
    one = history_of(index, kept_in, only=lambda release: release.version == "1.3")
    (kept_in / "toy" / "1.3" / "toy" / "toy" / "rule.py").write_text(RIGHT, encoding="utf-8")
    other = history_of(index, kept_in, only=lambda release: release.version == "1.3")
    assert [found.verdict(found.releases[0]).verdict for found in (one, other)] == ["refuted", "holds"]


def test_an_index_that_lacks_the_package_or_the_file_is_one_line(index, tmp_path):
    with pytest.raises(InputError, match=r"none of 6 releases has toy/other\.py"):
        history_of(msgspec.structs.replace(index, files=(File("toy/other.py"),)), tmp_path)
    with pytest.raises(InputError, match=r"nothing: its releases cannot be read \(the index has no such package\)"):
        history_of(msgspec.structs.replace(index, package="nothing"), tmp_path)


def test_the_page_is_what_the_kept_histories_say():
    assert PAGE.read_text(encoding="utf-8") == markdown(kept())
    assert {file.stem for file in FOLDER.glob("*.json")} - {KNOWN.stem} == set(HISTORIES)
    assert json.loads(KNOWN.read_text(encoding="utf-8")).keys() <= set(HISTORIES)
    for found in kept():
        assert {row.text for row in found.releases} - {""} == set(found.texts), found.name
        assert isinstance(found, ExaminedHistory) and not any(v.verdict == "error" for v in found.texts.values()), (
            found.name
        )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["no-engine"], "expected one of transformers"), (["eagle", "--since", "new"], "expected a release")],
)
def test_wrong_use_is_one_line(arguments, says):
    result = CliRunner().invoke(cli, ["history", *arguments])
    assert isinstance(result.exception, InputError) and says in str(result.exception)
