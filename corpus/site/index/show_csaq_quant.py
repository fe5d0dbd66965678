# pip install --no-deps csaq-quant; it imports torch and transformers. Target (.9, .1), and (.1, .9) after.
# Its verifier's row for drafted token k is k + 1, which speaks of the token after: 0 comes with 1/10 in place of 9/10.
from collections import Counter
from types import SimpleNamespace

import torch
from csaq.inference import CSAQInferenceEngine


class Model(torch.nn.Linear):
    def forward(self, input_ids, **_):
        rows = torch.tensor([[0.5, 0.5]] if input_ids.shape[1] == 1 else [[0.9, 0.1], [0.1, 0.9]])
        return SimpleNamespace(logits=rows.log()[None], past_key_values=None)


torch.manual_seed(0)
engine, prompt, n = CSAQInferenceEngine(Model(1, 1), {}), torch.zeros(1, 1, dtype=torch.long), 20_000
counts = Counter(int(engine._generate_speculative(prompt, 1, 1, 1.0, 1.0)[0][0, 1]) for _ in range(n))
print({x: counts[x] / n for x in range(2)})
