"""onnxruntime-genai from outside: text that it samples from forged checkpoints, exported by its own model builder."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from draftproof.verifiers.adapters.registry import engine_folder

UNPACKED = str(engine_folder("onnxruntime-genai"))
if UNPACKED not in sys.path:
    sys.path.append(UNPACKED)  # what is installed comes before what make engines unpacked


def sample(
    target: Path, draft: Path | None, start: int, tokens: int, gamma: int, seeds: Sequence[int]
) -> Iterator[list[int]]:
    """For each seed the tokens that follow the prompt [start]; without a draft by plain sampling.

    At temperature 1, not truncated; one sequence at a time, which is all that it speculates for.
    """
    import onnxruntime_genai as genai  # pyright: ignore[reportMissingImports]

    model = genai.Model(str(_composed(target, draft, gamma)))
    asked = {"do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 1.0, "max_length": tokens + 1}
    for seed in seeds:
        parameters = genai.GeneratorParams(model)
        parameters.set_search_options(**asked, random_seed=seed)
        generator = genai.Generator(model, parameters)
        generator.append_tokens(np.array([start], dtype=np.int32))
        while not generator.is_done():
            generator.generate_next_token()
        yield [int(token) for token in generator.get_sequence(0)[1:]]


def _composed(target: Path, draft: Path | None, gamma: int) -> Path:
    """Return a folder with the target's configuration, and the draft as its draft model, which must lie below it."""
    folder = target.parent / "onnx"
    shutil.rmtree(folder, ignore_errors=True)
    configuration = _exported(target, folder / "target")
    if draft is not None:
        configuration["model"]["draft"] = _exported(draft, folder / "draft")["model"]["decoder"]
        configuration["speculative"] = {"max_draft_tokens": gamma}
    (folder / "genai_config.json").write_text(json.dumps(configuration), encoding="utf-8")
    for file in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(folder / "target" / file, folder)
    return folder


def _exported(checkpoint: Path, folder: Path) -> dict:
    """The checkpoint in float32 for CPUs; its configuration, with the model's file named from the folder above."""
    command = [sys.executable, "-m", "onnxruntime_genai.models.builder", "-i", str(checkpoint), "-o", str(folder)]
    paths = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), UNPACKED]))
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run([*command, "-p", "fp32", "-e", "cpu"], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"its model builder ended: {done.stderr.strip().splitlines()[-1:]}")
    configuration = json.loads((folder / "genai_config.json").read_text(encoding="utf-8"))
    decoder = configuration["model"]["decoder"]
    decoder["filename"] = f"{folder.name}/{decoder['filename']}"
    return configuration
