"""llama.cpp's server on a target of 3 tokens of draftproof forge, whose other ids have probability 0: python FILE URL.

typical_p 0.5, with all ids and with those of probability 0 cut off first. Expected twice: some .65 "0" and .35 "2".
"""

import json
import sys
from collections import Counter
from urllib.request import Request, urlopen

for top_k in (0, 3):
    seen = Counter()
    for _ in range(100):
        body = {"prompt": "<s>", "max_tokens": 1, "temperature": 1.0, "top_p": 1.0, "min_p": 0.0, "typical_p": 0.5,
                "top_k": top_k}
        request = Request(sys.argv[1] + "/v1/completions", json.dumps(body).encode(), {"Content-Type": "text/json"})
        seen[json.load(urlopen(request))["choices"][0]["text"]] += 1
    print("top_k", top_k, dict(seen))
