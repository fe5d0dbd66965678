"""sglang-jax: its chain of drafts (``fused_verify`` of its overlap scheduler), its draft trees, its plain sampler.

Driven: uniforms (float32, 23 bits), one a draft token and one for the last token of a request. What drafts takes the
likeliest tokens: a drafted token x is kept with probability p(x), the next of its siblings with the coin that is left,
and what is emitted else comes from p without them. Chains are verified as the jitted caller does, with a model that
hands out the rows given; trees by ``EagleVerifyInput.sample`` in eager JAX, with the twin in plain JAX of its greedy
kernel. Requests are its SamplingParams, and what comes out is cut as its scheduler cuts it.
"""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from draftproof.verifiers.adapters.calling_convention import on_demand
from draftproof.verifiers.adapters.protocol import Row, by_length
from draftproof_engines.adapters.tpu_inference import padded_size, use_jax
from draftproof_engines.lifted import Edit, Lifted, LiftedAdapter, lift

ENGINE, FOLDER = "sglang-jax", "python/sgl_jax/srt"
CHAIN = (
    "GreedyDraftInputs", "GreedySampleAndPrepareOutput", "_active_dp_slot_mask", "_prepare_rejection_sampling",
    "_take_with_index_sharding", "_prepare_draft_inputs", "_verify_greedy", "_verify_rejection_sampling",
    "_build_chain_verify_arrays", "_build_verify",
)  # fmt: skip
PLAIN = ("_apply_min_p_filter", "multinomial", "top_k_top_p_min_p_sampling_from_probs_jax_with_mask")
COINS = """jax.random.uniform(
                coins_key,
                (target_bs, speculative_num_draft_tokens - 1),
                dtype=jnp.float32,
            )"""
CHAIN_DRIVEN = (
    Edit(COINS, "DRIVEN.accept", "the uniforms are an input"),
    Edit("jax.random.uniform(coin_f_key, (target_bs,), dtype=jnp.float32)", "DRIVEN.last", "and the last token's"),
)
TREE_DRIVEN = (
    Edit("jax.random.uniform(rngs[1], candidates.shape, dtype=jnp.float32)", "DRIVEN.accept",
         "the uniforms are an input"),
    Edit("jax.random.uniform(rngs[2], (bs,), dtype=jnp.float32)", "DRIVEN.last", "and the last token's"),
    Edit("with jax.set_mesh(mesh):", "if True:", "nothing is sharded"),
)  # fmt: skip
PLAIN_DRIVEN = Edit("random.categorical(rng, inputs)", "(inputs + DRIVEN.noise).argmax(-1)", "the noise is an input")
LAST = {"name": "last", "kind": "uniform", "shape": [], "bits": 23}


class Asked(NamedTuple):
    """The settings of a sampled request, in the words of its SamplingParams; of the thresholds those of its server."""

    temperature: float = 1.0
    top_k: int = -1
    top_p: float = 1.0
    threshold_single: float = 1.0
    threshold_acc: float = 1.0


AS_IT_IS = Asked()


class NoSharding:
    """In place of JAX's classes for shardings: on one device nothing has one."""


class BatchInfo(SimpleNamespace):
    """A batch's settings, as its SamplingBatchInfo holds them."""

    def __len__(self) -> int:
        return len(self.temperatures)


