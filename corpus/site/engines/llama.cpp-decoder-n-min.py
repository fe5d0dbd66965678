"""llama.cpp#27694 with p_min and n_min: a draft that p_min ends early is thrown away for what its first token led to.

Written over from its text: drafting ends where the draft's likeliest token is below p_min; fewer than n_min tokens are
dropped whole; else each is kept by min(1, p / q). n_min is 2, and the draft is unsure behind token 1. Expected: .5 .5.
"""

target, draft, unsure_behind = [0.5, 0.5], [0.75, 0.25], {1}
left = [max(p - q, 0) for p, q in zip(target, draft)]
law = [0.0, 0.0]
for token, drawn in enumerate(draft):
    if token in unsure_behind:  # one token, and n_min is 2: drawn as if nothing had been drafted
        law = [total + drawn * p for total, p in zip(law, target)]
        continue
    kept = min(1, target[token] / draft[token])
    law[token] += drawn * kept
    law = [total + drawn * (1 - kept) * rest / sum(left) for total, rest in zip(law, left)]
print(law)  # [0.625, 0.375]
