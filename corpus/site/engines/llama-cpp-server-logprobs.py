"""llama.cpp's server with a draft model (-md), logprobs of tokens behind the first: python FILE URL PROMPT.

Known: https://github.com/ggml-org/llama.cpp/issues/27972. Expected: none is 0.0, all have entries of top_logprobs.
"""

import json
import sys
from urllib.request import Request, urlopen

url, prompt = sys.argv[1:]
body = {"prompt": prompt, "max_tokens": 12, "logprobs": 3, "temperature": 1.0}
request = Request(f"{url}/v1/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
entries = json.load(urlopen(request))["choices"][0]["logprobs"]["content"]
for entry in entries:
    print(repr(entry["token"]), entry["logprob"], len(entry["top_logprobs"]))
sys.exit(any(entry["logprob"] == 0 and not entry["top_logprobs"] for entry in entries))