class JaxEngine(LiftedAdapter):
    """What chains, trees and the plain sampler share."""

    array, mixes_greedy = "numpy", True

    def __init__(self, asked: Asked):
        self.asked, self.driven, self.lifted = asked, SimpleNamespace(), list[Lifted]()
        self.jax = jax = use_jax()
        given = {"jax": jax, "lax": jax.lax, "Callable": Callable, "Sequence": Sequence}
        masks = self._lift("layers/binary_search.py", (), **given)
        self.masks = {name: masks[name] for name in ("topk_mask", "topp_mask", "float32_bsearch")}
        kernels = self._lift("kernels/speculative/kernel.py", (
            "top_k_renorm_prob", "top_p_renorm_prob", "_sampling_from_prob", "tree_speculative_sampling_target_only",
            "verify_tree_greedy",
        ), **self.masks)  # fmt: skip
        self.kernels = {name: jax.jit(kernels[name]) for name in ("top_k_renorm_prob", "top_p_renorm_prob")}
        self.rules = SimpleNamespace(**kernels)
        params = self._lift("sampling/sampling_params.py", (
            "_SAMPLING_EPS", "TOP_K_ALL", "SamplingParams"
        ), get_bool_env_var=lambda _: False)  # fmt: skip
        self.params, self.keep_all = params["SamplingParams"], params["TOP_K_ALL"]
        simulated = self._lift("speculative/spec_utils.py", (), annotations=True, os=os, math=math,
                               dataclass=dataclass)  # fmt: skip
        names = ("SIMULATED_ACCEPTANCE_CONFIG", "apply_simulated_acceptance")
        self.simulated = {name: simulated[name] for name in names}
        self.resolved = self._lift("speculative/overlap_utils.py", ("resolve_spec_decode_token_ids",), np=np)

    def _lift(
        self, file: str, names: Sequence[str], edits: Sequence[Edit] = (), annotations: bool = False, **given: Any
    ) -> dict[str, Any]:
        given = {"jax": self.jax, "jnp": self.jax.numpy, "DRIVEN": self.driven, **given}
        self.lifted.append(lift(ENGINE, f"{FOLDER}/{file}", names, given, edits, annotations=annotations))
        return self.lifted[-1].functions

    def _sampling(self, rows: Sequence[Row], size: int) -> Any:
        """Return what its batch holds of the requests; slots behind the last as it pads them."""
        asked = self.asked
        own = {"temperature": asked.temperature, "top_k": asked.top_k, "top_p": asked.top_p}
        requests = [self.params(**{"temperature": 0.0} if row.greedy else own) for row in rows]
        info = BatchInfo(temperatures=np.ones((size, 1), np.float32), top_ks=np.ones(size, np.int32),
                    top_ps=np.ones(size, np.float32))  # fmt: skip
        for k, request in enumerate(requests):
            info.temperatures[k], info.top_ks[k], info.top_ps[k] = request.temperature, request.top_k, request.top_p
        info.is_all_greedy = all(request.top_k <= 1 for request in requests)
        return info

    def _emitted(self, predicted: Any, lengths: Any, count: int, width: int) -> list[list[int]]:
        """Return what its scheduler takes of a batch."""
        result = SimpleNamespace(next_token_ids=np.asarray(predicted), accept_lens=np.asarray(lengths))
        batch = SimpleNamespace(per_dp_bs_size=count, dp_size=1, reqs_info=[SimpleNamespace(reqs=[None] * count)])
        return self.resolved["resolve_spec_decode_token_ids"](result, batch, width)[0]


