"""Run vLLM on a CPU with speculation, for the tests of its recorder: one JSON argument, texts on standard output.

{"target": DIR, "draft": DIR, "gamma": 4, "method": "draft_model, sampled", "texts": 200, "tokens": 32,
 "settings": {...} or [{...} of requests in turn], "edit": "Python run before the engine is made"}
"""

import json
import os
import sys

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


def main() -> None:
    """Decode as the argument says, recorded if DRAFTPROOF_STEPS names a folder."""
    asked = json.loads(sys.argv[1])
    from vllm import LLM, SamplingParams

    from draftproof_engines.recorders import vllm_v1

    exec(asked.get("edit", ""), {})
    vllm_v1.register()
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
    import time

    began = time.process_time(), time.monotonic()
    outputs = llm.generate(prompts, parameters, use_tqdm=False)
    spent = time.process_time() - began[0], time.monotonic() - began[1]
    tokens = sum(len(output.outputs[0].token_ids) for output in outputs)
    print(json.dumps({"tokens": tokens, "processor": spent[0], "seconds": spent[1]}))


if __name__ == "__main__":
    main()
