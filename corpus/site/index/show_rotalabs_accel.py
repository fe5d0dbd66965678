# pip download --no-deps rotalabs-accel; unpack it and run this in its folder. Target (.5, .3, .2), draft (.2, .3, .5).
# Its residual is the target less the draft's probability of the drafted token alone: 0 with 31/80 in place of 1/2.
import importlib.util
from collections import Counter

import torch

spec = importlib.util.spec_from_file_location("sampling", "rotalabs_accel/speculative/sampling.py")
sampling = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sampling)
torch.manual_seed(0)
p, q, n = torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.2, 0.3, 0.5]), 20_000
counts = Counter()
for x in torch.multinomial(q, n, replacement=True):
    counts[int(sampling.rejection_sample(p[x], q[x], x, p.log())[1])] += 1
print({x: (counts[x] / n, float(p[x])) for x in range(3)})
