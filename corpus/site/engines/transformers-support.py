"""transformers 5.23.0: torch.rand in float32 is 0 once in 2^24 draws; then a token of probability 0 is accepted."""

import sys

import torch
from transformers.generation.utils import _speculative_sampling

target, draft = torch.tensor([[[0.0, 1.0], [0.5, 0.5]]]), torch.tensor([[[0.5, 0.5]]])
torch.rand_like = torch.zeros_like  # the number 0, which torch.rand can give
emitted, accepted = _speculative_sampling(torch.tensor([[1, 0]]), draft.log(), 1, target.log())
print(f"token 0 has probability 0; emitted: {emitted.tolist()[0]}, of them accepted: {int(accepted)}")
sys.exit(int(emitted[0, 0] == 0))
