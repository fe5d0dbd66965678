"""transformers' ``generate`` with an assistant behind a URL, on the open model, audited as by ``draftproof server URL
--reference smollm2:target --draft smollm2:draft --without PLAIN``: five right runs, and planted faults.

    python benchmarks/assisted_generation.py [--only right ...]     (smollm2 as make smollm2 installs it)

A line a run: the token by which it is refuted, or that it is not, and what the bets pay for drift.
"""

import argparse
from dataclasses import replace
from time import process_time
from unittest.mock import patch

import torch
from transformers.generation import utils

from draftproof.models.libraries import torch_threads
from draftproof.models.pairs.loading import load_pair
from draftproof.reports.audits.servers.reference import REPORTED, audit_reference
from draftproof.reports.audits.servers.settings import ReferenceSettings
from draftproof.tests.subjects.reference_server import Server, serving

GAMMA = 4
RIGHT, DRAFTED = "right", "the draft's law in one block of ten"
FAULTS = {"temperature 1.1": {"temperature": 1.1}, "top-p 0.95": {"top_p": 0.95}, DRAFTED: {}}
CLEAN = 5

verified = utils._speculative_sampling


def one_in_ten_unverified(candidates, logits, length, target, **options):
    """The assistant's block as it is, in one of ten."""
    if torch.rand(()) >= 0.1:
        return verified(candidates, logits, length, target, **options)
    bonus = torch.multinomial(target[:, -1].softmax(-1), 1)
    return torch.cat([candidates[:, -length:], bonus], -1), torch.tensor(length)


class GenerateServer(Server):
    """A server whose texts ``generate`` writes. draft: None for plain sampling. settings: in place of those asked."""

    def __init__(self, pair, draft=None, fault="", settings=()):
        super().__init__(pair.target, draft, fault)
        self.ends, self.settings = pair.end, {"do_sample": True, "top_k": 0, **dict(settings)}
        if draft is not None:
            config = draft.generation_config
            config.num_assistant_tokens, config.num_assistant_tokens_schedule = GAMMA, "constant"
            config.assistant_confidence_threshold = 0.0
            self.settings["assistant_model"] = draft

    def text(self, body):
        prompt = torch.tensor([body["prompt"]])
        verify = one_in_ten_unverified if self.fault == DRAFTED else verified
        with self.lock, patch.object(utils, "_speculative_sampling", verify):
            torch.manual_seed(body["seed"])
            made = self.model.generate(
                prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=body["max_tokens"],
                return_dict_in_generate=True, output_logits=True, **self.settings,
            )  # fmt: skip
        tokens = made.sequences[0, prompt.shape[1] :].tolist()
        tops = [row[0].double().log_softmax(-1).topk(REPORTED) for row in made.logits[: len(tokens)]]
        said = [[{"id": k, "logprob": p} for k, p in zip(top.indices.tolist(), top.values.tolist())] for top in tops]
        return tokens, said, "stop" if tokens[-1] in self.ends else "length"


def judged(pair, fault, texts, seed):
    began = process_time()
    settings = ReferenceSettings(samples=texts, at_once=1, timeout=1e5, request_timeout=1e4, draft=pair.names[1])
    speculative = serving(pair, pair.draft, fault, FAULTS.get(fault, {}), kind=GenerateServer)
    with serving(pair, kind=GenerateServer) as plain, speculative as url:
        report = audit_reference(url, pair.names[0], replace(settings, without=plain), seed)
    if not report.evidence:
        raise SystemExit(str(report.failure))
    bets = report.evidence[0].detail
    said = f"refuted at token {bets.refuted_at_token}" if bets.refuted_at_token else "not refuted"
    witness = report.evidence[0].witness
    print(
        f"{fault}, seed {seed}: {said} ({witness.sequence if witness else f'limit {report.evidence[0].bound:.2g}'}); "
        f"{bets.tokens} tokens of {bets.texts} texts; {report.findings['drift']}; "
        f"{process_time() - began:.0f} s of processor time",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description="generate with an assistant, bet on")
    parser.add_argument("--only", nargs="*", choices=[RIGHT, *FAULTS], default=[RIGHT, *FAULTS])
    parser.add_argument("--draft", default="smollm2:draft")
    parser.add_argument("--texts", type=int, default=8, help="of a right run; a fault has five times as many")
    asked = parser.parse_args()
    pair = load_pair("smollm2:target", asked.draft)
    with torch_threads(1):
        for fault in asked.only:
            for seed in range(CLEAN) if fault == RIGHT else [0]:
                judged(pair, fault, asked.texts * (1 if fault == RIGHT else 5), seed)


if __name__ == "__main__":
    main()
