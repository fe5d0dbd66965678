"""Servers behind a URL: wrong loops are refuted, right ones pass with a limit; no fault makes a pass or an alarm."""

import json
import re
import time
from socket import SHUT_RDWR
from threading import Event

import pytest

from draftproof.models.errors import InputError
from draftproof.reports.audits.report import Report
from draftproof.reports.audits.servers.audit import audit_server
from draftproof.reports.audits.servers.journal import IN_FLIGHT, Journal
from draftproof.reports.audits.servers.remarks import findings
from draftproof.reports.audits.servers.requests import KINDS
from draftproof.reports.audits.servers.settings import ServerSettings
from draftproof.reports.pages.summary import summaries
from draftproof.tests.choices import long_unless
from draftproof.tests.reports.audits.servers.three import THREE
from draftproof.tests.reports.commands.in_process import draftproof
from draftproof.tests.reports.report_parts import fits_a_terminal
from draftproof.tests.reports.report_schema import validate
from draftproof.tests.subjects.completions_server import serving

pytestmark = pytest.mark.needs("httpx2", "jsonschema")

NOBODY = "http://127.0.0.1:9"


@pytest.fixture
def audited(target):
    """Audits a server at a URL."""

    def run(url, *kinds, seed=0, **settings):
        given = {"samples": 300, "patience": 600.0, "request_timeout": 600.0} | settings
        report = audit_server(url, target, ServerSettings(**given, **({"kinds": kinds} if kinds else {})), seed)
        validate(report.as_json())
        fits_a_terminal(report)
        return report

    return run


# ---------------------------------------------------------------- right loops and wrong ones


def test_a_right_loop_passes_in_every_kind_of_request_with_its_limits(audited):
    with serving(THREE) as server:
        report = audited(server.url, samples=200)
    assert (report.verdict, report.failure, report.findings) == ("inconclusive", None, {})
    assert len(report.evidence) == len(KINDS) + 2 and all(0 < e.bound < 0.7 for e in report.evidence)
    assert report.evidence[-1].detail.sampling.startswith("pooled") and report.evidence[-1].bound < 0.3
    assert re.fullmatch(r"TV 0\.\d+ each, TV 0\.\d+ together", summaries(report)[0].limit)
    said = report.server
    assert {name: kind["counted"] for name, kind in said["kinds"].items()} == dict.fromkeys(KINDS, 200)
    assert (said["models"], said["same_seed"], said["choices"]) == (["forged"], {"asked": 5, "same": 5}, {"3": 200})
    assert said["speculation"]["tokens_per_event"] > 1.5
    assert any(one.endswith("log-probabilities, outputs of more than 5 tokens") for one in report.not_examined)
    assert "whether choices of one request depend on each other beyond their first tokens" in report.not_examined
    assert "several prompts in one request, and more than 8 requests in flight" in report.not_examined
    assert Report.from_json(report.as_json()).server == said


SHOWN_BY = {
    "accepts-everything": "choices", "prompt-of-another": "prompts", "prompt-of-32": "prompts",
    "equal-choices": "choices", "past-the-stop": "stop", "one-seed": "seeds", "ends-early": "alone",
    "impossible": "streamed", "hot": "together",
}  # fmt: skip
"""Wrong loops, and the kind of requests that shows each."""

NOT_BY = {"prompt-of-32": "alone", "equal-choices": "seeds", "one-seed": "stop"}


@pytest.mark.parametrize("loop", long_unless(SHOWN_BY, [*SHOWN_BY][::2]))
def test_a_wrong_loop_is_refuted_by_the_requests_that_show_it_and_by_no_others(loop, audited, target):
    kind = SHOWN_BY[loop]
    with serving(THREE, loop, seed=3) as server:
        report = audited(server.url, kind, samples=400)
        assert report.verdict == "refuted", report.evidence
        refuted = next(e for e in report.evidence if e.refuted)
        assert refuted.replay.startswith(f"draftproof server {server.url} --target {target} --kinds {kind} ")
        if loop in NOT_BY:
            assert audited(server.url, NOT_BY[loop]).verdict == "inconclusive"


