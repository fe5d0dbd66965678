# pip download --no-deps srep-moe; unpack it and run this in its folder. Target (.5, .3, .2), the draft always says 0.
# 0 is kept with 1/2, and drawn again after a rejection with 1/2: it comes out with 3/4 in place of 1/2.
import importlib.util
from collections import Counter
from types import SimpleNamespace

import torch

spec = importlib.util.spec_from_file_location("sd_engine", "srep_moe/sd_engine.py")
engine = importlib.util.module_from_spec(spec)
__import__("sys").modules["sd_engine"] = engine
spec.loader.exec_module(engine)
torch.manual_seed(0)
logits, n = torch.tensor([[[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]]]).log(), 20_000
given, verify = SimpleNamespace(gamma=1, device="cpu"), engine.EAGLE3SDDriver.speculative_sampling
counts = Counter(verify(given, [0], logits, 1.0)[1][0] for _ in range(n))
print({x: counts[x] / n for x in range(3)})
