"""Requests chosen for the settings that are asked: each known mistake is told apart, or named as not examined."""

import random

import pytest

from draftproof.corpus.site.cell_states import states
from draftproof.models.decoders.mistakes import in_order, mistakes_of
from draftproof.models.decoders.reference import Decoder
from draftproof.models.decoding_settings import (
    DRAFT,
    LOOKUP,
    ORDERS,
    PLAIN,
    NoTextLaw,
    one_text_law,
)
from draftproof.proofs.laws.known_decoders import law_of_decoder
from draftproof.proofs.laws.text_laws import EPSILON, MOST_ROUNDINGS
from draftproof.proofs.laws.text_masses import distance
from draftproof.reports.audits.engines.audit import audit_engine
from draftproof.reports.audits.engines.cells import TextCell, decoder_problem, kept_problem
from draftproof.reports.audits.engines.telling import (
    TIED,
    TIED_DRAFTS,
    TOLD,
    mistakes_by_request,
    tied_pair,
    tied_requests,
    told_apart,
    told_by,
)
from draftproof.reports.pages.summary import summaries
from draftproof.tests.models.test_mistakes import VALUES
from draftproof.verifiers.adapters.registry import ENGINES, Engine

REFERENCE = ENGINES["draftproof-reference"]
ORDER = ORDERS["draftproof-reference"]


def asked(settings, sampling=DRAFT, tokens=3):
    return TextCell("asked", settings, tokens, sampling, decoder_problem())


def shows(name, cells):
    """The largest distance of a wrong law from the right one, of all requests that have both."""
    largest = 0.0
    for cell in cells:
        wrong = mistakes_of(cell.settings, ORDER, cell.sampling)[name]
        try:
            laws = [law_of_decoder(kind, cell.problem, cell.settings, cell.tokens, cell.sampling)
                    for kind in (in_order(Decoder, ORDER), wrong)]  # fmt: skip
        except (NoTextLaw, ValueError):
            continue
        largest = max(largest, distance(*laws))
    return largest


def drawn_settings(seed):
    drawing = random.Random(seed)
    names = drawing.sample([*VALUES], drawing.choice((1, 2, 2, 3)))
    return {name: drawing.choice(VALUES[name]) for name in names if name not in ("allowed", "min_tokens")}


QUICK_SEEDS = (0, 1, 2, 9)
"""Of 9, other settings leave nothing of the last of the tied."""


@pytest.mark.parametrize(
    "seed", [k if k in QUICK_SEEDS else pytest.param(k, marks=pytest.mark.long) for k in range(100)]
)
def test_each_mistake_about_drawn_settings_is_told_apart_or_named(seed):
    settings = drawn_settings(seed)
    chosen = told_apart(REFERENCE, [asked(settings)], own=False)
    for name in mistakes_of(settings, ORDER):
        assert (shows(name, chosen) >= TOLD) is (name not in chosen[0].untold), name
    assert MOST_ROUNDINGS * EPSILON * 3 < TOLD / 40, "what rounding excuses is far less"


@pytest.mark.parametrize(
    "settings, untold",
    [
        ({"top_k": 2, "top_p": 0.6}, 4), ({"top_k": 2, "top_p": 0.9}, 7), ({"min_p": 0.1}, 4),
        ({"repetition_penalty": 1.2}, 1), ({"eos": [1], "min_tokens": 2}, 3), ({"temperature": 0.7, "top_k": 50}, 4),
    ],
)  # fmt: skip
def test_what_the_usual_pair_cannot_tell_others_do(settings, untold):
    cell = asked(settings)
    assert len({*mistakes_of(settings, ORDER)} - told_by(cell, ORDER)) >= untold
    first, *others = told_apart(REFERENCE, [cell], own=False)
    assert (first, first.untold) == (cell, ()) and 1 <= len(others) <= 4


