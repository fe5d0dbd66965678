"""The tokenizer of a forged checkpoint: each token of the problem is the word that is its number."""

from pathlib import Path

from .libraries import save_tokenizer

BOS, EOS = "<s>", "</s>"


def save_word_tokenizer(folder: Path, vocabulary: int) -> None:
    """Write a word-level tokenizer: "0 2 1" <-> [V, 0, 2, 1], the text split at blanks.

    Tokens 0..V-1 are the words "0", "1", ...; <s> is V and is put before every text, </s> is V + 1. Ids beyond are
    padding of the model's vocabulary and have no word; a word that is not a token is </s>, since some engines (mlx-lm)
    try words of their own when they load a tokenizer.
    """
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from tokenizers.processors import TemplateProcessing

    words = [*map(str, range(vocabulary)), BOS, EOS]
    tokenizer = Tokenizer(WordLevel({word: token for token, word in enumerate(words)}, unk_token=EOS))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.post_processor = TemplateProcessing(single=f"{BOS} $A", special_tokens=[(BOS, vocabulary)])
    save_tokenizer(tokenizer, folder, BOS, EOS)
