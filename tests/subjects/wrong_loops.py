"""Decoding loops with a known bug each: ``DecodingLoop`` with one part replaced, and the bugs they descend from."""

from copy import deepcopy

import torch

from draftproof.models.generating.caches import CachedModel
from draftproof.models.generating.loop import DecodingLoop, PlainLoop
from draftproof.models.generating.sampling import Streams, uniform_draws, warp
from draftproof.models.generating.several_paths import SeveralPaths
from draftproof.verifiers.batched.emitted import emitted
from draftproof.verifiers.batched.sampling import Uniforms


class OneShort(CachedModel):
    """A cache that drops one token too many, and takes it for read."""

    def rewind(self, length):
        super().rewind(length - 1)
        self.read = length


class OneLong(CachedModel):
    """A cache that keeps the first rejected token, if there is one."""

    def rewind(self, length):
        read = torch.minimum(self.read, length)
        super().rewind(length + 1)
        self.read = read


class Stale(CachedModel):
    """A cache that takes all but the last token for read, X_gamma included, which has only been drawn."""

    def rewind(self, length):
        super().rewind(length)
        self.read = length


class CountsColumns(CachedModel):
    """A cache whose positions are counted by columns, holes and padding included."""

    def positions(self, real):
        columns = torch.arange(self.filled.shape[1] - real.shape[1], self.filled.shape[1])
        return columns.expand(real.shape)


class SeesHoles(CachedModel):
    """A cache that attends to padding and to rejected tokens."""

    def mask(self):
        return None


class ShiftedByChoice(CachedModel):
    """A cache whose positions are one too large once a path was chosen."""

    shift = 0

    def select(self, rows):
        super().select(rows)
        self.shift = 1

    def positions(self, real):
        return super().positions(real) + self.shift


class LosesContents(CachedModel):
    """A cache whose keys and values are 0 after each rollback; its length is right."""

    def rewind(self, length):
        super().rewind(length)
        for layer in self.cache.layers:
            layer.keys, layer.values = torch.zeros_like(layer.keys), torch.zeros_like(layer.values)


class SameForAllRows(Streams):
    """Streams with one seed for every row of the batch."""

    def generators(self, seed, row):
        return super().generators(seed, 0)


class SeededAlike(Streams):
    """Streams of draft, coins and residual that begin in one state."""

    def generators(self, seed, row):
        state = super().generators(seed, row)[0]
        return [deepcopy(state) for _ in range(3)]


class CoinDrawsToo(Streams):
    """Streams that draw the last token of a block with the number that the last draft token was tested with."""

    def uniforms(self, tokens):
        coins = uniform_draws(self.acceptance, tokens.shape[1]).to(tokens.device)
        return Uniforms(coins, coins[:, -1:].expand(-1, 2).contiguous())


class SameForAllPaths(Streams):
    """Streams that draw all paths of a text, two here, with the same random numbers."""

    def generators(self, seed, row):
        first = super().generators(seed, row - row % 2)
        return [first[0], *super().generators(seed, row)[1:]]


class L01(DecodingLoop):
    """The target's cache is rolled back one token short. Source: github.com/huggingface/transformers/pull/30068."""

    target_cache = OneShort


class L02(DecodingLoop):
    """A rejected token is left in the target's cache. Source: github.com/Sudharsanselvaraj/Token-Print/issues/110."""

    target_cache = OneLong


class L03(DecodingLoop):
    """The draft's cache lacks X_gamma after a whole block. Source: github.com/vllm-project/vllm/pull/9730."""

    draft_cache = Stale


class L04(DecodingLoop):
    """Positions are counted by columns of the cache. Source: github.com/unslothai/unsloth/pull/4078."""

    target_cache = draft_cache = CountsColumns


class L05(DecodingLoop):
    """Padding and rejected tokens are attended to. Source: github.com/unslothai/unsloth/issues/3699."""

    target_cache = draft_cache = SeesHoles


class L06(DecodingLoop):
    """The temperature reaches the draft alone. Source: github.com/vllm-project/vllm/issues/9834."""

    def target_scores(self, logits):
        return warp()(logits[..., : self.vocabulary])


class L07(DecodingLoop):
    """Tokens drawn after top-k come with the raw q. Source: github.com/huggingface/transformers/issues/47932."""

    def proposal(self, logits):
        return super().proposal(logits)[0], warp()(logits)


class L08(DecodingLoop):
    """Greedy draft tokens are tested with a softmax. Source: github.com/jaymody/speculative-sampling/issues/3."""

    def proposal(self, logits):
        scores = self.warp(logits)
        return scores.argmax(-1), scores


class L09(DecodingLoop):
    """The bonus token is of the row before. Source: github.com/openvinotoolkit/openvino.genai/issues/4190."""

    def target_scores(self, logits):
        scores = super().target_scores(logits)
        return torch.cat([scores[:, :-1], scores[:, -2:-1]], 1)


class L10(DecodingLoop):
    """An end token inside a block is ignored. Source: github.com/huggingface/transformers/issues/47912."""

    def cut(self, tokens):
        return tokens


class L11(DecodingLoop):
    """The modified target is not carried to the next iteration. Source: Sun et al. 2025, Appendix C."""

    def verified(self, drafted):
        return self.verifier.verify(drafted, self.chances)


class L12(DecodingLoop):
    """One stream of random numbers serves all rows. Source: github.com/flashinfer-ai/flashinfer/pull/425."""

    streams = SameForAllRows


