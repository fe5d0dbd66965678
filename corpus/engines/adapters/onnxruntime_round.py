"""onnxruntime-genai: a round of its speculative decoding, compiled by g++ from its headers and the lines that decide.

Driven: a uniform for each test of acceptance (32 bits, as ``mt19937`` hands out), one of 53 bits for each token that is
drawn, by the distributions of g++'s library. Target rows are what its caller makes of logits under the settings; draft
rows are the sparse rows that its proposer keeps, after its settings. It knows three kinds of proposals: sampled from a
draft model, deterministic (n-grams: no draft rows), greedy.
"""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from draftproof.verifiers.adapters.calling_convention import NotASubject, float32_softmax, on_demand
from draftproof_engines.lifted import Edit, edited, engine_file, recorded, version_of

ENGINE = "onnxruntime-genai-source"
HEADERS = ("src/sampling_distribution.h", "src/speculative_sampling.h")
STRATEGY = "src/speculative_decoding_strategy.cpp"
FIRST, BEHIND = "  std::uniform_real_distribution<float> uni(0.f, 1.f);\n", "  // Queue the committed tokens"
"""The lines of ``RunRound`` that accept and reject, and the line behind them."""

TESTS = Edit("uni(round_rng)", "uni(round_rng.test())", "a test of acceptance has a number of its own")
SCRIPTED = Edit("std::mt19937", "std::scripted_words", "the generator's words are an input: a macro")
PROGRAM = Path(__file__).with_suffix(".cpp")


class Round:
    """mode: sampled, deterministic or greedy. temperature, top_k, top_p: of the target's rows."""

    array = "torch"
    rows_in_use = staticmethod(float32_softmax)

    def __init__(self, mode: str, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0):
        compiler = shutil.which("g++")
        if not compiler:
            raise NotASubject("g++ is not there; expected it, to compile onnxruntime-genai's headers")
        sources = {path: engine_file(ENGINE, path).read_text(encoding="utf-8") for path in (*HEADERS, STRATEGY)}
        where, whole = f"{ENGINE} {version_of(ENGINE)}: {STRATEGY}", sources[STRATEGY]
        if whole.count(FIRST) < 1 or BEHIND not in whole:
            raise NotASubject(f"{where} has no lines from {FIRST.strip()!r} to {BEHIND.strip()!r}")
        decides = edited(whole[whole.index(FIRST) : whole.index(BEHIND)], [TESTS], where)
        self.folder = tempfile.TemporaryDirectory()
        program = Path(self.folder.name) / "round"
        program.with_suffix(".inc").write_text(decides, encoding="utf-8")
        folders = [f"-I{self.folder.name}", f"-I{engine_file(ENGINE, HEADERS[0]).parent}"]
        version = f'-DVERSION="{version_of(ENGINE)}"'
        command = [compiler, "-O1", "-std=c++20", version, *folders, str(PROGRAM), "-o", str(program)]
        if (done := subprocess.run(command, capture_output=True, text=True)).returncode:
            raise NotASubject(f"{where} does not compile: {done.stderr.strip()[:300]}")
        self.words = [str(program), mode, str(temperature), str(top_k), str(top_p)]
        self.process = subprocess.Popen(self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.asked = 0
        self.random = self._line()["random"]
        texts = [*(sources[path] for path in HEADERS), decides]
        self.text = "".join([*texts, PROGRAM.read_text(encoding="utf-8")])
        built = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout.partition("\n")[0]
        given = {path: [SCRIPTED] for path in HEADERS} | {STRATEGY: [TESTS, SCRIPTED]}
        lifted = [recorded(ENGINE, path, ["RunRound"] * (path == STRATEGY), sources[path], {}, given[path])
                  for path in sources]  # fmt: skip
        self.origin = {"lifted": lifted, "compiler": built, "bonus": "drawn inside"}

    def published(self) -> str:
        """Return the text that an audit identifies."""
        return self.text

    def _line(self) -> dict[str, Any]:
        assert self.process.stdout
        if not (line := self.process.stdout.readline()):
            raise RuntimeError(f"the compiled round ended with status {self.process.wait()}")
        return json.loads(line)

    def __call__(self, target: Any, draft: Any, tokens: Any, random: Mapping[str, Any]) -> list[int]:
        assert self.process.stdin
        self.asked += 1
        rows = {"target": target.float().tolist(), "draft": draft.float().tolist(), "tokens": tokens.tolist()}
        numbers = {name: number.tolist() for name, number in random.items()}
        self.process.stdin.write(json.dumps({"id": self.asked, **rows, "random": numbers}) + "\n")
        self.process.stdin.flush()
        answer = self._line()
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["emitted"]


__getattr__ = on_demand(globals(), {
    "sampled": lambda: Round("sampled"), "deterministic": lambda: Round("deterministic"),
    "settings": lambda: Round("sampled", 0.5, 3, 0.75), "greedy": lambda: Round("greedy"),
})  # fmt: skip
