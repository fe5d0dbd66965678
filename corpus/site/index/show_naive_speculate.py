# pip download --no-deps --ignore-requires-python naive-speculate; unpack it and run this in its folder. The target is
# (1/2, 1/2, 0, 0), the draft says 2: after a rejection each token has 1e-9 more, also 2 and 3, which cannot be.
import importlib.util

import torch

spec = importlib.util.spec_from_file_location("utils", "naive_speculate/speculate/utils.py")
utils = importlib.util.module_from_spec(spec)
spec.loader.exec_module(utils)
drawn = torch.multinomial
torch.multinomial = lambda weights, num_samples: print(weights) or drawn(weights, num_samples)
utils.speculative_sampling(torch.tensor([[0.5, 0.5, 0, 0]] * 2), torch.tensor([[0, 0, 1.0, 0]]), torch.tensor([2]))
