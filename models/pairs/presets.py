"""Named pairs: the paper's, stand-ins for its closed models, small ones, and the pair trained here."""

from typing import NamedTuple

from ..errors import InputError
from .loading import load_pair
from .packaged_pair import DRAFTERS, PACKAGED, trained_folder
from .pair import Pair


class Preset(NamedTuple):
    """A target and its drafters, the best first, by names of the Hub; about: its purpose; template: see ``Pair``.

    seconds: that an end-to-end run takes at most, where nothing else is asked for.
    """

    target: str
    drafts: tuple[str, ...]
    about: str
    template: str = "{prompt}"
    seconds: float = 600.0


TRAINED = "trained"
"""The preset whose models ``draftproof train-pair`` has made."""

SMOLLM2 = PACKAGED
"""The preset whose models are made of what a package ships: a real open model where the Hub cannot be reached."""

CHAT = (
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
    "<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n"
)
"""The chat template of SmolLM2 for one question."""

VICUNA = (
    "A chat between a curious user and an artificial intelligence assistant. The assistant gives helpful, detailed, "
    "and polite answers to the user's questions. USER: {prompt} ASSISTANT:"
)
"""What Vicuna 1.3 was trained to answer."""

PRESETS = {
    "vicuna": Preset("lmsys/vicuna-7b-v1.3", ("double7/vicuna-68m",),
        "Sun et al. 2025, Table 2: the paper's own pair", VICUNA),
    "qwen3": Preset("Qwen/Qwen3-8B", ("Qwen/Qwen3-1.7B", "Qwen/Qwen3-0.6B"),
        "in place of PaLM-2 S, XXS and XXXS (Tables 1 and 4 to 10), whose weights are not public"),
    "pythia": Preset("EleutherAI/pythia-6.9b", ("EleutherAI/pythia-410m", "EleutherAI/pythia-160m"),
        "models padded to 50,432 and 50,304 ids over one tokenizer of 50,277"),
    "gpt2": Preset("openai-community/gpt2-xl", ("openai-community/gpt2",), "the smallest download"),
    TRAINED: Preset("target", ("draft", "small-draft"),
        "made offline by draftproof train-pair, where nothing can be downloaded"),
    SMOLLM2: Preset(f"{PACKAGED}:target", tuple(f"{PACKAGED}:{name}" for name in DRAFTERS),
        "SmolLM2-135M-Instruct as a package ships it, drafters with rounded layers (draftproof[smollm2])", CHAT, 240.0),
}  # fmt: skip


def named_pair(preset: str, drafter: int = 0) -> tuple[str, str, str]:
    """Return target, draft and template of a preset, for ``load_pair``.

    drafter: which of its drafters, 0 the best.
    Raises: InputError for a preset or drafter there is not, and for "trained" if none has been trained here.
    """
    if preset not in PRESETS:
        raise InputError(f"no preset {preset!r}; known: {', '.join(PRESETS)}", "DP401")
    given = PRESETS[preset]
    if not 0 <= drafter < len(given.drafts):
        raise InputError(f"preset {preset}: no drafter {drafter}; it has {len(given.drafts)}, numbered from 0")
    names = given.target, given.drafts[drafter]
    if preset == TRAINED:
        folder = trained_folder()
        if folder is None:
            raise InputError("preset trained: nothing has been trained here; run draftproof train-pair --out DIR")
        names = str(folder / names[0]), str(folder / names[1])
    return (*names, given.template)


def load_preset(preset: str, drafter: int = 0, device: str = "cpu", dtype: str = "float32") -> Pair:
    """Load the pair of a preset. Raises: InputError as ``named_pair`` and ``load_pair`` do."""
    target, draft, template = named_pair(preset, drafter)
    return load_pair(target, draft, device, dtype, template)
