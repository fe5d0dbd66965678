"""How a pair is trained: sizes, text, steps; with text and libraries, all that its weights depend on. Its
tokenizer: byte-level BPE, trained on the same text."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from draftproof.models.errors import InputError

BOS, EOS = "<s>", "</s>"
BOS_ID, EOS_ID = 0, 1

MIN_VOCABULARY = 258
"""<s>, </s> and the 256 bytes, of which every text can be made."""

STEPS_PER_MINUTE = 110
"""Steps that one core of a 2023 server does in a minute."""

STEPS_PER_CHECKPOINT = 25
"""Steps from checkpoint to checkpoint."""

MIN_MINUTES, MAX_MINUTES = 0.2, 600.0
"""Minutes that can be asked for."""


@dataclass(frozen=True)
class ModelSize:
    """A Llama model: layers, hidden dimensions, attention heads. Its MLP is 8/3 as wide, to the next multiple of 32."""

    layers: int
    hidden: int
    heads: int

    @property
    def intermediate(self) -> int:
        return -(-8 * self.hidden // (3 * 32)) * 32

    def __str__(self) -> str:
        return f"{self.layers} layer{'s' * (self.layers > 1)} of {self.hidden}"


@dataclass(frozen=True)
class Recipe:
    """A target and two drafters, trained at once: the target on text, the drafters on the target's laws there.

    vocabulary: ids of the tokenizer.
    context: positions of the models, and tokens in a training window.
    batch: windows in a step.
    rate, embedding_rate: learning rates of the layers and of the embedding.
    text: characters of training text, None for all.
    measured, prompts: held-out windows for the evaluation, held-out prompts.
    The target is deep and narrow: one token takes it eight times as long as a drafter of one layer.
    """

    vocabulary: int = 2048
    target: ModelSize = ModelSize(12, 128, 4)
    draft: ModelSize = ModelSize(2, 128, 4)
    small_draft: ModelSize = ModelSize(1, 32, 1)
    steps: int = 6 * STEPS_PER_MINUTE
    context: int = 256
    batch: int = 4
    rate: float = 0.01
    embedding_rate: float = 0.02
    warmup: int = 20
    fall: float = 0.6
    text: int | None = None
    measured: int = 32
    prompts: int = 200

    def __post_init__(self) -> None:
        if self.vocabulary < MIN_VOCABULARY:
            raise InputError(f"vocabulary {self.vocabulary}: expected at least {MIN_VOCABULARY}")

    @property
    def sizes(self) -> dict[str, ModelSize]:
        """By the folder that each is saved in; the target first."""
        return {"target": self.target, "draft": self.draft, "small-draft": self.small_draft}

    def for_minutes(self, minutes: float) -> "Recipe":
        """The same with as many steps as one core does in that time. No clock is read: a slower core takes longer.

        Raises: InputError for a time out of range.
        """
        if not MIN_MINUTES <= minutes <= MAX_MINUTES:
            raise InputError(f"minutes {minutes:g}: expected {MIN_MINUTES:g} to {MAX_MINUTES:g}")
        return replace(self, steps=round(minutes * STEPS_PER_MINUTE))

    def share_of_rate(self, step: int) -> float:
        """Scale the learning rates: 1 after the warm-up, falling to 0 over the last ``fall`` of the steps."""
        return min((step + 1) / self.warmup, 1.0, (self.steps - step) / (self.steps * self.fall))

    def digest(self, **others: str | int) -> str:
        """sha256 of the recipe, and of what else the weights depend on."""
        return hashlib.sha256(json.dumps({**asdict(self), **others}, sort_keys=True).encode()).hexdigest()


GPU_RECIPE = Recipe(
    vocabulary=4096, target=ModelSize(32, 512, 8), draft=ModelSize(2, 256, 4), small_draft=ModelSize(1, 128, 2),
    context=512, batch=16, embedding_rate=0.01, text=None,
)  # fmt: skip
"""For a GPU, where a token takes as long as its layers' kernels take to launch, however narrow they are."""

RECIPES = {"small": Recipe(), "large": GPU_RECIPE}


def train_tokenizer(texts: Iterable[str], size: int) -> Any:
    """Return a byte-level BPE tokenizer of ``size`` ids; the same texts in the same order give the same tokenizer.

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
    """Return the ids of all texts, each followed by </s>."""
    encoded = tokenizer.encode_batch(list(texts), add_special_tokens=False)
    return [token for text in encoded for token in (*text.ids, EOS_ID)]
