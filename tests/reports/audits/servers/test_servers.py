"""Servers behind a URL: wrong loops are refuted, right ones pass with a limit; no fault makes a pass or an alarm."""

import json
import re
import ssl
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from socket import SHUT_RDWR, create_server
from threading import Event, Thread

import pytest
from click.testing import CliRunner

from draftproof.models.errors import InputError
from draftproof.models.problem import as_json
from draftproof.reports.audits.report import Report
from draftproof.reports.audits.servers.audit import audit_server
from draftproof.reports.audits.servers.journal import IN_FLIGHT, Journal
from draftproof.reports.audits.servers.remarks import findings
from draftproof.reports.audits.servers.requests import KINDS
from draftproof.reports.audits.servers.settings import ServerSettings
from draftproof.reports.commands.server import command
from draftproof.reports.pages.summary import summaries
from draftproof.tests.reports.audits.servers.three import THREE
from draftproof.tests.reports.report_schema import validate
from draftproof.tests.subjects.completions_server import serving

pytestmark = pytest.mark.needs("httpx2", "jsonschema")


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    (folder / "problem.json").write_text(json.dumps(as_json(THREE)))
    return str(folder)


def audited(url, target, *kinds, seed=0, **settings):
    given = {"samples": 300, "patience": 600.0, "request_timeout": 600.0} | settings
    report = audit_server(url, target, ServerSettings(**given, **({"kinds": kinds} if kinds else {})), seed)
    validate(report.as_json())
    return report


# ---------------------------------------------------------------- right loops and wrong ones


def test_a_right_loop_passes_in_every_kind_of_request_with_its_limits(target):
    with serving(THREE) as server:
        report = audited(server.url, target, samples=200)
    assert (report.verdict, report.failure, report.findings) == ("inconclusive", None, {})
    assert len(report.evidence) == len(KINDS) + 2 and all(0 < e.bound < 0.7 for e in report.evidence)
    assert report.evidence[-1].detail.sampling.startswith("pooled") and report.evidence[-1].bound < 0.3
    assert re.fullmatch(r"TV 0\.\d+ each, TV 0\.\d+ together", summaries(report)[0].limit)
    said = report.server
    assert {name: kind["counted"] for name, kind in said["kinds"].items()} == dict.fromkeys(KINDS, 200)
    assert (said["models"], said["same_seed"], said["choices"]) == (["forged"], {"asked": 5, "same": 5}, {"3": 200})
    assert said["speculation"]["tokens_per_event"] > 1.5
    assert said["together_against_alone"]["p_value"] > 1e-6 and 0 < said["together_against_alone"]["limit"] < 1
    assert any("log-probabilities" in sentence for sentence in report.not_examined)
    assert Report.from_json(report.as_json()).server == said


@pytest.mark.parametrize(
    ("loop", "kind"),
    [
        ("accepts-everything", "choices"),
        ("prompt-of-another", "prompts"),
        ("prompt-of-32", "prompts"),
        ("equal-choices", "choices"),
        ("past-the-stop", "stop"),
        ("one-seed", "seeds"),
        ("ends-early", "alone"),
        ("impossible", "streamed"),
        ("hot", "together"),
    ],
)
def test_a_wrong_loop_is_refuted_by_the_requests_that_show_it(loop, kind, target):
    with serving(THREE, loop, seed=3) as server:
        report = audited(server.url, target, kind, samples=400)
        assert report.verdict == "refuted", report.evidence
        refuted = [e for e in report.evidence if e.refuted]
        assert refuted[0].replay.startswith(f"draftproof server {server.url} --target {target} --kinds {kind} ")


@pytest.mark.parametrize(
    ("loop", "kind"), [("prompt-of-32", "alone"), ("equal-choices", "seeds"), ("one-seed", "stop")]
)
def test_what_other_requests_do_not_show_is_not_refuted_by_them(loop, kind, target):
    with serving(THREE, loop) as server:
        assert audited(server.url, target, kind).verdict == "inconclusive"


def test_a_temperature_is_judged_by_the_rows_under_it(target):
    with serving(THREE) as server:
        report = audited(server.url, target, "together", temperature=0.4)
    assert report.verdict == "refuted"
    assert report.evidence[0].detail.settings["temperature"] == 0.4


# ---------------------------------------------------------------- faults

AT = (20, 60, 100)


def at_some(act):
    return lambda handler, number, body: number in AT and act(handler, body)


