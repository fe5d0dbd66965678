"""How many tokens of the open model's texts it takes to see that its law was changed: the betting test, which knows the
rows (and, in a row of its own, the draft's), and model-equality testing's MMD, which has texts of the right law to
compare with. All on the same texts.

    python benchmarks/model_equality.py --out out/model-equality     (smollm2 as make smollm2 installs it)

It goes on where it was stopped. Texts: of every prompt as many, without a stop at their end (the template goes on), so
that all are of one length. The MMD's columns: at how many completions a side its p-value is at most ALPHA.
"""

import argparse
from pathlib import Path
from time import process_time

import numpy as np
import torch

from draftproof.benchmarks.hamming_mmd import permutation_p_value
from draftproof.models.generating.generate import generate
from draftproof.models.generating.loop_verifiers import LoopVerifier, loop_verifier
from draftproof.models.libraries import torch_threads
from draftproof.models.pairs.loading import load_pair
from draftproof.models.pairs.presets import CHAT
from draftproof.models.pairs.prompts import EMBEDDED, prompts
from draftproof.reports.audits.loops.forward_passes import full_pass
from draftproof.stattests.betting import SetBetting
from draftproof.stattests.tilts import SETS, TILTS, WITH_DRAFTS, TiltBetting, bets_on_transform, placed
from draftproof.verifiers.batched.emitted import Emitted, emitted

ALPHA = 1e-3
CONDITIONS = {
    "right": {}, "right again": {}, "temperature 1.1": {"temperature": 1.1}, "top-p 0.95": {"top_p": 0.95},
    "every third layer rounded to 3 bits": {"model": "draft"}, "the draft's law in one block of ten": {"model": "both"},
}  # fmt: skip
"""What the texts are of: the target's own law at T = 1 twice, and what it was changed to."""


def one_in_ten_unverified(seed):
    """Token verification that takes the draft's block as it is, one in ten."""
    token, drawn = loop_verifier("token"), np.random.default_rng((seed, 2))

    def verify(drafted, chances):
        given, last = token.verify(drafted, chances), torch.multinomial(drafted.probabilities().target[:, -1], 1)
        whole = emitted(drafted.tokens, torch.full_like(given.accepted, drafted.tokens.shape[1]), last)
        taken = torch.from_numpy(drawn.random(len(last)) < 0.1)
        tokens = torch.where(taken[:, None], whole.tokens, given.tokens)
        return Emitted(tokens, torch.where(taken, whole.accepted, given.accepted))

    return LoopVerifier("one block of ten unverified", verify)


def written(pair, changes, copies, length, seed):
    """Texts [prompts * copies, length], prompt after prompt."""
    asked = [pair.encode(text) for text in prompts(EMBEDDED)]
    given, settings = [ids for ids in asked for _ in range(copies)], dict(changes)
    settings |= {"max_new_tokens": length, "seed": seed, "vocabulary": pair.vocabulary}
    if (model := settings.pop("model", "")) == "both":
        torch.manual_seed(seed)
        made = generate(pair.target, pair.draft, given, one_in_ten_unverified(seed), gamma=4, **settings)
    else:
        made = generate(pair.draft if model else pair.target, None, given, **settings)
    return asked, np.array(made.tokens)


@torch.inference_mode()
def looked_up(pair, asked, texts, copies, bets_on, seed):
    """Of each token of the first texts of each prompt: its transform, log tilts and whether it is possible, under the
    target's rows and the draft's."""
    uniforms = np.random.default_rng((seed, 1))
    transform, tilts, possible = [], [], []
    for n, text in enumerate(texts):
        if n % copies >= bets_on:
            continue
        prompt = asked[n // copies]
        passes = [full_pass(model, [*prompt, *text], pair.vocabulary) for model in (pair.target, pair.draft)]
        rows = [logits[len(prompt) - 1 : -1].double().softmax(-1).numpy() for logits in passes]
        for row, draft, token in zip(*rows, text):
            place = placed(row, [token], draft)
            transform.append(place.transform(uniforms.random(1))[0])
            tilts.append(place.log_tilts[:, 0])
            possible.append(place.own[0] > 0)
    return {"transform": np.array(transform), "tilts": np.array(tilts).T, "possible": np.array(possible)}


def betting_token(found, tokens, names):
    """The token by which the bets have won, None if never: one order of the texts. tokens: [n], their order."""
    sets, tilts = SetBetting(SETS, ALPHA / 2), TiltBetting(ALPHA / 2, tilts=names)
    won = [sets.observe(bets_on_transform(found["transform"][tokens])).refuted_at,
           tilts.observe(found["tilts"][: len(names), tokens], found["possible"][tokens]).refuted_at]  # fmt: skip
    return min((at for at in won if at is not None), default=None)


def compare(kept, copies, length, orders=20):
    """Rows of the table: the median over orders of the texts, and the MMD for more and more completions a prompt."""
    right, texts = kept["right"]["texts"], len(kept["right"]["texts"])
    for name, found in kept.items():
        if name == "right":
            continue
        row, bet_on = [], len(found["transform"]) // length
        for kind, names in (("betting", TILTS), ("betting with the draft's rows", WITH_DRAFTS)):
            at = []
            for order in range(orders):
                drawn = np.random.default_rng(order).permutation(bet_on)
                at.append(betting_token(found, (drawn[:, None] * length + np.arange(length)).ravel(), names))
            seen = sorted(one for one in at if one is not None)
            middle = f"{int(np.median(seen)):,}" if len(seen) > orders // 2 else f"beyond {bet_on * length:,}"
            row.append(f"{kind}: {len(seen)} of {orders} orders, median {middle} tokens")
        for each in (k for k in (2, 4, 8, 16, 32) if k <= copies):
            at = (np.arange(texts // copies)[:, None] * copies + np.arange(each)).ravel()
            both = np.concatenate([found["texts"][at], right[at]])
            first = np.repeat([1.0, 0.0], len(at))
            p = permutation_p_value(np.tile(at // copies, 2), both, first)
            row.append(f"MMD, {len(at)} completions a side ({len(at) * length:,} tokens): p {p:.2g}")
        print(name, *row, sep="\n  ", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--copies", type=int, default=16, help="texts of each of the 12 prompts")
    parser.add_argument("--bets-on", type=int, default=8, help="of each prompt's texts; the MMD has all")
    parser.add_argument("--length", type=int, default=32)
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    pair, kept = load_pair("smollm2:target", "smollm2:draft", template=CHAT), {}
    with torch_threads(1):
        for seed, (name, changes) in enumerate(CONDITIONS.items()):
            file, began = asked.out / f"{name.replace(' ', '-')}.npz", process_time()
            if not file.is_file():
                encoded, texts = written(pair, changes, asked.copies, asked.length, seed)
                found = looked_up(pair, encoded, texts, asked.copies, asked.bets_on, seed) if seed else {}
                np.savez(file, texts=texts, **found)
                print(f"{name}: {texts.size:,} tokens, {process_time() - began:.0f} s of processor time", flush=True)
            kept[name] = dict(np.load(file))
            if len(kept) > 1:
                compare({"right": kept["right"], name: kept[name]}, asked.copies, asked.length)


if __name__ == "__main__":
    main()