def test_chats_are_asked_where_the_address_is_that_of_chats(audited, target):
    with serving(THREE) as server:
        report = audited(server.url + "/v1/chat/completions", samples=100)
        assert (report.verdict, report.failure, report.findings) == ("inconclusive", None, {})
        assert {name: kind["counted"] for name, kind in report.server["kinds"].items()} == dict.fromkeys(KINDS, 100)
        assert any("the API of completions" in sentence for sentence in report.not_examined)
        done = draftproof("server", f"{server.url}/v1/chat/completions", "--target", target, "--grid")
        assert done.status == 2 and "the grid has no chat requests" in done.err
    for loop, kind in (("accepts-everything", "choices"), ("past-the-stop", "stop")):
        with serving(THREE, loop, seed=3) as server:
            report = audited(server.url + "/v1/chat/completions/", kind, samples=400)
            assert report.verdict == "refuted", (loop, report.evidence)
            replay = next(e for e in report.evidence if e.refuted).replay
            assert replay.startswith(f"draftproof server {server.url}/v1/chat/completions/ ")


def test_a_temperature_is_judged_by_the_rows_under_it(audited):
    with serving(THREE) as server:
        report = audited(server.url, "together", temperature=0.4)
    assert (report.verdict, report.evidence[0].detail.settings["temperature"]) == ("refuted", 0.4)
    with pytest.raises(InputError, match="--set temperature: give --temperature, so that its rows"):
        audited(NOBODY, fields={"temperature": 2.0})


def test_one_seed_for_all_requests_is_bad_input_since_right_outputs_would_repeat_each_other(audited, target):
    for more in ([], ["--grid"], ["--sweep"]):
        done = draftproof("server", NOBODY, "--target", target, "--set", "seed=7", *more)
        assert done.status == 2 and "--set seed: outputs of one seed repeat each other; give --seed" in done.err
    with serving(THREE) as server:
        assert audited(server.url, "seeds", samples=40, fields={"seed": None}).verdict == "inconclusive"


# ---------------------------------------------------------------- faults

AT = (20, 60, 100)


def always(**changes):
    """Answers each request as if it had asked for something else."""
    return lambda handler, number, body: handler.complete(body | changes, number) or True


FAULTS = {
    "status 500": lambda handler, body: handler.reply({"error": "out of luck"}, 500),
    "the connection broke": lambda handler, body: handler.cut(),
    "the stream ended before": lambda handler, body: handler.stream(handler.texts(body, 0), whole=False) or True,
    "not UTF-8": lambda handler, body: handler.reply(b'{"choices": [{"text": "\xff\xfe"}]}'),
    "not JSON": lambda handler, body: handler.reply(b'{"choices": ['),
    "JSON without choices": lambda handler, body: handler.reply({}),
    "an error in place of output: full": lambda handler, body: handler.reply({"error": {"message": "full"}}),
    "fewer tokens": lambda handler, body: handler.complete(body, 0, lambda t: [(w[:-1], e) for w, e in t]),
    "made of the target's": lambda handler, body: handler.complete(body, 0, lambda t: [(["9"], e) for _, e in t]),
    "more than 4,000,000 bytes": lambda handler, body: handler.reply(b" " * 5_000_000),
}  # fmt: skip


def test_each_answer_that_is_lost_is_counted_with_its_reason_and_not_drawn_again(audited):
    acts = dict(zip(range(20, 120, 10), FAULTS.values()))
    with serving(THREE, fault=lambda handler, number, body: number in acts and acts[number](handler, body)) as server:
        report = audited(server.url, "together", samples=150)
    assert (report.verdict, report.failure) == ("inconclusive", None)
    said = report.server["kinds"]["together"]
    assert said["counted"] == 150 - len(FAULTS) and set(said["lost"].values()) == {1}
    assert [why for why in FAULTS if not any(why in reason for reason in said["lost"])] == []
    assert "10 answers were lost" in report.findings["answers-lost"] and "<s>" in report.findings["answers-lost"]
    (evidence,) = report.evidence
    assert evidence.bound > evidence.detail.lost_at_most > len(FAULTS) / 150


def test_requests_that_are_refused_are_sent_again_when_the_server_says_so(audited):
    def busy(handler, number, body):
        return number in AT and handler.reply({"error": "slow down"}, 503 if number == 60 else 429, Retry_After="0.2")

    with serving(THREE, fault=busy) as server:
        began = time.monotonic()
        report = audited(server.url, "alone", samples=150)
    assert time.monotonic() - began > 0.6
    assert report.server["refused"] == {"status 429": 2, "status 503": 1}
    assert report.server["kinds"]["alone"]["counted"] == 150 and report.verdict == "inconclusive"
    assert any("what refused requests would have returned" in sentence for sentence in report.not_examined)
    (evidence,) = report.evidence
    assert (evidence.detail.redrawn, evidence.detail.lost) == (3, 0) and evidence.detail.lost_at_most > 3 / 150


