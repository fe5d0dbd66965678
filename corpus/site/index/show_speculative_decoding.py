# pip install --no-deps speculative-decoding einops beartype; it imports torch. Target (1, 0), draft (0, 1): the draft
# says 1, which cannot be. Its test is `r > p / q`, and a uniform of 0, which `uniform_` can draw, accepts it.
import torch
from speculative_decoding.speculative_decoding import speculative_decoding


def model(*row):
    cache = torch.zeros(1, 1, 1, 1, 20, 1), None
    return lambda ids, **_: (torch.tensor([[row] * ids.shape[1]]).log(), cache)


torch.Tensor.uniform_ = lambda tensor, *_: tensor.zero_()
prompt = torch.zeros(1, 1, dtype=torch.long)
print(speculative_decoding(model(1.0, 0.0), model(0.0, 1.0), prompt, 2, 1, filter_thres=0.0)[0])
