"""Run vLLM on a CPU with speculation, for the tests of its recorder: one JSON argument in, one with what it took out.

{"target": DIR, "draft": DIR, "gamma": 4, "method": "draft_model, sampled", "texts": 200, "tokens": 32,
 "settings": {...} or [{...} of requests in turn], "edit": "Python run before the engine is made", "turns": 1}

Of several turns, which draw the same random numbers two by two, one of each two is recorded.
"""

import json
import os
import sys
import threading
import time
from typing import Any

os.environ |= {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_PLUGINS": "",
}  # fmt: skip

METHODS = {
    "draft_model": {"method": "draft_model"},
    "draft_model, sampled": {"method": "draft_model", "draft_sample_method": "probabilistic"},
    "ngram": {"method": "ngram", "prompt_lookup_max": 2, "prompt_lookup_min": 1},
}


def sampler(to: Any = None) -> Any:
    """Return the rejection sampler's two functions, as they are or as they are set to."""
    from vllm.v1.sample import rejection_sampler as module

    if to is not None:
        module.RejectionSampler.forward, module.rejection_sample = to
    return module.RejectionSampler.forward, module.rejection_sample


def main() -> None:
    """Decode as the argument says, recorded if DRAFTPROOF_STEPS names a folder."""
    asked = json.loads(sys.argv[1])
    import torch
    from vllm import LLM, SamplingParams

    from draftproof_engines.recorders import vllm_v1

    exec(asked.get("edit", ""), {})
    plain, spent = sampler(), {"plain": 0.0, "watched": 0.0}
    sampler((timed(plain[0], spent, "plain"), plain[1]))
    vllm_v1.register()
    watched = timed(sampler()[0], spent, "watched"), sampler()[1]
    method = {**METHODS[asked["method"]], "num_speculative_tokens": asked["gamma"]}
    if "draft_model" in asked["method"]:
        method["model"] = asked["draft"]
    llm = LLM(
        model=asked["target"], dtype="float32", enforce_eager=True, max_model_len=asked.get("longest", 128),
        max_num_seqs=asked.get("at_once", 8), skip_tokenizer_init=True, speculative_config=method, block_size=32,
        disable_log_stats=True, seed=asked.get("seed", 0),
    )  # fmt: skip
    given = asked["settings"] if isinstance(asked["settings"], list) else [asked["settings"]]
    common = {"detokenize": False, "max_tokens": asked["tokens"], "ignore_eos": True}
    parameters = [SamplingParams(**common, **given[k % len(given)]) for k in range(len(asked["prompts"]))]
    prompts = [{"prompt_token_ids": prompt} for prompt in asked["prompts"]]
    turns = []
    for turn in range(asked.get("turns", 1)):
        recorded = turn % 4 in (0, 3)
        sampler(watched if recorded else plain)  # what is watched calls what was there before, timed
        torch.manual_seed(turn // 2)
        before = time.process_time(), time.monotonic(), *own(spent)
        outputs = llm.generate(prompts, parameters, use_tqdm=False)
        after = time.process_time(), time.monotonic(), *own(spent)
        took = dict(zip(("processor", "seconds", "hook", "thread"), (b - a for a, b in zip(before, after))))
        tokens = sum(len(output.outputs[0].token_ids) for output in outputs)
        turns.append({"tokens": tokens, "recorded": recorded, **took})
    print(json.dumps({"turns": turns}))


def timed(call: Any, spent: dict[str, float], name: str) -> Any:
    """Return a function that adds the processor time that its thread spends in it."""

    def within(*given: Any, **named: Any) -> Any:
        began = time.thread_time()
        try:
            return call(*given, **named)
        finally:
            spent[name] += time.thread_time() - began

    return within


def own(spent: dict[str, float]) -> tuple[float, float]:
    """Return the processor time of the recorder so far: in the engine's thread, and in its own."""
    threads = [thread for thread in threading.enumerate() if thread.name == "draftproof-recording"]
    clocks = [time.clock_gettime(time.pthread_getcpuclockid(thread.ident)) for thread in threads if thread.ident]
    return spent["watched"] - spent["plain"], sum(clocks)


if __name__ == "__main__":
    main()