def test_a_cut_within_rounding_of_the_usual_pair_is_asked_of_another_one():
    first, tied, drafts = told_apart(REFERENCE, [asked({"top_p": 0.75})], own=False)
    assert first.problem.name.startswith("drawn-") and not first.untold
    assert tied.problem.name.startswith("tied-V3") and drafts.problem.name.startswith("tied-drafts-")


@pytest.mark.parametrize("order", ["transformers", "mlx-lm"])
@pytest.mark.parametrize(
    "settings",
    [{"top_k": 1}, {"top_k": 50}, {"top_p": 0.3}, {"top_p": 0.99}, {"top_k": 2, "top_p": 0.6},
     {"temperature": 0.5, "top_p": 0.75, "repetition_penalty": 1.3},
     {"temperature": 0}, {"temperature": 0, "top_k": 2}],
)  # fmt: skip
def test_a_cut_off_is_also_asked_where_it_cuts_between_tokens_that_are_as_likely(settings, order):
    of_target, *of_drafts = tied_requests(asked(settings), ORDERS[order])
    if not of_drafts and settings.get("temperature") != 0:
        assert TIED_DRAFTS in told_apart(Engine("any", "", "", order=order), [asked(settings)], own=False)[0].untold
    for tied, cut, clear in ((of_target, "target", "draft"), *((one, "draft", "target") for one in of_drafts)):
        ties = []
        for model, doubts in ((cut, ties), (clear, None)):
            assert one_text_law(getattr(tied.problem, model), tied.tokens, tied.settings, ORDERS[order], doubts)
        assert ties and all(ties), "no cut is within rounding: right engines round in their own ways"


@pytest.mark.parametrize("settings", [{"min_p": 0.4}, {"top_p": 1.0}, {"eos": [1]}])
def test_settings_that_do_not_rank_tokens_are_asked_of_no_tie(settings):
    assert tied_requests(asked(settings), ORDER) == []


def test_requests_stay_as_they_are_without_speculation_and_on_pairs_of_the_user():
    for cell in (asked({"top_k": 2}, PLAIN), asked({}), asked({"top_p": 1.0})):
        assert told_apart(REFERENCE, [cell], own=False) == [cell]
    own = asked({"top_k": 2, "top_p": 0.9})._replace(problem=kept_problem("reversed-V4-gamma3"))
    (same,) = told_apart(REFERENCE, [own], own=True)
    assert same._replace(untold=()) == own and "top_p before top_k" in same.untold and TIED in same.untold
    (tied,) = told_apart(REFERENCE, tied_requests(asked({"top_k": 2}), ORDER)[:1], own=True)
    assert TIED not in tied.untold


@pytest.mark.parametrize("settings", [{"top_k": 2, "n": 2}, {"temperature": 0, "n": 2}])
def test_a_batch_is_asked_of_no_tie_and_that_is_named(settings):
    (cell,) = told_apart(REFERENCE, [asked(settings)], own=False)
    assert cell.untold == (TIED,)
    report = audit_engine(REFERENCE, levels=("exact",), settings=settings, tokens=2)
    assert report.verdict == "holds" and any(TIED in sentence for sentence in report.not_examined)


def test_a_driven_engine_is_asked_once_on_the_pair_that_tells_most():
    driven = REFERENCE._replace(driver="some.driver") if hasattr(REFERENCE, "_replace") else None
    driven = driven or Engine("driven", "", "", driver="some.driver", order="draftproof-reference")
    settings = {"top_k": 2, "top_p": 0.9}
    (only,) = told_apart(driven, [asked(settings)], own=False)
    assert TIED in only.untold
    assert len(only.untold) < len({*mistakes_of(settings, ORDER)} - told_by(asked(settings), ORDER))


def test_drafts_that_are_looked_up_are_asked_too():
    looked_up = asked({"top_k": 2, "top_p": 0.6, "prompt": [0, 1, 2, 0]}, LOOKUP)
    assert len(told_apart(REFERENCE, [looked_up], own=False)) > 1


