"""Presets: the paper's pair and its stand-ins, each well formed; asking for what there is not is one line."""

import re

import pytest

from draftproof.models.errors import InputError
from draftproof.models.pairs.presets import PRESETS, SMOLLM2, TRAINED, Preset, named_pair

HUB = [name for name in PRESETS if name not in (TRAINED, SMOLLM2)]


def faults(preset: Preset) -> list[str]:
    """What is wrong with a preset of models on the Hub."""
    names = (preset.target, *preset.drafts)
    found = [name for name in names if not re.fullmatch(r"[\w.-]+/[\w.-]+", name)]
    if not preset.drafts:
        found.append("no drafter")
    if len(set(names)) < len(names):
        found.append("a model twice")
    if preset.template.count("{prompt}") != 1:
        found.append("no place for the prompt")
    if not preset.about:
        found.append("no purpose")
    return found


@pytest.mark.parametrize("name", HUB)
def test_a_preset_is_well_formed(name):
    assert faults(PRESETS[name]) == []


@pytest.mark.parametrize(
    "preset",
    [
        Preset("a/b", (), "x"),
        Preset("a/b", ("a/b",), "x"),
        Preset("b", ("a/c",), "x"),
        Preset("a/b", ("a/c",), ""),
        Preset("a/b", ("a/c",), "x", "USER:"),
    ],
)
def test_a_malformed_preset_would_be_seen(preset):
    assert len(faults(preset)) == 1


def test_the_paper_s_pair_and_the_stand_ins_are_there():
    assert named_pair("vicuna")[:2] == ("lmsys/vicuna-7b-v1.3", "double7/vicuna-68m")
    assert named_pair("qwen3", 1) == ("Qwen/Qwen3-8B", "Qwen/Qwen3-0.6B", "{prompt}")
    assert named_pair(SMOLLM2, 1)[:2] == ("smollm2:target", "smollm2:small-draft")
    assert named_pair("gpt2")[:2] == ("openai-community/gpt2-xl", "openai-community/gpt2")


@pytest.mark.parametrize(
    ("preset", "drafter", "message"),
    [
        ("palm", 0, "no preset 'palm'; known: vicuna, qwen3, pythia, gpt2, trained, smollm2"),
        ("gpt2", 1, "preset gpt2: no drafter 1; it has 1, numbered from 0"),
        ("gpt2", -1, "preset gpt2: no drafter -1"),
        (TRAINED, 0, "nothing has been trained here; run draftproof train-pair --out DIR"),
    ],
)
def test_what_there_is_not_is_told_in_one_line(preset, drafter, message, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(InputError) as raised:
        named_pair(preset, drafter)
    assert message in str(raised.value)
