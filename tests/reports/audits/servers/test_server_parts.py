"""The parts of an audit of servers: texts read back, rows under settings, what lost answers may hide, addresses."""

from collections import Counter
from dataclasses import fields
from fractions import Fraction

import numpy as np
import pytest

from draftproof.models.errors import InputError
from draftproof.models.law import Markov
from draftproof.models.problem import Problem
from draftproof.reports.audits.engines.texts import judged
from draftproof.reports.audits.servers.audit import lost_at_most
from draftproof.reports.audits.servers.completions import Completion, Lost, api_base
from draftproof.reports.audits.servers.requests import KINDS, KindRequests
from draftproof.reports.audits.servers.settings import (
    GridSettings,
    ReferenceSettings,
    ServerSettings,
    SweepSettings,
    sampled_rows,
)
from draftproof.reports.audits.servers.words import Unreadable, Words
from draftproof.reports.commands import server
from draftproof.stattests.rounding import deviation
from draftproof.tests.reports.audits.servers.three import THREE

pytestmark = [pytest.mark.needs("httpx2"), pytest.mark.exact]


def test_texts_of_words_and_of_characters_are_read_back_exactly():
    words, characters = Words(tuple(map(str, range(12))), " "), Words(tuple("0123"), "")
    assert words.tokens(" 0 11 1</s>") == [0, 11, 1, 13] and words.text((0, 11, 1)) == "0 11 1"
    assert characters.tokens("0132") == characters.tokens("0 1 32") == [0, 1, 3, 2] and characters.text(()) == "<s>"
    for wrong in ("12", "0 \ufffd", "x"):
        with pytest.raises(Unreadable):
            words.tokens(wrong)
    with pytest.raises(Lost, match="an output of 5 tokens, but usage says 6"):
        requests = KindRequests(KINDS["alone"], THREE, Words(tuple("012"), " "), 0, {})
        requests.texts(0, Completion(["0 0 0 0 0"], ["length"], usage=6))


@pytest.mark.parametrize("vocabulary", [2, 10, 11, 12, 101])
def test_the_word_that_stops_texts_is_part_of_no_other_text(vocabulary):
    row = [Fraction(1, 2 * vocabulary)] * vocabulary
    row[1] += Fraction(1, 2)
    law = Markov(tuple(row), (tuple(row),) * vocabulary)
    problem = Problem(vocabulary, 1, law, law)
    words = Words(tuple(map(str, range(vocabulary))), " ")
    (stop,) = KindRequests(KINDS["stop"], problem, words, 0, {}).body(0)["stop"]
    assert (stop == "1") == (vocabulary <= 10)
    for a in range(vocabulary):
        text = words.text((a, 0))
        assert (stop in text) == (stop in text.split())


def test_rows_under_temperature_top_k_and_top_p():
    law = Markov((Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)), ())
    assert sampled_rows(law) is law
    assert sampled_rows(law, temperature=0).start == (1, 0, 0)
    assert sampled_rows(law, top_k=2).start == (Fraction(5, 8), Fraction(3, 8), 0)
    assert sampled_rows(law, top_p=0.7) == sampled_rows(law, top_k=2)
    hot = sampled_rows(law, temperature=2.0).start
    assert sum(hot) == 1 and float(hot[0] / hot[2]) == pytest.approx((5 / 2) ** 0.5)
    ties = Markov((Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)), ())
    for rows, wrong, message in (
        (ties, {"top_k": 2}, "as likely"),
        (ties, {"top_p": 0.5}, "rounding"),
        (law, {"top_p": 0.5005}, "rounding decides"),
    ):
        with pytest.raises(InputError, match=message):
            sampled_rows(rows, **wrong)
    with pytest.raises(InputError, match="give one of them"):
        sampled_rows(law, top_p=0.7, temperature=2.0)


@pytest.mark.parametrize("share", [0.02, 0.08])
def test_texts_that_were_lost_for_what_they_say_do_not_refute_and_the_limit_has_room_for_them(share):
    rng, n = np.random.default_rng(1), 4000
    start = [float(p) for p in THREE.target.start]
    texts = []
    for _ in range(n):
        text = [int(rng.choice(3, p=start))]
        for _ in range(4):
            text.append(int(rng.choice(3, p=[float(p) for p in THREE.target.after[text[-1]]])))
        texts.append(tuple(text))
    chosen = [text for text in texts if text[0] == 2][: int(share * n)]
    seen = Counter(texts) - Counter(chosen)
    bound = lost_at_most(len(chosen), n, 1e-7)
    assert share < bound < share + 0.05
    if share > 0.05:
        assert judged(THREE, seen, 1e-3).refuted, "what is lost matters"
    evidence = judged(THREE, seen, 1e-3, lost=bound)
    assert not evidence.refuted and evidence.bound > bound
    assert deviation(Counter({0: 900, 1: 100}), {0: 0.5, 1: 0.5}, bound, 1e-6, 1e-3).refuted


def test_addresses():
    assert api_base("http://127.0.0.1:80") == api_base("http://127.0.0.1:80/v1/completions") == "http://127.0.0.1:80/v1"
    assert api_base("https://host/v3/") == "https://host/v3"
    for wrong in ("http://", "http://h:99999", "ftp://h", "http://h/v1?x=1"):
        with pytest.raises(InputError, match="expected http://HOST:PORT"):
            api_base(wrong)


def test_the_command_names_the_kinds_of_requests_and_each_audit_says_which_options_it_takes():
    assert tuple(KINDS) == server.KINDS
    options = {parameter.name for parameter in server.command.params}
    taken = {
        field.name
        for kind in (ServerSettings, SweepSettings, GridSettings, ReferenceSettings)
        for field in fields(kind)
    }
    reports = {
        "target",
        "reference",
        "grid",
        "sweep",
        "url",
        "settings",
        "seed",
        "json_file",
        "html_file",
        "require_decision",
    }
    assert options - reports - {"junit", "verbose", "scope"} == taken - {"fields", "key"}
