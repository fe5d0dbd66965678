"""transformers from outside: text that ``generate`` samples from forged checkpoints, assisted or not."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

NAMES = {"no_repeat_ngram": "no_repeat_ngram_size", "min_tokens": "min_new_tokens", "eos": "eos_token_id",
         "lookup": "prompt_lookup_num_tokens"}  # fmt: skip
"""Settings of ours that have another name there; the others go to ``generate`` as they are."""


@cache
def _model(folder: Path) -> Any:
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(folder).eval()


@cache
def _tokenizer(folder: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)


UNUSED = 3
"""Words that a draft's own tokenizer has and the target's has not."""


@cache
def _apart(folder: Path) -> tuple[Any, Any]:
    """Return the draft with a tokenizer of its own: the same words under other ids, the last first, and words that
    never come.

    The rows of its embeddings and of its head are put into that order; words that never come have those of </s>.
    """
    import torch
    from tokenizers import Tokenizer
    from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

    model, own = AutoModelForCausalLM.from_pretrained(folder).eval(), _tokenizer(folder)
    size = model.config.vocab_size + UNUSED
    ids = {word: size - 1 - token for word, token in own.get_vocab().items()}
    ids |= {f"unused{k}": k for k in range(size) if k not in ids.values()}
    rows = [min(size - 1 - k, own.eos_token_id) for k in range(size)]
    layers: list[Any] = [model.get_input_embeddings(), model.get_output_embeddings()]
    with torch.no_grad():
        for layer in layers:
            layer.weight = torch.nn.Parameter(layer.weight[rows].clone())
    layers[0].num_embeddings = layers[1].out_features = model.config.vocab_size = size
    start, end = own.bos_token, own.eos_token
    for config in (model.config, model.generation_config):
        config.bos_token_id, config.eos_token_id, config.pad_token_id = ids[start], ids[end], ids[end]
    state = json.loads(own.backend_tokenizer.to_str())
    state["model"]["vocab"] = ids
    state["added_tokens"] = [token | {"id": ids[token["content"]]} for token in state["added_tokens"]]
    state["post_processor"]["special_tokens"][start]["ids"] = [ids[start]]
    tokenizer = Tokenizer.from_str(json.dumps(state))
    return model, PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=start, eos_token=end)


def sample(
    target: Path, draft: Path | None, start: int, tokens: int, gamma: int, seeds: Sequence[int], **settings: Any
) -> Iterator[Any]:
    """Yield for each seed the tokens that follow the prompt [start, *prompt]; without a draft by plain sampling.

    As the checkpoints ask for it: temperature 1, not truncated. settings: those of ``models.decoding_settings``, and
    ``draft_temperature``, ``adaptive`` (transformers' own draft lengths), ``early_exit`` (the layer after which the
    target drafts), ``universal`` (target and draft have tokenizers of their own), more arguments of ``generate``,
    such as ``assistant_ensemble_weight``, its named lossy mode.
    """
    import torch

    given = dict(settings)
    model, more = _model(target), {}
    if draft is not None:
        more = _drafting(given, target, draft, gamma)
    for name in ("draft_temperature", "adaptive", "early_exit", "universal", "lookup"):
        given.pop(name, None)
    prompt, count, logprobs = given.pop("prompt", ()), given.pop("n", 1), given.pop("logprobs", False)
    _translate(given, start, len(prompt) + 1 + tokens)
    ids = torch.tensor([[start, *prompt]])
    if others := given.pop("together", None):
        if any(set(other) - {"prompt"} for other in others):
            raise ValueError("requests of one batch must have the same settings")
        rows = [[start, *prompt], *([start, *other.get("prompt", ())] for other in others)]
        widest = max(map(len, rows))
        ids = torch.tensor([[start] * (widest - len(row)) + row for row in rows])
        mask = torch.tensor([[0] * (widest - len(row)) + [1] * len(row) for row in rows])
    else:
        mask = torch.ones_like(ids)
    if logprobs:
        given |= {"return_dict_in_generate": True, "output_scores": True}
    if count > 1:
        given["num_return_sequences"] = count
    for seed in seeds:
        torch.manual_seed(seed)
        made = model.generate(ids, attention_mask=mask, max_new_tokens=tokens, **given, **more)
        texts = (made.sequences if logprobs else made)[:, ids.shape[1] :].tolist()
        if logprobs:
            scores = [row[0].float().log_softmax(-1)[t].item() for row, t in zip(made.scores, texts[0])]
            yield texts[0], scores
        else:
            yield [_until(text, given.get("eos_token_id")) for text in texts] if len(texts) > 1 else texts[0]


def _until(text: list[int], ends: Sequence[int] | None) -> list[int]:
    """Return a text of several without the padding behind its end."""
    at = next((i for i, token in enumerate(text) if token in (ends or ())), len(text))
    return text[: at + 1]


def _drafting(given: Mapping[str, Any], target: Path, draft: Path, gamma: int) -> dict[str, Any]:
    """Return the arguments for candidates: looked up in the text, by early layers, or by the draft."""
    if given.get("lookup"):
        return {"prompt_lookup_num_tokens": gamma}
    if given.get("early_exit"):
        return {"assistant_early_exit": given["early_exit"]}
    assistant, tokenizer = _apart(draft) if given.get("universal") else (_model(draft), None)
    config = assistant.generation_config
    config.num_assistant_tokens, config.temperature = gamma, float(given.get("draft_temperature", 1.0))
    # gamma tokens each time: by default it drafts fewer after a token that the draft is not sure of.
    adaptive = given.get("adaptive", False)
    config.num_assistant_tokens_schedule = "heuristic" if adaptive else "constant"
    config.assistant_confidence_threshold = 0.4 if adaptive else 0.0
    if given.get("universal"):
        words = {"tokenizer": _tokenizer(target), "assistant_tokenizer": tokenizer}
        return {"assistant_model": assistant, **words}
    return {"assistant_model": assistant}


def _translate(given: dict[str, Any], start: int, longest: int) -> None:
    """Put the settings into the words of ``generate``."""
    temperature = given.pop("temperature", 1.0)
    if temperature == 0:
        given["do_sample"] = False
    elif temperature != 1:
        given["temperature"] = float(temperature)
    if bias := given.pop("logit_bias", None):
        given["sequence_bias"] = {(int(token),): float(by) for token, by in bias.items()}
    if banned := given.pop("banned", None):
        given["suppress_tokens"] = banned
    if ends := given.pop("forced_eos", None):
        given["forced_eos_token_id"] = ends
    allowed, grammar = given.pop("allowed", None), given.pop("grammar", None)
    if allowed is not None or grammar is not None:
        given["prefix_allowed_tokens_fn"] = lambda row, text: _may(text.tolist(), start, allowed, grammar or {})
    if stops := given.pop("stop", None):
        from transformers import StoppingCriteriaList

        given["stopping_criteria"] = StoppingCriteriaList([_Stops(stops)])
    for ours, theirs in NAMES.items():
        if ours in given:
            given[theirs] = given.pop(ours)


def _may(text: list[int], start: int, allowed: list[int] | None, grammar: Mapping[str, list[int]]) -> list[int]:
    last = "" if text[-1] == start else str(text[-1])
    every = allowed if allowed is not None else [*range(start)]
    return [token for token in every if token in grammar.get(last, every)]


class _Stops:
    """A text ends behind one of these sequences, as transformers' own criterion for strings has it: at its end."""

    def __init__(self, stops: Sequence[Sequence[int]]):
        self.stops = [list(stop) for stop in stops]

    def __call__(self, ids: Any, scores: Any, **_: Any) -> Any:
        import torch

        return torch.tensor([any(row[-len(s) :] == s for s in self.stops) for row in ids.tolist()])
