"""vLLM's V1 engine in a process of its own, its random numbers handed in: JSON lines in, JSON lines out.

Run by the interpreter of the decoders' environment, which has vLLM and torch and not this project: it imports nothing
of it. The first line says what to load, each other one is a batch of texts that the engine decodes together:

    {"target": DIR, "draft": DIR, "gamma": 1, "method": "draft_model", "edits": ["expand"]}
    {"texts": [{"prompt": [3], "numbers": [[0.5], ...], "seed": 7}, ...], "settings": {...}, "fill": 0.25}

Every call of a generator, row by row, is a draw of the text that the row belongs to: answered by the next of its
``numbers``, and from its seed where they end. An answer holds for each text its steps: what the engine emitted, what it
drafted next, and the draws that were made for it in between.
"""

import json
import os
import sys
from collections import Counter
from typing import Any

os.environ |= {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "ERROR", "VLLM_PLUGINS": "",
}  # fmt: skip
ANSWERS = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
os.dup2(2, 1)  # what is printed goes among the errors

import numpy as np  # noqa: E402
import torch  # noqa: E402

BLOCK, LONGEST, MOST = 32, 128, 256
"""Tokens of a block of the cache and of a text, and texts in one batch."""

METHODS: dict[str, dict[str, Any] | None] = {
    "plain": None,
    "draft_model": {"method": "draft_model"},
    "draft_model, sampled": {"method": "draft_model", "draft_sample_method": "probabilistic"},
    "ngram": {"method": "ngram", "prompt_lookup_max": 2, "prompt_lookup_min": 1},
    "suffix": {"method": "suffix", "suffix_decoding_max_cached_requests": 0},
    "eagle": {"method": "eagle"},
    "eagle, sampled": {"method": "eagle", "draft_sample_method": "probabilistic"},
}

REAL = {
    "rand": torch.rand, "randint": torch.randint, "exponential_": torch.Tensor.exponential_,
    "uniform_": torch.Tensor.uniform_, "empty": torch.empty, "empty_like": torch.empty_like,
    "new_empty": torch.Tensor.new_empty,
}  # fmt: skip


class Text:
    """One text being decoded. numbers: for its draws, in order; steps: what happened so far."""

    def __init__(self, asked: dict[str, Any]):
        self.numbers, self.taken = asked.get("numbers", []), 0
        self.random = np.random.default_rng(asked.get("seed", 0))
        self.steps: list[dict[str, Any]] = [{"tokens": [], "logprobs": [], "draws": [], "drafts": None}]
        self.finished: str | None = None

    def draw(self, kind: str, count: int, place: str) -> list[float]:
        """Return the next draw of the text: handed in, or from its seed."""
        given = self.numbers[self.taken] if self.taken < len(self.numbers) else None
        self.taken += 1
        if given is None:
            values = self.random.random(count) if kind == "uniform" else self.random.exponential(size=count)
            given = (values if kind == "uniform" else values.astype(np.float32)).tolist()
        elif len(given) != count:
            raise ValueError(f"draw {self.taken} has {count} numbers, {len(given)} were supplied")
        self.steps[-1]["draws"].append({"kind": kind, "at": place, "numbers": given})
        return given


