"""Decoders whose random numbers are handed in: the law of their texts, what is refuted, what has no law and why."""

import sys
from pathlib import Path

import pytest

from draftproof.models.battery import drawn_markov
from draftproof.models.decoding_settings import ORDERS, text_law, text_laws
from draftproof.models.forge import forge
from draftproof.models.law import Markov
from draftproof.proofs.laws.text_laws import text_law_from
from draftproof.proofs.laws.text_masses import distance
from draftproof_engines import decoders
from draftproof_engines.decoders import DecoderProcesses
from draftproof_engines.decoders.eagle_head import save_eagle_head

SCRIPT = Path(__file__).parents[2] / "subjects" / "driven_texts.py"
TARGET = Markov((0.55, 0.15, 0.3), ((0.15, 0.65, 0.2), (0.27, 0.11, 0.62), (0.45, 0.34, 0.21)))


class Toy:
    """The engine's own side of the toy."""

    def __init__(self, way):
        self.way = way

    def command(self):
        return [sys.executable, str(SCRIPT)]

    def sources(self):
        return [str(SCRIPT)]

    def loading(self, target, draft, gamma, settings):
        return {"method": self.way}

    def request(self, start, tokens, settings):
        return {"prompt": [start], "settings": {"max_tokens": tokens, **settings}}


def known(way, seconds=60.0, **settings):
    processes = DecoderProcesses(Toy(way))
    try:
        return text_law_from(processes.answer(Path("t"), Path("d"), 3, 3, 1, settings, seconds))
    finally:
        processes.end()


def off(found, **settings):
    return distance(found.masses, text_law(TARGET, 3, settings, ORDERS["vllm"]))


@pytest.mark.parametrize("way", ["plain", "right", "greedy draft"])
def test_right_decoders_have_the_law_of_the_settings_and_say_what_may_have_been_missed(way):
    found = known(way, temperature=0.5)
    assert found.exactness == "driven" and off(found, temperature=0.5) < 1e-6 > found.resolution
    assert found.confirmations == decoders.CONFIRMATIONS and 0 < found.missed < 0.005


@pytest.mark.parametrize(
    ("way", "least"),
    [("bonus without temperature", 0.05), ("residual without max", 0.02), ("accepts too often", 0.001),
     ("one token off after a rejection", 0.05)],
)  # fmt: skip
def test_planted_bugs_move_the_law(way, least):
    assert off(known(way, temperature=0.5), temperature=0.5) > least


def test_each_of_two_requests_in_one_call_has_its_law():
    found = known("right", temperature=0.5, together=[{}])
    laws = text_laws(TARGET, 3, {"temperature": 0.5, "together": [{}]}, ORDERS["vllm"])
    assert found.masses is None and found.known and [part.slots for part in found.parts] == [(0,), (1,)]
    assert all(distance(part.masses, law) < 1e-6 for part, law in zip(found.parts, laws, strict=True))


def test_texts_that_depend_on_more_than_what_shows_have_no_law():
    found = known("carries its uniform on")
    assert found.masses is None and "depends on more than the tokens" in found.reason
    assert "used twice" in known("same numbers twice").reason


def test_memory_that_was_never_written_is_found_with_its_place_and_what_it_held():
    found = known("memory", temperature=0.5)
    assert found.masses is None
    assert "never written (made in toy.py:row" in found.findings["unwritten"] or "never written" in str(found.findings)


@pytest.mark.parametrize(
    ("way", "why"),
    [("does not load", "no such model"), ("dies", r"exit status 7\): out of coffee"), ("garbage", "is not JSON"),
     ("refuses", "min_p is not supported")],
)  # fmt: skip
def test_engines_that_fail_are_one_line(way, why):
    import re

    found = known(way)
    assert found.masses is None and re.search(why, found.reason) and "\n" not in found.reason


def test_a_law_that_takes_too_long_says_so():
    assert "more processor time than the limit" in known("right", seconds=0.01).reason


@pytest.mark.needs("torch", "transformers")
def test_an_eagle_head_has_the_drafts_law_whatever_the_targets_hidden_state_is(tmp_path):
    import torch
    from safetensors.torch import load_file

    problem = drawn_markov(8, 2)
    forged = forge(problem, tmp_path / "pair")
    save_eagle_head(forged.target, forged.draft, tmp_path / "head")
    layer, target = (load_file(f / "model.safetensors") for f in (tmp_path / "head", forged.target))
    embedded = target["model.embed_tokens.weight"][: problem.vocabulary + 1]
    given = torch.cat([embedded, 7 * torch.ones_like(embedded)], dim=1)
    laws = (given @ layer["fc.weight"].T @ target["lm_head.weight"].T).softmax(-1)
    exact = torch.tensor([[float(p) for p in row] for row in (*problem.draft.after, problem.draft.start)])
    assert (laws[:, : problem.vocabulary] - exact).abs().max() < 1e-5
    assert laws[:, problem.vocabulary :].max() == 0
