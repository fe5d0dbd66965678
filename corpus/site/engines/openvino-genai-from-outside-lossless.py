"""openvino-genai 2026.4.1.0: python FILE TARGET DRAFT TOKEN (two models by optimum-cli export openvino; a prompt)."""
import sys
from collections import Counter

import numpy as np
import openvino as ov
import openvino_genai as genai

target, draft, n = sys.argv[1], sys.argv[2], 2000
prompt, scheduler = ov.Tensor(np.array([[int(sys.argv[3])]])), genai.SchedulerConfig()
scheduler.enable_prefix_caching = False
asked = genai.GenerationConfig(do_sample=True, temperature=1.0, top_p=1.0, max_new_tokens=4, ignore_eos=True)
plain = genai.LLMPipeline(target, "CPU", scheduler_config=scheduler)
drafted = genai.LLMPipeline(target, "CPU", scheduler_config=scheduler, draft_model=genai.draft_model(draft, "CPU"))
alone = Counter()
for asked.rng_seed in range(n):
    alone[plain.generate(prompt, asked).tokens[0][1]] += 1
asked.num_assistant_tokens, among = 3, Counter()
for asked.rng_seed in range(n, 2 * n):
    among[drafted.generate(prompt, asked).tokens[0][1]] += 1
tv = sum(abs(alone[x] - among[x]) for x in alone | among) / 2 / n
said = f"second token, without a draft: {alone.most_common(6)}; with one: {among.most_common(6)}; TV {tv:.3f}"
sys.exit(tv > 0.1 and said)