class L13(DecodingLoop):
    """Draft, acceptance and residual are seeded alike. Source: github.com/ggml-org/llama.cpp/pull/27694."""

    streams = SeededAlike


class L14(DecodingLoop):
    """Acceptance and residual share their noise. Source: github.com/vllm-project/vllm/pull/54282."""

    streams = CoinDrawsToo


class L15(SeveralPaths):
    """The cache goes on with the first path, whichever was accepted."""

    def verified(self, drafted):
        given = super().verified(drafted)
        self.accepted_rows = [row - row % self.paths for row in self.accepted_rows]
        return given


class L16(SeveralPaths):
    """Positions are one off once a path was chosen."""

    target_cache = ShiftedByChoice


class L17(SeveralPaths):
    """One path is verified by the rows of another. Source: github.com/NVIDIA/TensorRT-LLM/issues/15098."""

    def target_scores(self, logits):
        scores = super().target_scores(logits)
        return scores.unflatten(0, (-1, self.paths)).roll(1, 1).flatten(0, 1)


class L18(SeveralPaths):
    """All paths of a text are drawn with the same random numbers."""

    streams = SameForAllPaths


class RunnerUp(DecodingLoop):
    """A loop that takes the second most probable token of the target wherever it can."""

    def target_scores(self, logits):
        self.second = logits[..., : self.vocabulary].topk(2).indices[..., 1:]
        return super().target_scores(logits)

    def verified(self, drafted):
        target = torch.full_like(drafted.target, -torch.inf).scatter_(-1, self.second, 0.0)
        return super().verified(drafted._replace(target=target))


class EmptyCaches(DecodingLoop):
    """A loop that forgets what its models have read."""

    target_cache = draft_cache = LosesContents


class KeepsAll(DecodingLoop):
    """A loop that keeps every draft token; only the last token of a block is the target's."""

    def verified(self, drafted):
        accepted = torch.full((len(drafted.tokens),), drafted.tokens.shape[1])
        return emitted(drafted.tokens, accepted, self.chances.draw(drafted.target[:, -1])[:, None])


class NoDrafts(PlainLoop):
    """A loop that decodes plainly."""


class OwnDrafts(DecodingLoop):
    """A right loop that drafts without ``proposal``."""

    def drafts(self, texts, gamma):
        tokens, scores, draft = [], [], self.caches["draft"]
        read, real = draft.unread(texts)
        for _ in range(gamma):
            scores.append(self.warp(draft.logits(read, real)[:, -1, : self.vocabulary]))
            tokens.append(self.draw(scores[-1]))
            read, real = tokens[-1][:, None], None
        return torch.stack(tokens, 1), torch.stack(scores, 1)

    def draw(self, scores):
        return self.chances.draw(scores)


class UnloggedDrafts(OwnDrafts):
    """A loop that draws its drafts from one stream of its own, begun anew for each token."""

    def draw(self, scores):
        return torch.multinomial(scores.softmax(-1), 1, generator=torch.Generator().manual_seed(0))[:, 0]


class OwnCoins(DecodingLoop):
    """A loop that verifies with coins of its own, the same in each block."""

    def verified(self, drafted):
        own = Streams(0, len(self.open))
        own.residual = self.chances.residual
        return self.verifier.verify(drafted, own)


class OwnLastTokens(DecodingLoop):
    """A loop that draws the last token of a block with numbers of its own, the same in each block."""

    def verified(self, drafted):
        own = Streams(0, len(self.open))
        own.acceptance = self.chances.acceptance
        return self.verifier.verify(drafted, own)


class OtherWarp(DecodingLoop):
    """A loop that has made its own temperature of the settings."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.warp = warp(1.1 * self.settings.temperature)


class Raises(DecodingLoop):
    """A loop that raises in its third iteration."""

    def iteration(self):
        if len(self.result.iterations) == 2:
            raise ZeroDivisionError("no room\nleft")
        return super().iteration()


class RaisesAtOnce(DecodingLoop):
    """A loop that cannot be made."""

    def __init__(self, *arguments, **named):
        raise ValueError("no room\nleft")


class ReturnsNothing(DecodingLoop):
    """A loop whose run returns nothing."""

    def run(self):
        super().run()


class LosesAnOutput(DecodingLoop):
    """A loop whose run returns one output too few."""

    def run(self):
        run = super().run()
        run.tokens.pop()
        return run


class ReturnsNoTokens(DecodingLoop):
    """A loop whose outputs are empty."""

    def run(self):
        run = super().run()
        run.tokens = [[] for _ in run.tokens]
        return run


class ReturnsNoIterations(DecodingLoop):
    """A loop whose run says nothing of its iterations."""

    def run(self):
        run = super().run()
        run.iterations.clear()
        return run


PATHS = {"verifier": "spec-infer", "paths": 2}

SHOWN_WITH = {
    **{f"L{n:02}": {} for n in range(1, 15)},
    "L06": {"temperature": 0.5},
    "L07": {"top_k": 2},
    "L10": {"eos": 0},
    "L11": {"verifier": "greedy-block"},
    **{f"L{n}": PATHS for n in range(15, 19)},
}
"""The options with which each loop shows its bug, besides the defaults."""


def wrong_loop(name):
    """Return the options of a run that decodes with this loop."""
    return {"loop": f"{__name__}:{name}", **SHOWN_WITH.get(name, {})}
