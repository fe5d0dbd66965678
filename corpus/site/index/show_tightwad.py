# pip download --no-deps tightwad; unpack it and run this in its folder. Target (.4, .35, .25), draft (.2, .2, .6).
# After a rejection comes the target's most likely token: 0 with 11/20 in place of 2/5.
import random
import sys
from collections import Counter
from math import log

sys.path.insert(0, ".")
from tightwad.speculation import DraftToken, TargetLogprob, verify_draft_tokens

p, q, n = (0.4, 0.35, 0.25), (0.2, 0.2, 0.6), 100_000
random.seed(0)
counts = Counter()
for x in random.choices(range(3), q, k=n):
    target_logprobs = [TargetLogprob(0, log(p[0]), log(p[x])), TargetLogprob(0, log(p[0]))]
    found = verify_draft_tokens([DraftToken(x, log(q[x]))], target_logprobs, temperature=1.0)
    counts[(found.accepted_tokens or [found.resample_token])[0].token_id] += 1
print({x: counts[x] / n for x in range(3)})