def test_a_wrong_loop_that_hides_behind_refusals_is_not_said_to_be_seen(audited):
    """Its texts are off by TV 1/6; what is counted is not: no test can see it, and the limit must not say so."""
    with serving(THREE, "hides-by-503") as server:
        report = audited(server.url, "together", samples=800)
    (evidence,) = report.evidence
    assert evidence.detail.redrawn > 200 and evidence.bound > evidence.detail.lost_at_most > 1 / 3
    assert "refused with a status, which may hide an output" in report.findings["refused"]


OVER = Event()
ENDS = {
    r"\d+ answers lost, the last one: no answer within 0\.3 s":
        (lambda handler, number, body: OVER.wait(600), {"request_timeout": 0.3}),
    r"status 429, for 0\.5 s \(--patience\), after 30 of 300 outputs of 'together'":
        (lambda handler, number, body: number > 30 and handler.reply({}, 429), {"patience": 0.5, "at_once": 1}),
    r"status 429, for 0\.4 s \(--patience\)": (
        lambda handler, number, body: number > 30 and handler.reply({}, 429, Retry_After="nan"),
        {"patience": 0.4, "at_once": 1, "timeout": 10.0},
    ),
    "11 answers lost": (lambda handler, number, body: handler.reply({"hello": 1}), {"samples": 2000, "at_once": 1}),
}  # fmt: skip
"""How a run ends that cannot go on: the fault of the server, and the settings."""


@pytest.mark.parametrize("message", ENDS)
def test_a_server_that_never_answers_or_is_always_busy_ends_the_run(message, audited):
    fault, settings = ENDS[message]
    with serving(THREE, fault=fault) as server:
        report = audited(server.url, "together", **settings)
        OVER.set()
    assert report.verdict == "error" and re.match(message, report.failure["message"]), report.failure


def test_longer_texts_another_model_and_an_n_that_is_ignored_are_said_and_the_law_is_judged(audited):
    with serving(THREE, fault=always(max_tokens=7), name="other") as server:
        report = audited(server.url, "together", model="forged")
    assert report.verdict == "inconclusive" and report.server["longer_than_asked"] == 300
    assert report.findings["longer-texts"].startswith("300 outputs have more tokens")
    assert report.findings["another-model"] == "asked for 'forged', the answers name other"
    two = report.server | {"answered_as": ["version-1", "version-2"]}
    assert findings(two, None)["another-model"] == "the answers name several models: version-1, version-2"
    with serving(THREE, fault=always(n=1)) as server:
        report = audited(server.url, "choices")
    assert len(report.evidence) == 1 and report.server["choices"] == {"1": 300}
    assert "3 choices of one request: the server gives 1" in report.not_examined
    with serving(THREE, fault=lambda h, number, b: always(n=1 + number % 2)(h, number, b)) as server:
        report = audited(server.url, "choices")
    assert len(report.evidence) == 1 and "3 choices of one request: the server gives 1 or 2" in report.not_examined


def test_an_answer_with_fewer_choices_than_others_is_lost_and_equal_choices_are_still_refuted(audited):
    def shorter(handler, number, body):
        return number in (1, 150) and handler.complete(body, number, lambda texts: texts[:2])

    for loop, verdict in (("equal-choices", "refuted"), ("block", "inconclusive")):
        with serving(THREE, loop, fault=shorter, seed=3) as server:
            report = audited(server.url, "choices", samples=400)
        assert (report.verdict, report.failure, len(report.evidence)) == (verdict, None, 2), report.evidence
        assert report.server["kinds"]["choices"]["lost"] == {"2 of 3 choices": 2}
        assert report.server["choices"] == {"3": 398}
        assert all(evidence.detail.lost_at_most > 2 / 400 for evidence in report.evidence)


def test_names_and_errors_of_a_server_are_printable_in_its_report(audited, target, tmp_path):
    def fault(handler, number, body):
        return number == 40 and handler.reply({"error": "\x1b[31m\ud800"})

    file, page_file = tmp_path / "report.json", tmp_path / "report.html"
    with serving(THREE, fault=fault, name="\ud800\x1b[31mHOLDS") as server:
        words = ("--samples", 100, "--kinds", "together", "--json", file, "--html", page_file)
        done = draftproof("server", server.url, "--target", target, *words)
    assert done.status == 0, done.err
    said = json.loads(file.read_text())["server"]
    assert said["models"] == said["answered_as"] == ["??[31mHOLDS"]
    assert list(said["kinds"]["together"]["lost"]) == ["an error in place of output: ?[31m?"]
    assert "\x1b" not in done.out + file.read_text() + page_file.read_text()