def planted(name, **facts):
    sample = f"draftproof.tests.subjects.mistakes_about_settings:{name}"
    return Engine(name, "planted", sample, follows=True, forged=False, **facts)


@pytest.mark.engine
@pytest.mark.parametrize(
    "name, settings, said",
    [
        ("order_of_cuts", {"top_k": 2, "top_p": 0.9}, "top_p before top_k"),
        pytest.param(
            "order_of_the_bonus",
            {"top_k": 2, "top_p": 0.9},
            "top_p before top_k in the bonus row",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "without_the_prompt", {"repetition_penalty": 1.2}, "prompt not in the history", marks=pytest.mark.long
        ),
    ],
)
def test_a_mistake_that_the_usual_pair_clears_is_refuted_and_named(name, settings, said):
    """Each of these was cleared when every setting was asked on one pair."""
    has = (*settings, "prompt")
    engine = planted(name, settings=has)
    before = audit_engine(engine, [decoder_problem()], levels=("exact",), settings=settings, tokens=2)
    assert before.verdict == "holds" and said in before.evidence[0].detail.untold
    none = ("mistakes that change no distribution asked for: ", "what top_p must do: ")
    assert any(one.startswith(none) for one in before.not_examined)
    report = audit_engine(engine, levels=("exact",), settings=settings, tokens=2)
    assert report.verdict == "refuted"
    (alike,) = report.diagnosis
    assert alike["mutant"] == "X16" or said in alike["title"].split(" or "), "X16: penalties without the prompt"


BATCHES = [
    {"top_k": 2, "together": [{"top_p": 0.6}]},
    {"together": [{"temperature": 0}, {"eos": [1]}]},
    {"prompt": [1], "frequency_penalty": 1.0, "together": [{"prompt": [0]}, {"prompt": [0, 1], "stop": [[2]]}]},
]
"""Requests of one call: other cut-offs, greedy beside sampled, other lengths and ends."""


@pytest.mark.parametrize("settings", BATCHES, ids=str)
def test_each_mistake_about_a_request_of_a_batch_is_told_apart_or_named(settings):
    chosen = told_apart(REFERENCE, [asked(settings)], own=False)
    assert len(chosen) <= 2 and all(cell.tokens == 2 for cell in chosen if cell.problem != decoder_problem())
    names = set()
    for named, _, mistakes in mistakes_by_request(chosen[0], ORDER):
        for name in mistakes:
            alone = [
                (one, found[name])
                for cell in chosen
                for which, one, found in mistakes_by_request(cell, ORDER)
                if which == named and law(Decoder, one)
            ]
            apart = any(distance(law(Decoder, one), law(kind, one)) >= TOLD for one, kind in alone)
            assert apart is (named + name not in chosen[0].untold), named + name
            names.add(named + name)
    assert {f"request {k}: {what}" for k, what in SAID[str(settings)]} <= names


SAID = dict(zip(map(str, BATCHES), (
    [(1, "top_p of request 2 in the bonus row"), (2, "top_p lost"), (2, "top_k of request 1")],
    [(1, "temperature of request 2"), (3, "rejected eos ends the output"), (2, "eos of request 3")],
    [(1, "prompt of request 3"), (2, "frequency_penalty of request 1"), (1, "stop of request 3")],
), strict=True))  # fmt: skip


def law(kind, cell):
    """The law of a known decoder; None where engines may differ."""
    try:
        return law_of_decoder(in_order(kind, ORDER), cell.problem, cell.settings, cell.tokens, cell.sampling)
    except NoTextLaw:
        return None


@pytest.mark.engine
@pytest.mark.parametrize(
    "name, verdict", [pytest.param("cut_by_the_first", "refuted", marks=pytest.mark.long), ("reference", "holds")]
)
def test_a_mistake_about_a_batch_that_the_usual_pair_clears_is_refuted(name, verdict):
    engine = planted(name, settings=("top_k", "top_p", "together"))
    before = audit_engine(engine, [decoder_problem()], levels=("exact",), settings=BATCHES[0], tokens=2)
    assert before.verdict == "holds"
    assert "request 2: top_k of request 1 in the bonus row" in before.evidence[0].detail.untold
    assert audit_engine(engine, levels=("exact",), settings=BATCHES[0], tokens=2).verdict == verdict


