"""The grid of a server: a right one passes with its limits, planted bugs are refuted, by a process that serves them."""

import json
import re
import shlex

import numpy as np
import pytest

from draftproof.corpus.site.cell_states import states
from draftproof.models.decoding_settings import ORDERS
from draftproof.reports.audits.engines.cells import decoder_problem
from draftproof.reports.audits.servers.grid_audit import audit_grid
from draftproof.reports.audits.servers.journal import IN_FLIGHT
from draftproof.reports.audits.servers.next_tokens import NextRows, NextTokens, fit
from draftproof.reports.audits.servers.reported import Reported, reported
from draftproof.reports.audits.servers.settings import GridSettings
from draftproof.reports.audits.servers.words import Words
from draftproof.reports.audits.settings_grid import SERVED as GRID
from draftproof.reports.audits.settings_grid import SERVED_TOKENS as TOKENS
from draftproof.tests.reports.audits.servers.three import THREE
from draftproof.tests.reports.commands.in_process import draftproof
from draftproof.tests.reports.report_schema import validate
from draftproof.tests.subjects.completions_server import serving

pytestmark = pytest.mark.needs("httpx2", "jsonschema")

ORDER = ORDERS["draftproof-reference"]


@pytest.fixture(scope="module")
def served(process_of):
    with process_of("settings_server.py") as server:
        yield server


def asked(served, loop, *rows, samples=40, plain="plain", **options):
    url, target = served
    without = plain and f"{url}/{plain}/v1"
    settings = GridSettings(
        samples=samples, patience=600.0, request_timeout=600.0, without=without, rows=rows, **options
    )
    report = audit_grid(f"{url}/{loop}/v1", target, settings)
    validate(report.as_json())
    assert report.failure is None, report.failure
    return report


def of(report, claim):
    return {(e.detail.setting, e.detail.sampling): e for e in report.evidence if e.claim == claim}


# ---------------------------------------------------------------- servers


SOME = ("none", "top-p at temperature 0.5, temperature first", "stop across tokens", "n = 2", "logprobs",
        "other settings beside", "logprobs of the settings", "logprobs of the prompt")  # fmt: skip


@pytest.mark.parametrize("rows", [SOME, pytest.param((), marks=pytest.mark.long)])
def test_a_right_server_passes_with_its_limits_and_its_logprobs_are_compared_one_by_one(rows, served):
    report = asked(served, "right", *rows, samples=12)
    assert report.verdict == "inconclusive", [e for e in report.evidence if e.refuted]
    rows = {row.name for row in GRID if not rows or row.name in rows}
    rows -= {"top-p at temperature 0.5, temperature first", "streamed"}
    texts, same, logprobs = (of(report, claim) for claim in ("lossless", "same-as-plain", "logprobs"))
    assert rows <= {row for row, _ in texts} and {row for row, _ in same} == {row for row, _ in texts}
    full = texts["none", "speculative"]
    assert full.detail.tokens == 12 * TOKENS, "every position of every text"
    assert set(full.detail.bounds) == {"context", "context and the token before"}
    assert full.bound == max(full.detail.bounds.values()) < 0.3
    assert logprobs["logprobs", "speculative"].detail.logprobs == 12 * TOKENS
    assert all(e.holds and e.total_variation < 1e-9 for e in logprobs.values())
    assert any("its order cannot be asked for" in one for one in report.not_examined)
    found = {(row, mode): state for row, mode, state in states(report.evidence)}
    assert found["none", "speculative"].word == "sampled" and "TV" in found["none", "speculative"].why


PLANTED = [
    ("X03", "logit bias", "lossless", 60),
    ("X04", "banned token", "lossless", 20),
    ("X32", "other settings beside", "lossless", 60),
    ("X37", "stop across tokens", "lossless", 60),
    ("X22", "logprobs", "logprobs", 10),
    ("own-logprob", "logprobs", "logprobs", 10),
    ("own-logprob-of-chats", "logprobs", "logprobs", 10),
    ("prompt-shifted", "logprobs of the prompt", "logprobs", 10),
]


