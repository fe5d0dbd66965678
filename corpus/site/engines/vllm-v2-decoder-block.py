"""vLLM 0.32.0, model runner V2: python FILE SAMPLER GUMBEL, its rejection_sampler_utils.py and its gumbel.py."""

import os
import re
import runpy
import sys
import tempfile
from pathlib import Path

import torch

os.environ["TRITON_INTERPRET"], coin = "1", torch.tensor([0.5, 0.5]).log()
text = "import triton, triton.language as tl\n" + "\n".join(Path(name).read_text() for name in sys.argv[:0:-1])
with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
    Path(file.name).write_text(re.sub(r"(?m)^from vllm.* import (\([^)]*\)|.*)", "", text))
    sample = runpy.run_path(file.name)["rejection_sample"]


def block(seeds, position):  # draft tokens 0, 0 without probabilities, as drafted by default; the target is a fair coin
    n, places = torch.arange(len(seeds)), torch.arange(3).repeat(len(seeds))
    return sample(coin.repeat(3 * len(n), 1), None, 0 * places, (3 * torch.arange(len(n) + 1)).int(), position + places,
                  n.int(), n.repeat_interleave(3).int(), places.int(), torch.ones(len(n)), seeds, 2,
                  use_block_verification=True)  # fmt: skip


# Where the first block is rejected at once, the text is the token 1, and the next block begins one place on.
again = block((seeds := torch.arange(600))[block(seeds, 0)[1] == 1], 1)[0][:, 0]
print(f"the next token is 0: expected .5, observed {(share := (again == 0).double().mean()):.3f}")
sys.exit(bool(abs(share - 0.5) > 0.1))