FAULTS = {
    "status 500": lambda handler, body: handler.reply({"error": "out of luck"}, 500),
    "the connection broke": lambda handler, body: handler.cut(),
    "the stream ended before": lambda handler, body: handler.stream(handler.texts(body, 0), whole=False) or True,
    "not UTF-8": lambda handler, body: handler.reply(b'{"choices": [{"text": "\xff\xfe"}]}'),
    "not JSON": lambda handler, body: handler.reply(b'{"choices": ['),
    "JSON without choices": lambda handler, body: handler.reply({}),
    "an error instead of a text: full": lambda handler, body: handler.reply({"error": {"message": "full"}}),
    "fewer tokens": lambda handler, body: handler.complete(body, 0, lambda t: [(w[:-1], e) for w, e in t]),
    "not of the target's tokens": lambda handler, body: handler.complete(body, 0, lambda t: [(["9"], e) for _, e in t]),
    "more than 4,000,000 bytes": lambda handler, body: handler.reply(b" " * 5_000_000),
}  # fmt: skip


@pytest.mark.parametrize("why", FAULTS)
def test_an_answer_that_is_lost_is_counted_and_not_drawn_again(why, target):
    with serving(THREE, fault=at_some(FAULTS[why])) as server:
        report = audited(server.url, target, "together", samples=150)
    assert (report.verdict, report.failure) == ("inconclusive", None)
    ((reason, times),) = report.server["kinds"]["together"]["lost"].items()
    assert why in reason and times == 3
    assert report.server["kinds"]["together"]["counted"] == 147
    assert "3 answers are lost" in report.findings["answers-lost"] and "<s>" in report.findings["answers-lost"]
    (evidence,) = report.evidence
    assert evidence.detail.lost_at_most > 3 / 150 and evidence.bound > evidence.detail.lost_at_most


def test_answers_that_never_come_are_lost_and_end_the_run(target):
    over = Event()
    with serving(THREE, fault=lambda *_: over.wait(600)) as server:
        report = audited(server.url, target, "together", request_timeout=0.3)
        over.set()
    assert report.verdict == "error"
    assert re.match(r"\d+ answers lost, the last one: no answer within 0\.3 s", report.failure["message"])


def test_requests_that_are_refused_are_sent_again_when_the_server_says_so(target):
    def busy(handler, number, body):
        return number in AT and handler.reply({"error": "slow down"}, 503 if number == 60 else 429, Retry_After="0.2")

    with serving(THREE, fault=busy) as server:
        began = time.monotonic()
        report = audited(server.url, target, "alone", samples=150)
    assert time.monotonic() - began > 0.6
    assert report.server["refused"] == {"status 429": 2, "status 503": 1}
    assert report.server["kinds"]["alone"]["counted"] == 150 and report.verdict == "inconclusive"
    assert any("what refused requests would have said" in sentence for sentence in report.not_examined)
    (evidence,) = report.evidence
    assert (evidence.detail.redrawn, evidence.detail.lost) == (3, 0) and evidence.detail.lost_at_most > 3 / 150


def test_a_wrong_loop_that_hides_behind_refusals_is_not_said_to_be_seen(target):
    """Its texts are off by TV 1/6; what is counted is not: no test can see it, and the limit must not say so."""
    with serving(THREE, "hides-by-503") as server:
        report = audited(server.url, target, "together", samples=800)
    (evidence,) = report.evidence
    assert evidence.detail.redrawn > 200 and evidence.bound > evidence.detail.lost_at_most > 1 / 3
    assert "refused with a status, which may hide a text" in report.findings["refused"]


def test_a_server_that_is_always_busy_ends_the_run_after_the_patience(target):
    with serving(THREE, fault=lambda handler, number, body: number > 30 and handler.reply({}, 429)) as server:
        report = audited(server.url, target, "alone", patience=0.5)
    assert report.verdict == "error"
    assert "status 429, for 0.5 s (--patience), after 30 of 300 texts of 'alone'" in report.failure["message"]


def test_losses_that_depend_on_the_text_are_no_refutation_of_a_right_loop_and_widen_its_limit(target):
    def loses(texts):
        return [(["?"], ended) if words[:2] == ["2", "0"] else (words, ended) for words, ended in texts]

    def fault(handler, number, body):
        handler.complete(body, number, loses)
        return True

    with serving(THREE, fault=fault) as server:
        report = audited(server.url, target, "together", samples=1000)
    (lost,) = report.server["kinds"]["together"]["lost"].values()
    assert 25 < lost < 80 and report.verdict == "inconclusive"
    (evidence,) = report.evidence
    assert evidence.detail.samples == 1000 - lost and evidence.bound > evidence.detail.lost_at_most > lost / 1000


