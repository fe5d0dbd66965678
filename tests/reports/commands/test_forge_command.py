"""The command draftproof forge: two checkpoints, in three lines; bad input in one."""

import json

import pytest
from click.testing import CliRunner

from draftproof.models.forge import law_of_checkpoint
from draftproof.reports.commands.forge import command as forge_command

MARKOV = {"start": ["1/3", "2/3"], "after": {"0": ["1", "0"], "1": ["1e-7", "0.9999999"]}}
PROBLEM = json.dumps({"vocabulary": 2, "gamma": 2, "target": MARKOV, "draft": ["2/3", "1/3"]})


def forge(*arguments):
    return CliRunner().invoke(forge_command, list(map(str, arguments)))


@pytest.mark.engine
def test_it_writes_target_and_draft_and_says_how_close_their_law_is(tmp_path):
    done = forge("--problem", PROBLEM, "--out", tmp_path / "out", "--vocabulary-size", 9)
    assert done.exit_code == 0, done.output
    target, draft, prompt = done.output.splitlines()
    assert target.startswith(f"{tmp_path}/out/target: Llama, float32; read back, its distribution is within ")
    assert draft.startswith(f"{tmp_path}/out/draft: Llama, float32")
    assert prompt == "prompt [2] (<s>), tokens 0 to 1; no other token is possible"
    for folder in ("target", "draft"):
        written = {file.name for file in (tmp_path / "out" / folder).iterdir()}
        assert written >= {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json"}
    law = law_of_checkpoint(tmp_path / "out" / "target")
    assert law.after[0] == (1.0, 0.0)
    assert law.after[1][0] == pytest.approx(1e-7, rel=1e-5)
    assert law.start[0] == pytest.approx(1 / 3, abs=1e-6)