@pytest.mark.parametrize(
    ("loop", "row", "claim", "samples"),
    [*PLANTED, pytest.param("X01", "temperature 0.5", "lossless", 2000, marks=pytest.mark.long)],
)
def test_a_planted_bug_is_refuted_by_its_row_with_a_witness_and_the_command_that_shows_it(
    loop, row, claim, samples, served
):
    report = asked(served, loop, row, samples=samples, plain=None)
    assert report.verdict == "refuted"
    refuted = of(report, claim)[row, "speculative"]
    assert refuted.refuted and refuted.witness.expected != refuted.witness.observed
    assert row in shlex.split(refuted.replay)


def test_the_same_server_without_speculation_is_judged_too_and_what_both_do_is_no_refutation_of_speculation(served):
    report = asked(served, "right", "temperature 0.5", plain="wears-off", samples=60)
    assert not of(report, "lossless")["temperature 0.5", "speculative"].refuted
    assert of(report, "lossless")["temperature 0.5", "plain"].refuted
    assert of(report, "same-as-plain")["temperature 0.5", "speculative"].refuted


def test_a_row_that_the_server_refuses_or_reports_nothing_of_has_its_reason_and_the_others_stand(served):
    report = asked(served, "no-typical", "typical", "none", samples=10)
    refused = of(report, "lossless")["typical", "speculative"]
    assert refused.verdict == "no-evidence" and "typical_p is not known" in refused.detail.reason
    assert of(report, "lossless")["none", "speculative"].bound < 1
    report = asked(served, "hidden", "logprobs", samples=10)
    assert of(report, "logprobs")["logprobs", "speculative"].detail.reason == "it reports none"


def said_of(tokens, **changes):
    return {"tokens": tokens, "token_logprobs": [-1.0] * len(tokens), **changes}


MALFORMED = {
    "an entry of logprobs that is no object": [
        lambda tokens: said_of(tokens, top_logprobs=[[1]] * len(tokens)),
        lambda tokens: {"content": [3]},
        lambda tokens: {"content": [{"token": "0", "logprob": -1.0, "top_logprobs": ["0"]}]},
    ],
    "most probable tokens that are no list": [
        lambda tokens: {"content": [{"token": "0", "logprob": -1.0, "top_logprobs": 3}]},
    ],
    "a logprob that is no number: ": [
        lambda tokens: {"content": [{"token": "0", "logprob": None}]},
        lambda tokens: said_of(tokens, token_logprobs=["-1.0"] * len(tokens)),
        lambda tokens: said_of(tokens, top_logprobs=[{"0": None}] * len(tokens)),
    ],
    "an answer that cannot be read (int too large to convert to float)": [
        lambda tokens: said_of(tokens, token_logprobs=[10**400] * len(tokens)),
    ],
}
"""Logprobs that cannot be read, by the reason that a lost answer is counted with."""


@pytest.mark.parametrize("always", [False, True])
def test_an_answer_whose_logprobs_cannot_be_read_is_lost_with_its_reason(always, target):
    forms = [form for forms in MALFORMED.values() for form in forms]

    def malformed(handler, number, body):
        if not always and not 10 <= number < 10 + len(forms):
            return False
        ((tokens, ended),) = handler.texts(body, number)
        said = forms[number % len(forms) if always else number - 10](tokens)
        choice = {"index": 0, "text": " ".join(tokens), "finish_reason": ended, "logprobs": said}
        return handler.reply({"model": "forged", "choices": [choice]})

    with serving(THREE, fault=malformed) as server:
        report = audit_grid(server.url, target, GridSettings(samples=100, rows=("logprobs",)))
    lost = {why: times for why, times in report.server["kinds"]["logprobs"]["lost"].items() if why != IN_FLIGHT}
    assert all(any(why.startswith(known) for known in MALFORMED) for why in lost), lost
    if always:
        assert report.failure["message"].startswith("11 answers lost, the last one: "), report.failure
        return
    assert report.failure is None and sum(lost.values()) == len(forms), report.failure
    assert all(any(why.startswith(known) for why in lost) for known in MALFORMED), lost