def test_longer_texts_and_another_model_are_findings_and_the_law_is_judged(target):
    def longer(handler, number, body):
        handler.complete({**body, "max_tokens": body["max_tokens"] + 2}, number)
        return True

    with serving(THREE, fault=longer, name="other") as server:
        report = audited(server.url, target, "together", model="forged")
    assert report.verdict == "inconclusive" and report.server["longer_than_asked"] == 300
    assert report.findings["longer-texts"].startswith("300 texts have more tokens")
    assert report.findings["another-model"] == "asked for 'forged', the answers name other"
    two = report.server | {"answered_as": ["version-1", "version-2"]}
    assert findings(two, None)["another-model"] == "the answers name several models: version-1, version-2"


def test_a_server_that_ignores_n_is_said_to_and_its_texts_are_judged(target):
    def one(handler, number, body):
        handler.complete({**body, "n": 1}, number)
        return True

    with serving(THREE, fault=one) as server:
        report = audited(server.url, target, "choices")
    assert len(report.evidence) == 1 and report.server["choices"] == {"1": 300}
    assert "several choices of one request: the server gives one" in report.not_examined


def page(handler, number, body, status=200):
    return handler.reply(b"<html>hello</html>", status, kind="text/html")


def moved(handler, number, body):
    return handler.reply({}, 307, Location="http://elsewhere/v1")


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (page, "answers with a page (text/html); expected the OpenAI completions API"),
        (lambda *given: page(*given, 404), "expected the OpenAI completions API; status 404"),
        (moved, "redirects to http://elsewhere/v1; give the address it is at"),
        (lambda h, n, b: h.reply({"error": {"message": "top_k\n known?"}}, 400), "status 400: top_k known?"),
        (lambda h, n, b: h.reply({"error": "who is it?"}, 401), "status 401: who is it?"),
    ],
)
def test_what_is_no_completion_is_bad_input_in_one_line(fault, message, target):
    with serving(THREE, fault=fault) as server, pytest.raises(InputError) as caught:
        audited(server.url, target, "alone")
    assert message in str(caught.value) and "\n" not in str(caught.value)
    assert "http" in str(caught.value)


def test_answers_that_are_no_completions_end_the_run_after_a_few(target):
    with serving(THREE, fault=lambda handler, number, body: handler.reply({"hello": 1})) as server:
        report = audited(server.url, target, "alone", samples=2000)
    assert report.failure["message"].startswith("11 answers lost") and report.verdict == "error"


def test_a_model_that_the_server_wants_named_is_the_one_that_it_lists(target):
    def wants(handler, number, body):
        return body.get("model") != "forged" and handler.reply({"error": "which model?"}, 422)

    with serving(THREE, fault=wants) as server:
        assert audited(server.url, target, "alone", samples=50).evidence[0].detail.settings["model"] == "forged"


@contextmanager
def tls_server():
    context, socket = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), create_server(("127.0.0.1", 0))

    def accept():
        while True:
            try:
                context.wrap_socket(socket.accept()[0], server_side=True)
            except ssl.SSLError:
                pass
            except OSError:
                return

    Thread(target=accept, daemon=True).start()
    yield f"127.0.0.1:{socket.getsockname()[1]}"
    socket.close()


def test_http_where_tls_is_spoken_and_the_reverse_are_said(target):
    with serving(THREE) as server, pytest.raises(InputError, match=r"no TLS at https.*is it http:// that is meant\?"):
        audited(server.url.replace("http", "https"), target, "alone")
    with tls_server() as place:
        report = audited(f"http://{place}", target, "alone")
    assert report.failure["message"].endswith("is it https:// that is meant?")
    assert (report.verdict, report.evidence) == ("error", [])


# ---------------------------------------------------------------- going on


def test_a_server_that_dies_ends_the_run_and_the_run_goes_on_where_it_stopped(target, tmp_path):
    file, gone = str(tmp_path / "checkpoint"), []
    with serving(THREE) as server:

        def dies(handler, number, body):
            if number < 100:
                return False
            with server.lock:
                if not gone:
                    gone.append(True)
                    server.socket.shutdown(SHUT_RDWR)
            return handler.cut()

        server.fault = dies
        first = audited(server.url, target, "together", "seeds", patience=0.3, checkpoint=file)
        port = server.server_port
    assert first.verdict == "error" and "no connection to" in first.failure["message"]
    counted = first.server["kinds"]["together"]["counted"]
    assert 90 <= counted <= 101 and first.evidence[0].bound is None
    with serving(THREE, port=port) as server:
        second = audited(server.url, target, "together", "seeds", checkpoint=file)
        assert next(server.numbers) <= 600 - counted + 10
        with pytest.raises(InputError, match="was begun with samples 300, and 20 is asked for"):
            audited(server.url, target, "together", samples=20, checkpoint=file)
    with serving(THREE, port=port, name="version-2"), pytest.raises(InputError, match="was begun with served "):
        audited(server.url, target, "together", "seeds", checkpoint=file)
    lost = sum(second.server["kinds"]["together"]["lost"].values())
    assert 1 <= lost <= 16, "for each of 8 at once the one in flight, and one that the dying server's queue took"
    assert second.server["kinds"]["together"]["counted"] == 300 - lost
    assert (second.verdict, second.server["resumed"]) == ("inconclusive", 1)
    assert second.server["refused"] == first.server["refused"] != {}
    assert not second.evidence[0].detail.redrawn


