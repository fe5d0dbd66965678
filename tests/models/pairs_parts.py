"""Small checkpoints on disk, and a miniature of a trained pair."""

from pathlib import Path

from draftproof_paper.training.recipe import ModelSize, Recipe

TEXT = ["def f(x):\n    return x + 1\n", "for line in file:\n    print(line)\n", "the quick brown fox\n"] * 5

MINIATURE = Recipe(
    vocabulary=320,
    target=ModelSize(2, 64, 2),
    draft=ModelSize(1, 64, 2),
    small_draft=ModelSize(1, 16, 1),
    steps=40,
    context=48,
    batch=4,
    text=150_000,
    measured=8,
    prompts=10,
)
"""A recipe of seconds."""

WORDS = 270
"""Ids of the small checkpoints' tokenizer."""


def save(folder: Path, rows: int = WORDS, words: int = WORDS, seed: int = 0, eos=1, context: int = 32) -> Path:
    """A Llama checkpoint with a tokenizer of ``words`` ids. Its first WORDS rows depend on the seed alone; those from
    there on are as large as any, and would be drawn if nothing masked them."""
    import torch
    from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

    from draftproof.models.libraries import save_tokenizer
    from draftproof_paper.training.recipe import BOS, EOS, train_tokenizer

    def model(vocabulary):
        config = LlamaConfig(
            vocab_size=vocabulary,
            hidden_size=32,
            intermediate_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=context,
            tie_word_embeddings=False,
            bos_token_id=0,
            eos_token_id=1,
            pad_token_id=None,
        )
        return LlamaForCausalLM(config)

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        given, padded = model(WORDS), model(rows)
    weights = {
        name: torch.cat([weight[:rows], padded.state_dict()[name][WORDS:]])
        if weight.shape[0] == WORDS and "layers" not in name
        else weight
        for name, weight in given.state_dict().items()
    }
    padded.load_state_dict(weights)
    padded.generation_config = GenerationConfig(bos_token_id=0, eos_token_id=eos)
    padded.save_pretrained(folder)
    save_tokenizer(train_tokenizer(TEXT, words), folder, BOS, EOS)
    return folder
