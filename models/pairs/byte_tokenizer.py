"""The tokenizer of a trained pair: byte-level BPE, trained on the same text."""

from collections.abc import Iterable, Sequence
from typing import Any

BOS, EOS = "<s>", "</s>"
BOS_ID, EOS_ID = 0, 1

MIN_VOCABULARY = 258
"""<s>, </s> and the 256 bytes, of which every text can be made."""


def train_tokenizer(texts: Iterable[str], size: int) -> Any:
    """A byte-level BPE tokenizer of ``size`` ids; the same texts in the same order give the same tokenizer.

    <s> is 0 and put before every text, </s> is 1; every text comes back byte for byte.
    """
    from tokenizers import Tokenizer
    from tokenizers.decoders import ByteLevel as Decoder
    from tokenizers.models import BPE
    from tokenizers.pre_tokenizers import ByteLevel
    from tokenizers.processors import TemplateProcessing
    from tokenizers.trainers import BpeTrainer

    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokenizer.decoder = Decoder()
    options = {"special_tokens": [BOS, EOS], "initial_alphabet": sorted(ByteLevel.alphabet()), "min_frequency": 2}
    trainer = BpeTrainer(vocab_size=size, show_progress=False, **options)
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = TemplateProcessing(single=f"{BOS} $A", special_tokens=[(BOS, BOS_ID)])
    return tokenizer


def concatenated_ids(tokenizer: Any, texts: Sequence[str]) -> list[int]:
    """The ids of all texts, each followed by </s>."""
    encoded = tokenizer.encode_batch(list(texts), add_special_tokens=False)
    return [token for text in encoded for token in (*text.ids, EOS_ID)]