ENDS = {"eos": [2], "stop": [[1]]}


@pytest.mark.engine
def test_a_stop_behind_an_end_token_of_a_run_is_told_apart_also_where_the_likeliest_tokens_are_drafted():
    engine = planted("stops_first", settings=(*ENDS,))
    before = audit_engine(engine, [decoder_problem()], levels=("exact",), settings=ENDS)
    name = "stop behind eos in a block ends the output, behind likeliest drafts"
    assert before.verdict == "holds" and name in before.evidence[0].detail.untold, "the usual pair drafts no end"
    report = audit_engine(engine, levels=("exact",), settings=ENDS)
    assert report.verdict == "refuted" and report.diagnosis[0]["title"] == name
    assert audit_engine(planted("likeliest_drafts"), levels=("exact",), settings=ENDS).verdict == "holds"


@pytest.mark.engine
@pytest.mark.parametrize(
    "name, settings",
    [
        pytest.param("exactly_k", {"top_k": 2}, marks=pytest.mark.long),
        ("last_of_the_tied", {"top_p": 0.9}),
        ("last_of_the_tied", {"temperature": 0}),
    ],
)
def test_a_decoder_that_breaks_ties_in_another_way_with_a_draft_is_refuted_by_the_tie_alone(name, settings):
    engine = planted(name, settings=(*settings,))
    report = audit_engine(engine, levels=("exact",), settings=settings, tokens=2)
    assert report.verdict == "refuted"
    (refuted,) = [e for e in report.evidence if e.refuted]
    assert refuted.claim == "same-as-plain" and refuted.problem.startswith("tied-")
    assert {e.problem for e in report.evidence if e.own_alone} == {refuted.problem}
    pair = tied_pair(int(refuted.problem.rpartition("-")[2]))
    own = audit_engine(engine, [pair], levels=("exact",), settings=settings, tokens=2)
    assert own.verdict == "refuted" and not own.diagnosis


@pytest.mark.engine
@pytest.mark.parametrize("name, verdict", [("bonus_of_the_last", "refuted"), ("bonus_of_the_first", "refuted"),
                                           ("the_last_always", "holds")])  # fmt: skip
def test_at_temperature_0_a_tie_is_cut_in_bonus_tokens_too_whichever_of_the_tied_an_engine_takes(name, verdict):
    report = audit_engine(planted(name), levels=("exact",), settings={"temperature": 0}, tokens=3)
    assert report.verdict == verdict


@pytest.mark.engine
@pytest.mark.parametrize("settings", [{"top_k": 2}, {"top_p": 0.9}], ids=str)
def test_a_decoder_that_drafts_another_one_of_the_tied_than_it_verifies_by_is_refuted_on_a_tie_of_the_draft(settings):
    engine = planted("drafts_another_of_the_tied", settings=(*settings,))
    report = audit_engine(engine, levels=("exact",), settings=settings, tokens=2)
    assert report.verdict == "refuted"
    refuted = {(e.claim, e.problem.startswith("tied-drafts-")) for e in report.evidence if e.refuted}
    assert {("lossless", True), ("same-as-plain", True)} <= refuted and {tied for _, tied in refuted} == {True}


@pytest.mark.engine
@pytest.mark.parametrize("settings", [{"top_k": 1}, {"temperature": 0}], ids=str)
def test_a_token_below_the_cut_of_a_tie_is_refuted_where_it_comes_without_a_draft_too(settings):
    sample = "draftproof.tests.subjects.wrong_without_drafts_too:below_ties"
    engine = Engine("below", "planted", sample, follows=True, forged=False, settings=(*settings,))
    report = audit_engine(engine, levels=("exact",), settings=settings, tokens=2)
    assert report.verdict == "refuted"
    on_tie = {e.claim: str(e.verdict) for e in report.evidence if e.problem.startswith("tied-V3")}
    assert on_tie == {"lossless": "refuted", "same-as-plain": "holds", "support": "refuted"}
    assert not any(e.refuted for e in report.evidence if not e.problem.startswith("tied-V3"))