def page(handler, number, body, status=200):
    return handler.reply(b"<html>hello</html>", status, kind="text/html")


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (page, "answers with a page (text/html); expected the OpenAI completions API"),
        (lambda *given: page(*given, 404), "expected the OpenAI completions API; status 404"),
        (lambda h, n, b: h.reply({}, 307, Location="http://elsewhere/v1"), "redirects to http://elsewhere/v1; give"),
        (lambda h, n, b: h.reply({"error": {"message": "top_k\n known?"}}, 400), "status 400: top_k known?"),
        (lambda h, n, b: h.reply({"error": f"who is it, {b.get('model')}?"}, 401), "status 401: who is it, forged?"),
    ],
)
def test_what_is_no_completion_is_bad_input_in_one_line(fault, message, audited):
    with serving(THREE, fault=fault) as server, pytest.raises(InputError) as caught:
        audited(server.url, "alone")
    assert message in str(caught.value) and "\n" not in str(caught.value)
    assert "http" in str(caught.value)


# ---------------------------------------------------------------- going on


def test_a_server_that_dies_ends_the_run_and_the_run_goes_on_where_it_stopped(audited, tmp_path):
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
        first = audited(server.url, "together", "seeds", patience=0.3, checkpoint=file)
        port = server.server_port
    assert first.verdict == "error" and "no connection to" in first.failure["message"]
    counted = first.server["kinds"]["together"]["counted"]
    assert 90 <= counted <= 101 and first.evidence[0].bound is None
    with serving(THREE, port=port) as server:
        second = audited(server.url, "together", "seeds", checkpoint=file)
        assert next(server.numbers) <= 600 - counted + 10
        with pytest.raises(InputError, match="was begun with samples 300, and 20 is asked for"):
            audited(server.url, "together", samples=20, checkpoint=file)
    with serving(THREE, port=port, name="version-2"), pytest.raises(InputError, match="was begun with served "):
        audited(server.url, "together", "seeds", checkpoint=file)
    lost = sum(second.server["kinds"]["together"]["lost"].values())
    assert 1 <= lost <= 16, "for each of 8 at once the one in flight, and one that the dying server's queue took"
    assert second.server["kinds"]["together"]["counted"] == 300 - lost
    assert (second.verdict, second.server["resumed"]) == ("inconclusive", 1)
    assert second.server["refused"] == first.server["refused"] != {}
    assert not second.evidence[0].detail.redrawn


def test_what_was_in_flight_when_a_run_was_killed_is_lost_and_what_was_answered_or_refused_is_known(tmp_path):
    file = str(tmp_path / "file")
    killed = Journal(file, {})
    for slot in range(3):
        killed.sent("together", slot)
    killed.refused("together", 1, "status 503", read=True)
    killed.answered("together", 2, [(0, 1)], {"models": "forged"})
    killed._store.close()  # as the operating system does
    with open(file, "ab") as half:
        half.write(b'{"kind":"together","slot":11')
    resumed = Journal(file, {})
    assert (resumed.resumed, resumed.lost["together"], resumed.left("together", 4)) == (1, {0: IN_FLIGHT}, [1, 3])
    assert (resumed.texts["together"], resumed.missed("together")) == ({2: [(0, 1)]}, {0, 1})


# ---------------------------------------------------------------- the command


def test_the_command_has_the_exit_statuses_of_the_contract_by_both_its_names(target, tmp_path):
    file, page_file = tmp_path / "report.json", tmp_path / "report.html"

    def run(url, *more, name="server"):
        return draftproof(name, url, "--samples", "200", "--kinds", "stop", "--target", target, *more)

    with serving(THREE) as server:
        done = run(server.url, "--json", file, "--html", page_file)
        assert done.status == 0, done.err
        for shown in ("stop 200 of 200; 8 at once", "nowhere: neither timings nor"):
            assert shown in done.out and shown in page_file.read_text()
        assert run(server.url, "--require-decision", name="engine").status == 4
        assert "no problem.json in it or next" in draftproof("server", server.url, "--target", tmp_path).err
        tls = draftproof("server", server.url.replace("http", "https"), "--target", target)
        assert tls.status == 2 and "did you mean http://?" in tls.err
    assert json.loads(file.read_text())["server"]["kinds"]["stop"]["counted"] == 200
    with serving(THREE, "past-the-stop") as server:
        assert run(server.url).status == run(server.url, name="engine").status == 1
    done = run(server.url, "--patience", "0.2")
    assert done.status == 3 and "Connection refused" in done.out
