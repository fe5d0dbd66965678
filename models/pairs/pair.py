"""A target, a draft model and the tokenizer of both, ready to decode."""

from dataclasses import dataclass
from typing import Any

from ..errors import InputError


@dataclass(frozen=True)
class Pair:
    """A pair of models with one tokenizer, as ``loading.load_pair`` loads them.

    target, draft: causal language models of transformers, in evaluation mode on ``device`` in ``dtype``.
    vocabulary: ids below it are tokens of both; from it on there is padding, or one model only. The law of either model
        is that of its first ``vocabulary`` logits, cut before the softmax.
    end: ids that end a text.
    context: the tokens that both models can read, None if they do not say.
    names: as they were asked for.
    commits: of the Hub's snapshots, None for plain folders.
    template: what a prompt is put into before it is encoded, with ``{prompt}`` in its place.
    """

    target: Any
    draft: Any
    tokenizer: Any
    vocabulary: int
    end: tuple[int, ...]
    context: int | None
    names: tuple[str, str]
    commits: tuple[str | None, str | None]
    device: str
    dtype: str
    template: str = "{prompt}"

    def encode(self, prompt: str, room: int = 0) -> list[int]:
        """Return the prompt's ids, in the template and after the start token if the tokenizer puts one; never empty.

        room: tokens that are to follow it.
        Raises: InputError if both do not fit the context, or the tokenizer knows tokens that a model does not.
        """
        ids = list(self.tokenizer(self.template.replace("{prompt}", prompt))["input_ids"])
        if not ids:
            ids = [next(i for i in (self.tokenizer.bos_token_id, *self.end, 0) if i is not None)]
        if self.context is not None and len(ids) + room > self.context:
            expected = f"expected at most {self.context}, the context of {' and '.join(self.names)}"
            raise InputError(f"prompt {prompt[:40]!r}: {len(ids)} tokens and {room} to come; {expected}")
        if max(ids) >= self.vocabulary:
            raise InputError(f"prompt {prompt[:40]!r}: token {max(ids)}; expected ids below {self.vocabulary}")
        return ids

    def encode_question(self, prompt: str, room: int) -> list[int]:
        """Return the ids of a question as the target was trained to answer it; ``encode`` if its tokenizer cannot
        say.
        """
        if not getattr(self.tokenizer, "chat_template", None):
            return self.encode(prompt, room)
        question = [{"role": "user", "content": prompt}]
        text = self.tokenizer.apply_chat_template(question, tokenize=False, add_generation_prompt=True)
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])