@pytest.mark.engine
def test_a_right_decoder_holds_on_ties_and_the_report_says_what_it_is_compared_with():
    report = audit_engine(REFERENCE, levels=("exact",), settings={"top_k": 2}, tokens=2)
    said = "; 1 request by same-as-plain alone"
    assert report.verdict == "holds" and report.reading.endswith(said)
    claims = {(e.claim, str(e.verdict)) for e in report.evidence if e.problem.startswith("tied-V3")}
    assert claims == {("lossless", "not-claimed"), ("support", "holds"), ("same-as-plain", "holds")}
    not_claimed = [(row.claim, row.problems) for row in summaries(report) if row.verdict == "not-claimed"]
    assert not_claimed == [("lossless", "1 of 1")]
    why = "top_k 2 cuts between tokens that are as likely, where engines may differ: same-as-plain alone is judged"
    assert any(one.startswith(f"which tokens a cut-off must keep: {why}") for one in report.not_examined)
    ((_, _, state),) = states(report.evidence)
    assert state.word == "holds"
    alone = audit_engine(REFERENCE, [tied_pair(5)], levels=("exact",), settings={"top_k": 2}, tokens=2)
    assert alone.verdict == "inconclusive" and alone.reading.endswith("but by same-as-plain alone")
    plain = audit_engine(REFERENCE, [tied_pair(5)], levels=("exact",), settings={"top_k": 2}, plain=True)
    assert plain.verdict == "inconclusive", "without speculation there is nothing to compare it with"


@pytest.mark.engine
@pytest.mark.parametrize(
    ("settings", "verdict"),
    [({"temperature": 0.5, "top_p": 0.85}, "refuted"), ({"top_p": 0.99995}, "inconclusive")],
)
def test_a_decoder_that_is_wrong_in_itself_is_not_cleared_where_engines_may_differ(settings, verdict):
    """Another order of the settings has a cut within rounding, and no law, so that nothing speaks for it."""
    report = audit_engine(planted("uniform"), [decoder_problem()], levels=("exact",), settings=settings, tokens=2)
    assert report.verdict == verdict and "order" not in report.findings
    assert verdict == "refuted" or report.reading.endswith("but by same-as-plain alone")


@pytest.mark.engine
def test_logprobs_are_not_claimed_on_a_tie():
    report = audit_engine(REFERENCE, levels=("exact",), settings={"top_k": 2, "logprobs": True}, tokens=2)
    assert report.verdict == "holds"
    assert {str(e.verdict) for e in report.evidence if e.claim == "logprobs"} == {"holds", "not-claimed"}


@pytest.mark.engine
@pytest.mark.parametrize(
    "name, verdict", [pytest.param("of_mlx", "holds", marks=pytest.mark.long), ("of_mlx_and_wrong", "refuted")]
)
def test_the_order_of_an_unknown_engine_is_the_one_it_has_without_speculation(name, verdict):
    report = audit_engine(planted(name), levels=("exact",), settings={"top_k": 2, "top_p": 0.9}, tokens=2)
    assert report.verdict == verdict
    assert report.findings["order"] == "without speculation settings are applied in the order top_p, top_k"


@pytest.mark.engine
def test_a_value_that_cuts_nothing_is_asked_as_another_one_and_that_is_said():
    report = audit_engine(REFERENCE, levels=("exact",), settings={"top_k": 50}, tokens=2)
    assert report.verdict == "holds" and {e.detail.settings["top_k"] for e in report.evidence} == {50, 2}
    assert "top_k 50, which changes no distribution here: 2 was asked in its place" in report.not_examined