class JaxChain(JaxEngine):
    """A chain of drafts, verified by the jitted caller of the overlap scheduler."""

    batch = 64
    random = ({"name": "accept", "kind": "uniform", "shape": ["gamma"], "bits": 23}, LAST)

    def __init__(self, asked: Asked = AS_IT_IS):
        super().__init__(asked)
        model = SimpleNamespace(merge=lambda _, logits: lambda *_: (
            SimpleNamespace(next_token_logits=logits, hidden_states=logits), None, None, None))  # fmt: skip
        made = self._lift("speculative/draft_extend_fused.py", CHAIN, CHAIN_DRIVEN, np=np, nnx=model,
                          NamedTuple=NamedTuple, NamedSharding=NoSharding, P=NoSharding,
                          partial=lambda *_, **__: lambda function: function,
                          TOP_K_ALL=self.keep_all, **self.kernels, **self.simulated)  # fmt: skip
        self.prepare, self.verify = made["_prepare_rejection_sampling"], made["_build_verify"](topk=1)
        static = ["gamma", "greedy", "top_k", "top_p"]
        self.compiled = self.jax.jit(self._forward, static_argnames=static)
        self.describe(*self.lifted, jax=self.jax.__version__, bonus="drawn inside")

    def _forward(
        self, logits: Any, tokens: Any, lengths: Any, numbers: Any, sampling: Any, *, gamma: int, greedy: bool,
        top_k: bool, top_p: bool
    ) -> Any:  # fmt: skip
        self.driven.accept, self.driven.last = numbers
        forward = SimpleNamespace(seq_lens=lengths, spec_info=SimpleNamespace(), attn_backend=None)
        leaves, held = self.jax.tree_util.tree_flatten(logits)
        last = self.jax.numpy.zeros(len(lengths), dtype=self.jax.numpy.int32)
        made = self.verify(
            None, held, leaves, forward, None, None, last, tokens, None, None, None, lengths,
            self.jax.random.PRNGKey(0), 0, *sampling, speculative_num_steps=gamma,
            speculative_num_draft_tokens=gamma + 1, return_target_logits=False, use_relay_state=False, dp_size=1,
            is_greedy=greedy, threshold_single=self.asked.threshold_single, threshold_acc=self.asked.threshold_acc,
            enable_top_k=top_k, enable_top_p=top_p,
        )  # fmt: skip
        return made[12], made[6]

    def together(self, rows: Sequence[Row]) -> list[Sequence[int]]:
        return by_length(rows, self._launched)

    def _launched(self, rows: Sequence[Row]) -> list[list[int]]:
        size, gamma = padded_size(len(rows)), len(rows[0].tokens)
        info = self._sampling(rows, size)
        logits = np.stack([_logits(row.target) for row in rows])
        batch = SimpleNamespace(real_bs=len(rows))
        *sampling, top_k, top_p = self.prepare(info, batch, size, logits.shape[-1])
        accept, last = (_padded([row.random[name] for row in rows], size) for name in ("accept", "last"))
        tokens = _padded([row.tokens for row in rows], size).astype(np.int32)
        predicted, lengths = self.compiled(
            _padded(logits, size).reshape(-1, logits.shape[-1]), tokens,
            np.where(np.arange(size) < len(rows), 7, 0).astype(np.int32), (accept, last), tuple(sampling),
            gamma=gamma, greedy=info.is_all_greedy, top_k=top_k, top_p=top_p,
        )  # fmt: skip
        return self._emitted(predicted, lengths, len(rows), gamma + 1)


class JaxTree(JaxEngine):
    """A draft tree, verified by ``EagleVerifyInput.sample``.

    scheduled: whether what is emitted is what its scheduler takes of the result, or the tokens that were accepted.
    """

    batch, parents, drafting = 8, True, ("top",)
    random = ({"name": "accept", "kind": "uniform", "shape": ["N"], "bits": 23}, LAST)  # the last node has no child

    def __init__(self, scheduled: bool, asked: Asked = AS_IT_IS):
        super().__init__(asked)
        self.scheduled = scheduled
        thresholds = {f"speculative_accept_{name}": getattr(asked, name) for name in asked._fields[3:]}
        made = self._lift("speculative/eagle_info.py", ("EagleVerifyInput",), TREE_DRIVEN, True, np=np,
                          dataclass=dataclass, ModelWorkerBatch=object, LogitsProcessorOutput=object, Mesh=object,
                          nnx=SimpleNamespace(Rngs=object),
                          register_pytree_node_class=lambda made: made, verify_tree_greedy=self._greedy,
                          tree_speculative_sampling_target_only=self.rules.tree_speculative_sampling_target_only,
                          global_server_args_dict=thresholds, **self.kernels, **self.simulated)  # fmt: skip
        self.input = made["EagleVerifyInput"]
        self.describe(*self.lifted, jax=self.jax.__version__, bonus="drawn inside")

    def _greedy(self, *, draft_tokens: Any, next_token_logits: Any, **given: Any) -> Any:
        """Return the twin in plain JAX of its kernel for greedy batches."""
        numpy, size, width = self.jax.numpy, len(given["retrive_index"]), given["num_draft_tokens"]
        return self.rules.verify_tree_greedy(
            numpy.zeros(size * width + 1, dtype=numpy.int32),
            numpy.full((size, given["speculative_num_steps"] + 1), -1, dtype=numpy.int32),
            numpy.zeros(size, dtype=numpy.int32), draft_tokens.reshape(size, width),
            given["retrive_index"], given["retrive_next_token"], given["retrive_next_sibling"],
            numpy.argmax(next_token_logits, axis=-1).flatten(),
        )  # fmt: skip

    def __call__(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, target: Any, draft: Any, tokens: Any, parents: Any, random: Any
    ) -> Sequence[int]:
        return self.together([Row(target, draft, tokens, random, parents=parents)])[0]

    def together(self, rows: Sequence[Row]) -> list[Sequence[int]]:
        return by_length(rows, self._launched)

    def _launched(self, rows: Sequence[Row]) -> list[list[int]]:
        numpy, size, width = self.jax.numpy, len(rows), len(rows[0].tokens) + 1
        shapes = [_pointers([*map(int, row.parents)]) for row in rows]
        steps = max(depth for _, _, depth in shapes)
        tokens = np.stack([np.concatenate([[0], row.tokens]) for row in rows]).astype(np.int32)
        logits = np.concatenate([_logits(row.target) for row in rows])
        self.driven.accept = numpy.array([[*row.random["accept"], 0.5] for row in rows], dtype=numpy.float32)
        self.driven.last = numpy.array([row.random["last"] for row in rows], dtype=numpy.float32)
        given = self.input(
            numpy.array(tokens.reshape(-1)), None, None, numpy.arange(size * width).reshape(size, width),
            numpy.array([child for child, _, _ in shapes]), numpy.array([sibling for _, sibling, _ in shapes]),
            steps, width,
        )  # fmt: skip
        batch = SimpleNamespace(sampling_info=self._sampling(rows, size))
        output, key = SimpleNamespace(next_token_logits=numpy.array(logits)), self.jax.random.PRNGKey(0)
        predicted, verified, lengths, _ = given.sample(batch, output, SimpleNamespace(params=lambda: key), None)
        if self.scheduled:
            return self._emitted(predicted, lengths, size, width)
        return [row[:n].tolist() for row, n in zip(verified.reshape(size, -1), lengths)]