class DrivenVllm:
    """The engine, and the texts that are in it."""

    def __init__(self, asked: dict[str, Any]):
        from vllm import LLM

        method = METHODS[asked["method"]]
        if method:
            method = {**method, "num_speculative_tokens": asked["gamma"]}
            method |= {"model": asked["draft"]} if asked["method"].startswith(("draft_model", "eagle")) else {}
        self.llm = LLM(
            model=asked["target"], dtype="float32", enforce_eager=True, max_model_len=LONGEST, max_num_seqs=MOST,
            skip_tokenizer_init=True, speculative_config=method, block_size=BLOCK, disable_log_stats=True,
        )  # fmt: skip
        self.engine: Any = self.llm.llm_engine
        self.runner: Any = self.engine.engine_core.engine_core.model_executor.driver_worker.worker.model_runner
        self.texts: dict[str, Text] = {}
        self.keys: dict[int, list[float]] = {}
        self.keyed: Counter = Counter()
        self.made, self.fill, self.driving = 0, None, False
        self.other: dict[str, float] = {}
        self.names: dict[str, str] = {}
        self.places: dict[str, str] = {}
        self.held: dict[str, list] = {}
        self.scheduled: dict[str, list[int]] = {}
        self._hook()

    def run(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Decode a batch of texts."""
        from vllm import SamplingParams

        settings = dict(asked.get("settings", {}))
        if asked.get("first"):  # prompts that the cache shall know
            for prompt in asked.get("earlier", []):
                self.engine.add_request("earlier", {"prompt_token_ids": prompt}, SamplingParams(
                    detokenize=False, temperature=0, max_tokens=1))  # fmt: skip
                while self.engine.has_unfinished_requests():
                    self.engine.step()
        prefix, self.made = self.made, self.made + 1
        self.texts, self.keys, self.places, self.held = {}, {}, {}, {}
        self.keyed.clear()
        self.fill, self.other = asked.get("fill"), asked.get("other", {})
        self.names.clear()
        try:
            for k, beside in enumerate(asked.get("beside", [])):
                self._add(f"{prefix}-beside{k}", beside, self._parameters(SamplingParams, beside["settings"]))
            for k, text in enumerate(asked["texts"]):
                self._add(f"{prefix}-{k}", text, self._parameters(SamplingParams, settings))
        except Exception as error:
            self.engine.abort_request(list(self.texts))
            return {"refused": said(error)}
        before = torch.random.get_rng_state()
        self.driving = True
        try:
            while self.engine.has_unfinished_requests():
                for output in self.engine.step():
                    text, ended = self.texts[output.request_id], output.outputs[0]
                    known = sum(len(step["tokens"]) for step in text.steps)
                    step = text.steps[-1]
                    step["tokens"] = list(ended.token_ids[known:])
                    step["logprobs"] = [
                        one[t].logprob for t, one in zip(step["tokens"], (ended.logprobs or [])[known:])
                    ]
                    text.finished = ended.finish_reason
                    text.steps.append({"tokens": [], "logprobs": [], "draws": [], "drafts": None})
        finally:
            self.driving = False
            self.engine.abort_request(list(self.texts))
        undriven = not torch.equal(before, torch.random.get_rng_state())
        twice = [key for key, times in self.keyed.items() if times > 1]
        return {
            "texts": [{"steps": text.steps[:-1], "finished": text.finished}
                      for name, text in self.texts.items() if "beside" not in name],
            "undriven": undriven, "twice": len(twice), "places": self.places, "held": self.held,
        }  # fmt: skip

    def _add(self, name: str, asked: dict[str, Any], parameters: Any) -> None:
        self.texts[name] = Text(asked)
        self.engine.add_request(name, {"prompt_token_ids": asked["prompt"]}, parameters)

    def _parameters(self, kind: Any, settings: dict[str, Any]) -> Any:
        settings = dict(settings)
        banned = settings.pop("bad_words_token_ids", None)
        if "logit_bias" in settings:
            settings["logit_bias"] = {int(token): by for token, by in settings["logit_bias"].items()}
        made = kind(detokenize=False, ignore_eos=True, **settings)
        if banned:
            made._bad_words_token_ids = [[int(token)] for token in banned]
        return made

    def _rows(self) -> list[Text]:
        return [self.texts[self._name(name)] for name in self.runner.input_batch.req_ids]

    def _name(self, name: str) -> str:
        """Return the engine may add to the name of a request."""
        if name not in self.names:
            self.names[name] = name if name in self.texts else next(n for n in self.texts if name.startswith(n + "-"))
        return self.names[name]

    def _own(self, generator: Any) -> Text:
        batch = self.runner.input_batch
        row = next(k for k, own in batch.generators.items() if own is generator)
        return self._rows()[row]

    def _hook(self) -> None:
        """Answer the calls of generators; note what was scheduled and drafted."""
        runner, engine = self.runner, self

        def place() -> str:
            frame = sys._getframe(2)
            while "vllm_child" in frame.f_code.co_filename:
                frame = frame.f_back
            folder = frame.f_code.co_filename.rpartition("/vllm/")[2]
            return f"{folder}:{frame.f_code.co_name}"

        def rand(*size: Any, generator: Any = None, **how: Any) -> torch.Tensor:
            made = REAL["rand"](*size, generator=torch.Generator(), **how)
            if not engine.driving:
                return REAL["rand"](*size, generator=generator, **how)
            drafted = [len(engine.scheduled.get(name, ())) for name in runner.input_batch.req_ids]
            if made.ndim != 1 or made.numel() != sum(drafted):
                raise RuntimeError(f"uniforms of the shape {tuple(made.shape)} for {sum(drafted)} drafted tokens")
            values = [x for text, n in zip(engine._rows(), drafted) if n for x in text.draw("uniform", n, place())]
            return made.copy_(torch.tensor(values, dtype=torch.float64)) if values else made

        def rows_of(kind: str, tensor: torch.Tensor, generator: Any) -> torch.Tensor:
            texts = [engine._own(generator)] if generator is not None else engine._rows()
            if generator is None and tensor.ndim == 1:
                raise RuntimeError(f"numbers of the shape {tuple(tensor.shape)} from the global generator")
            if generator is None and len(texts) != tensor.shape[0]:
                raise RuntimeError(f"{tensor.shape[0]} rows of noise for {len(texts)} requests")
            rows = [text.draw(kind, tensor.shape[-1], place()) for text in texts]
            return tensor.copy_(torch.tensor(rows, dtype=torch.float64).reshape(tensor.shape))

        def exponential_(tensor: torch.Tensor, *given: Any, generator: Any = None, **how: Any) -> torch.Tensor:
            if not engine.driving:
                return REAL["exponential_"](tensor, *given, generator=generator, **how)
            return rows_of("exponential", tensor, generator)

        def uniform_(tensor: torch.Tensor, *given: Any, generator: Any = None, **how: Any) -> torch.Tensor:
            if not engine.driving:
                return REAL["uniform_"](tensor, *given, generator=generator, **how)
            return rows_of("uniform", tensor, generator)

        def randint(*given: Any, generator: Any = None, **how: Any) -> torch.Tensor:
            """Seeds of the noise of a compiled operator: keys, each of a row of its own."""
            if not engine.driving:
                return REAL["randint"](*given, generator=generator, **how)
            made = REAL["randint"](*given, generator=torch.Generator(), **how)
            first = 1 + len(engine.keys)
            engine.keys |= {first + k: [] for k in range(made.numel())}
            return made.copy_(torch.arange(first, first + made.numel()).reshape(made.shape))

        def fused_gumbel_argmax(logits: torch.Tensor, seeds: torch.Tensor) -> torch.Tensor:
            """Return the operator's race on noise that is handed in: argmax of logit - log E, in double precision."""
            rows = []
            for text, key in zip(engine._rows(), seeds.tolist(), strict=True):
                engine.keyed[key] += 1
                if not engine.keys[key]:
                    engine.keys[key] = text.draw("exponential", logits.shape[-1], "fused_gumbel_argmax")
                rows.append(engine.keys[key])
            noise = torch.tensor(rows, dtype=torch.float64)
            return (logits.double() - noise.log()).argmax(dim=-1)

        def filled(name: str) -> Any:
            def made(*given: Any, **how: Any) -> torch.Tensor:
                tensor = REAL[name](*given, **how)
                if engine.driving and tensor.numel():
                    at = place()
                    if engine.fill is None:
                        engine.held[at] = [f"{x:.3g}" for x in tensor.flatten()[:3].tolist()]
                        return tensor
                    engine.places[at] = f"{tuple(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"
                    fill = engine.other.get(at, engine.fill)
                    if tensor.dtype != torch.bool:
                        tensor.fill_(fill if tensor.is_floating_point() else int(fill))
                return tensor

            return made

        torch.rand, torch.randint = rand, randint
        torch.Tensor.exponential_, torch.Tensor.uniform_ = exponential_, uniform_
        torch.empty, torch.empty_like, torch.Tensor.new_empty = map(filled, ("empty", "empty_like", "new_empty"))
        self._replace_operator(fused_gumbel_argmax)
        execute, propose = runner.execute_model, getattr(runner, "propose_draft_token_ids", None)

        def execute_model(scheduled: Any, *given: Any, **how: Any) -> Any:
            engine.scheduled = scheduled.scheduled_spec_decode_tokens
            return execute(scheduled, *given, **how)

        def propose_draft_token_ids(*given: Any, **how: Any) -> Any:
            drafts = propose(*given, **how)
            if not engine.driving:  # a prompt that the cache shall know is no text of this batch
                return drafts
            for text, drafted in zip(engine._rows(), drafts.tolist() if torch.is_tensor(drafts) else drafts):
                text.steps[-1]["drafts"] = [int(token) for token in drafted]
            return drafts

        runner.execute_model, runner.propose_draft_token_ids = execute_model, propose_draft_token_ids

    @staticmethod
    def _replace_operator(race: Any) -> None:
        from vllm.v1.sample.ops import topk_topp_sampler

        class WithRace:
            def __getattr__(self, name: str) -> Any:
                return race if name == "fused_gumbel_argmax" else getattr(torch.ops._C, name)

        class TorchWithRace:
            ops = type("Ops", (), {"_C": WithRace()})

            def __getattr__(self, name: str) -> Any:
                return getattr(torch, name)

        topk_topp_sampler.torch = TorchWithRace()


def main() -> None:
    """Load, then answer until the input ends."""
    import vllm

    requests = map(json.loads, sys.stdin)
    asked = next(requests)
    try:
        if "module" in asked:  # further edits, applied to vLLM before it is loaded: planted bugs
            scope: dict[str, Any] = {}
            exec(compile(asked["module"], "edits", "exec"), scope)
        engine = DrivenVllm(asked)
    except Exception as error:
        ANSWERS.write(json.dumps({"error": said(error)}) + "\n")
        return
    ANSWERS.write(json.dumps({"ready": {"vllm": vllm.__version__, "torch": torch.__version__}}) + "\n")
    for request in requests:
        try:
            answer = engine.run(request)
        except Exception as error:
            answer = {"error": said(error)}
        ANSWERS.write(json.dumps(answer) + "\n")


def said(error: Exception) -> str:
    """Return an exception in one line."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"[:400]


if __name__ == "__main__":
    main()
