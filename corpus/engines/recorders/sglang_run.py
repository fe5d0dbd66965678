"""Run SGLang's own proposals and its verifier under Triton's interpreter, for the tests of its recorder.

One JSON argument, a list of runs, each in a process of its own: {"gamma": 4, "vocabulary": 16, "folder": DIR,
"steps": 100, "block": false, "settings": [{"temperature": 1.0}, ...], "edit": "Python run before the first step"}.
What is SGLang's: the proposals (``sample_draft_proposal``), ``eagle_sample`` and the kernels that it launches. What
stands in: a Markov pair for the models, and what ``eagle_sample`` asks of the server's process. Top-k and top-p are not
run: their kernels are CUDA's.
"""

import json
import os
import sys
import time
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

from draftproof.verifiers.triton_kernels.interpreting import set_up

os.environ["TRITON_INTERPRET"] = "1"


class Absent(MetaPathFinder, Loader):
    """A finder of torchvision, which SGLang imports for images, and of which there is no build for this torch."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self, is_package=True) if fullname.partition(".")[0] == "torchvision" else None

    def create_module(self, spec: ModuleSpec) -> Any:
        return MagicMock(__spec__=spec, __path__=[], __version__="0")

    def exec_module(self, module: Any) -> None:
        """Leave it empty."""


def main() -> None:
    """Run each, and print how many of its steps were recorded, a line each."""
    sys.meta_path.append(Absent())
    import torch
    from sglang.srt.speculative import eagle_utils, spec_utils  # noqa: F401  # imported once for all runs
    from triton.runtime import interpreter

    set_up(interpreter)
    torch.set_num_threads(1)
    for asked in json.loads(sys.argv[1]):
        child = os.fork()
        if not child:
            print(json.dumps(run(asked)), flush=True)
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            raise SystemExit(1)


def run(asked: dict[str, Any]) -> dict[str, Any]:
    """Verify as asked, and return what the recorder counted."""
    import torch
    from sglang.kernels.ops.speculative import spec_tree
    from sglang.srt import runtime_context
    from sglang.srt.layers import dp_attention
    from sglang.srt.speculative import eagle_utils, spec_utils

    from draftproof_engines.recorders.sglang_verify import install

    given = {"speculative_use_rejection_sampling": True, "speculative_use_block_verification": asked["block"],
             "speculative_accept_threshold_single": 1.0, "speculative_accept_threshold_acc": 1.0}  # fmt: skip
    eagle_utils.get_spec = lambda: SimpleNamespace(**given)
    alone = SimpleNamespace(tp_group=SimpleNamespace(world_size=1))
    runtime_context.get_parallel = lambda: alone
    dp_attention.is_dp_attention_enabled = lambda: False
    spec_tree._is_xpu = True  # greedy chains by the kernel that is Triton's
    exec(asked["edit"], {"eagle_utils": eagle_utils, "spec_utils": spec_utils})
    recording = install(asked["folder"])

    torch.manual_seed(0)
    target, draft = torch.randn(2, asked["vocabulary"], asked["vocabulary"]).mul(1.5)
    gamma, size = asked["gamma"], len(asked["settings"])
    temperatures = torch.tensor([[s["temperature"] or 1.0] for s in asked["settings"]])
    top_ks = torch.tensor([1 if s["temperature"] == 0 else 1 << 30 for s in asked["settings"]])
    info = SimpleNamespace(
        temperatures=temperatures, top_ks=top_ks, is_all_greedy=bool((top_ks == 1).all()), need_top_k_sampling=False,
        need_top_p_sampling=False, acc_additive_penalties=None, acc_scaling_penalties=None, logit_bias=None,
        has_watermark_candidates=False, sampling_seed=None,
    )  # fmt: skip
    parameters = [SimpleNamespace(temperature=float(t), top_k=int(k), top_p=1.0) for t, k in zip(temperatures, top_ks)]
    batch = SimpleNamespace(
        device="cpu", forward_mode=SimpleNamespace(is_idle=lambda: False), sampling_info=info,
        reqs=[SimpleNamespace(rid=f"request {k}", sampling_params=p) for k, p in enumerate(parameters)],
        seq_lens=torch.ones(size, dtype=torch.int64), seq_lens_cpu=torch.ones(size, dtype=torch.int64),
    )  # fmt: skip
    last, width = torch.arange(size) % asked["vocabulary"], gamma + 1
    for _ in range(asked["steps"]):
        tokens, rows = [last], []
        for step in range(gamma):
            row, _, token = spec_utils.sample_draft_proposal(draft[tokens[-1]], temperatures, top_ks, draft_step=step)
            rows.append(row)
            tokens.append(token[:, 0])
        candidates = torch.stack(tokens, 1)
        verify = SimpleNamespace(
            draft_token=candidates.flatten(), draft_token_num=width, max_tree_depth=width, tree_topk=1,
            draft_probs=torch.stack(rows, 1), retrieve_index=torch.arange(size * width).view(size, width),
            retrieve_next_token=torch.tensor([*range(1, width), -1]).repeat(size, 1),
            retrieve_next_sibling=torch.full((size, width), -1),
        )  # fmt: skip
        output = SimpleNamespace(next_token_logits=target[candidates.flatten()].clone())
        predicted, lengths, index = eagle_utils.eagle_sample(verify, batch, output)
        last = torch.stack([predicted[index[k, n - 1]] for k, n in enumerate(lengths.tolist())]).long()
        batch.seq_lens = batch.seq_lens_cpu = batch.seq_lens + lengths
        while recording.recorder and recording.recorder._queue.qsize() > 32:  # drop none
            time.sleep(0.001)
    recorder = recording.recorder
    recorder.close()
    return {"recorded": recorder.recorded, "failed": recorder.failed, "error": recorder.error}


if __name__ == "__main__":
    main()