class JaxPlain(JaxEngine):
    """Its sampler without speculation, on the first row: what draws a request's first token."""

    batch = 64
    random = ({"name": "noise", "kind": "gumbel", "shape": ["V"]},)

    def __init__(self, asked: Asked):
        super().__init__(asked)
        made = self._lift("layers/sampler.py", PLAIN, [PLAIN_DRIVEN], lax=self.jax.lax, **self.masks)
        self.draw, self.compiled = made[PLAIN[-1]], self.jax.jit(self._drawn)
        self.describe(*self.lifted, jax=self.jax.__version__)

    def _drawn(self, logits: Any, noise: Any, top_ks: Any, top_ps: Any, temperatures: Any) -> Any:
        self.driven.noise = noise
        return self.draw((logits, None, top_ks, top_ps, top_ps, None, temperatures, None, False, None))

    def together(self, rows: Sequence[Row]) -> list[list[int]]:
        size = padded_size(len(rows))
        info, noise = self._sampling(rows, size), _padded([row.random["noise"] for row in rows], size)
        logits = _padded([_logits(row.target[0]) for row in rows], size)
        drawn = self.compiled(logits, noise, info.top_ks, info.top_ps, info.temperatures)
        return [[token] for token in drawn.tolist()[: len(rows)]]


def _pointers(parents: Sequence[int]) -> tuple[list[int], list[int], int]:
    """Return, for the root and the nodes, the first child, the next sibling, -1 for none; and the depth of the tree."""
    child, sibling, last, depth = [-1] * (len(parents) + 1), [-1] * (len(parents) + 1), dict[int, int](), [0]
    for node, parent in enumerate(parents, 1):
        depth.append(depth[parent + 1] + 1)
        if parent in last:
            sibling[last[parent]] = node
        else:
            child[parent + 1] = node
        last[parent] = node
    return child, sibling, max(depth)


def _logits(rows: Any) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(rows, dtype=np.float32))


def _padded(rows: Any, size: int) -> np.ndarray:
    """Return rows of zeros behind the last."""
    rows = np.asarray(rows, dtype=np.float32)
    return np.concatenate([rows, np.zeros((size - len(rows), *rows.shape[1:]), np.float32)])


COOL = Asked(0.5, 3, 0.75)
__getattr__ = on_demand(globals(), {
    "chain": JaxChain, "tree": lambda: JaxTree(False), "scheduled": lambda: JaxTree(True),
    "settings": lambda: JaxChain(COOL), "tree_settings": lambda: JaxTree(False, COOL), "plain": lambda: JaxPlain(COOL),
    "thresholds": lambda: JaxChain(Asked(threshold_single=0.5, threshold_acc=0.5)),
})  # fmt: skip
