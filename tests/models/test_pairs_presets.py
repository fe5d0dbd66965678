"""Presets: the paper's pair and its stand-ins; asking for what there is not is one line."""

import re

import pytest

from draftproof.models.errors import InputError
from draftproof.models.pairs.presets import PRESETS, SMOLLM2, TRAINED, named_pair


def test_a_preset_of_the_hub_is_well_formed():
    for name, preset in PRESETS.items():
        names = (preset.target, *preset.drafts)
        assert len(set(names)) == len(names) > 1 and preset.template.count("{prompt}") == 1 and preset.about
        assert name in (TRAINED, SMOLLM2) or all(re.fullmatch(r"[\w.-]+/[\w.-]+", one) for one in names)
    assert named_pair("vicuna")[:2] == ("lmsys/vicuna-7b-v1.3", "double7/vicuna-68m")
    assert named_pair("qwen3", 1) == ("Qwen/Qwen3-8B", "Qwen/Qwen3-0.6B", "{prompt}")


@pytest.mark.parametrize(
    ("preset", "drafter", "message"),
    [
        ("palm", 0, "no preset 'palm'; known: vicuna, qwen3, pythia, gpt2, trained, smollm2"),
        ("gpt2", 1, "preset gpt2: no drafter 1; it has 1, numbered from 0"),
        (TRAINED, 0, "nothing has been trained here; run draftproof train-pair --out DIR"),
    ],
)
def test_what_there_is_not_is_told_in_one_line(preset, drafter, message, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(InputError) as raised:
        named_pair(preset, drafter)
    assert message in str(raised.value)