def answers_in(file):
    try:
        return file.read_text().count("texts")
    except FileNotFoundError:
        return 0


def test_a_killed_audit_goes_on_and_what_was_in_flight_is_lost_and_said(target, tmp_path):
    file = tmp_path / "checkpoint"
    killed = Event()
    with serving(THREE, fault=lambda handler, number, body: number > 80 and not killed.wait(600)) as server:
        words = [
            "engine",
            server.url,
            "--target",
            target,
            "--kinds",
            "together",
            "--samples",
            120,
            "--checkpoint",
            file,
        ]
        line = [sys.executable, "-m", "draftproof.reports.commands.main", *map(str, words)]
        with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as audit:
            try:
                while answers_in(file) < 70:
                    assert audit.poll() is None
                    time.sleep(0.005)
            finally:
                audit.kill()
                killed.set()
        file.write_bytes(file.read_bytes() + b'{"kind":"together","slot":11')
        report = audited(server.url, target, "together", samples=120, checkpoint=str(file))
    said = report.server["kinds"]["together"]
    assert 1 <= said["lost"][IN_FLIGHT] <= 8 and said["counted"] == 120 - said["lost"][IN_FLIGHT]
    assert report.verdict == "inconclusive"


def test_a_run_that_goes_on_shows_what_the_earlier_one_saw(target, tmp_path):
    def busy(handler, number, body):
        return number == 5 and handler.reply({}, 503, Retry_After="0")

    with serving(THREE, fault=busy, name="other") as server:
        first, second = (
            audited(server.url, target, "streamed", samples=60, model="forged", checkpoint=str(tmp_path / "checkpoint"))
            for _ in range(2)
        )
    assert (first.server["resumed"], second.server["resumed"], first.findings) == (0, 1, second.findings)
    assert {**second.server, "resumed": 0} == first.server and first.server["answered_as"] == ["other"]
    assert second.evidence[0].detail == first.evidence[0].detail and first.evidence[0].detail.redrawn == 1


def test_a_journal_of_an_older_form_is_set_aside(tmp_path):
    (tmp_path / "file").write_text('{"form":"draftproof-server-1"}\n')
    assert Journal(str(tmp_path / "file"), {}).resumed == 0
    assert (tmp_path / "file.old").exists()


def test_an_interruption_keeps_what_was_counted(target):
    def interrupt(stage, done, total):
        if done >= 50:
            raise KeyboardInterrupt

    with serving(THREE, "impossible") as server:
        report = audit_server(server.url, target, ServerSettings(samples=400), progress=interrupt)
    assert report.interrupted and report.evidence[0].refuted


# ---------------------------------------------------------------- the command


def test_the_command_has_the_exit_statuses_of_the_contract(target, tmp_path):
    file, page_file = tmp_path / "report.json", tmp_path / "report.html"

    def run(url, *more):
        return CliRunner().invoke(command, [url, "--samples", "200", "--kinds", "stop", *more])

    with serving(THREE) as server:
        done = run(server.url, "--target", target, "--json", str(file), "--html", str(page_file))
        assert done.exit_code == 0, done.output
        for shown in ("stop 200 of 200; 8 at once", "nowhere: neither timings nor"):
            assert shown in done.output and shown in page_file.read_text()
        assert run(server.url, "--target", target, "--require-decision").exit_code == 4
        assert "needs --target DIR" in run(server.url).output
        assert isinstance(run(server.url, "--target", str(tmp_path / "no")).exception, InputError)
    assert json.loads(file.read_text())["server"]["kinds"]["stop"]["counted"] == 200
    with serving(THREE, "past-the-stop") as server:
        assert run(server.url, "--target", target).exit_code == 1
    done = run(server.url, "--target", target, "--patience", "0.2")
    assert done.exit_code == 3 and "Connection refused" in done.output


def test_a_temperature_that_the_judge_would_not_know_of_is_refused(target):
    with pytest.raises(InputError, match="--set temperature: give --temperature, so that the law judged"):
        audit_server("http://127.0.0.1:9", target, ServerSettings(fields={"temperature": 2.0}))


def test_a_target_that_was_not_forged_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"no problem\.json in it or beside it"):
        audit_server("http://127.0.0.1:9", str(tmp_path), ServerSettings())
    assert Path(tmp_path).is_dir()