def test_it_goes_on_from_its_checkpoint_and_bad_words_are_one_line(served, tmp_path):
    url, target = served
    words = ["server", f"{url}/right/v1", "--target", target, "--samples", 8, "--row", "none", "--row", "logprobs"]
    file = tmp_path / "kept"
    kept = []
    for name in "12":
        done = draftproof(*words, "--checkpoint", file, "--json", tmp_path / name)
        assert done.status == 0, done.err
        kept.append(json.loads((tmp_path / name).read_text()))
    assert kept[0]["evidence"] == kept[1]["evidence"], "no text was asked for again"
    assert [report["server"]["resumed"] for report in kept] == [0, 1]
    for extra, said in (
        (["--row", "nonsense"], "'nonsense' is no row of the grid"),
        (["--words", "klingon"], "--words klingon: expected one of openai"),
        (["--kinds", "alone"], "--kinds does not go with --grid"),
    ):
        assert said in draftproof(*words, *extra).err


# ---------------------------------------------------------------- next tokens


def written(settings, texts, seed, tokens=TOKENS, model=None):
    made, rng = NextTokens(), np.random.default_rng(seed)
    rows = NextRows(model or decoder_problem().target, settings, tokens, ORDER)
    for _ in range(texts):
        made.write(rows, (), rng)
    return made


class Off:
    """The target with its row after 1 moved by a total variation."""

    def __init__(self, by):
        self.by, self.target = by, decoder_problem().target

    def row(self, prefix):
        row = [float(p) for p in self.target.row(prefix)]
        return [row[0] + self.by, row[1], row[2] - self.by] if prefix[-1:] == (1,) else row


def judged(model, settings=None, texts=150, seed=5):
    """Texts of another model against the target's rows."""
    seen = NextTokens()
    right = NextRows(decoder_problem().target, settings or {}, TOKENS, ORDER)
    wrong, rng = NextRows(model, settings or {}, TOKENS, ORDER), np.random.default_rng(seed)
    for _ in range(texts):
        made = NextTokens()
        made.write(wrong, (), rng)
        seen.add(right, (), tuple(made.tokens))
    return fit(seen, written(settings or {}, 60, seed + 1), texts, 1e-8, 0)


@pytest.mark.parametrize("settings", [{}, {"frequency_penalty": 1.0}, {"temperature": 0}])
def test_texts_of_the_law_are_not_refuted(settings):
    assert not judged(decoder_problem().target, settings).refuted


def test_one_row_that_is_off_is_refuted_and_shown():
    found = judged(Off(0.2))
    assert found.refuted and found.apart > 0
    assert re.match(r"[02] after 1", found.entries[0].sequence)


def test_what_cannot_be_is_found_however_rare():
    rows = NextRows(decoder_problem().target, {"top_k": 2, "stop": [[0, 1]]}, 6, ORDER)
    strange = [((1,), "ruled out by top-k"), ((0, 1, 2), "goes on behind its stop"), ((0, 2), "ends early"),
               ((0, 2, 0, 2, 0, 2, 0), "goes on behind its cap"), ((), "is empty"), ((7,), "no token")]  # fmt: skip
    for text, why in strange:
        seen = NextTokens()
        seen.add(rows, (), text)
        assert sum(seen.impossible.values()) == 1, why
    seen = NextTokens()
    seen.add(rows, (), (0, 2, 0, 1))
    assert not seen.impossible


# ---------------------------------------------------------------- logprobs

WORDS = Words(("0", "1", "2"), " ")


def test_logprobs_are_read_in_both_forms_and_anything_else_is_none():
    chat = {"content": [{"id": 2, "token": "2", "logprob": -1.5, "top_logprobs": [{"token": "0", "logprob": -0.5}]}]}
    assert reported(chat, WORDS.token) == [Reported(2, -1.5, {0: -0.5})]
    probable = {"content": [{"token": "2", "prob": 1.0, "top_probs": []}]}
    assert reported(probable, WORDS.token) == [Reported(2, 0.0, {})]
    assert reported({"content": [{"token": "2"}]}, WORDS.token) == [Reported(2, None, {})]
    old = {"tokens": ["0", " 1"], "token_logprobs": [None, -2.0], "top_logprobs": [None, {"2": -0.1}]}
    assert reported(old, WORDS.token) == [Reported(0, None, {}), Reported(1, -2.0, {2: -0.1})]
    assert [reported(said, WORDS.token) for said in (None, 3, {}, {"tokens": ["0"], "token_logprobs": []})] == [
        None
    ] * 4
