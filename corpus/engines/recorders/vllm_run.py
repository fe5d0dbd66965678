"""Run vLLM on a CPU with speculation, for the tests of its recorder: one JSON argument in, one with what it took out.

{"target": DIR, "draft": DIR, "gamma": 4, "method": "draft_model, sampled", "texts": 200, "tokens": 32,
 "settings": {...} or [{...} of requests in turn], "edit": "Python run before the engine is made", "turns": 1}

Of several turns, which draw the same random numbers two by two, one of each two is recorded.
"""

import json
import os
import sys
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
    plain = sampler()
    vllm_v1.register()
    watched = sampler()
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
        sampler(watched if recorded else plain)
        torch.manual_seed(turn // 2)
        began = time.process_time(), time.monotonic()
        outputs = llm.generate(prompts, parameters, use_tqdm=False)
        spent = time.process_time() - began[0], time.monotonic() - began[1]
        tokens = sum(len(output.outputs[0].token_ids) for output in outputs)
        turns.append({"tokens": tokens, "processor": spent[0], "seconds": spent[1], "recorded": recorded})
    print(json.dumps({"turns": turns}))


if __name__ == "__main__":
    main()
