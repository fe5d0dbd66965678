"""What an end-to-end run is asked to do, and the command that asks for it again."""

from dataclasses import dataclass

from ....models.errors import InputError
from ....models.generating.draft_length import Adaptive
from ....models.generating.settings import LoopSettings
from ..replay import command_line

ADAPTIVE = "adaptive"
"""Value of --gamma for a draft length that follows the acceptance."""


@dataclass(frozen=True)
class LoopOptions:
    """A set of options of ``draftproof e2e``. A pair is target and draft, or a preset.

    target, draft: folders, or names of the Hub.
    preset: a named pair.
    drafter: which drafter of the preset.
    verifier: a name of ``loop_verifiers.loop_verifier``, or of a rule for trees.
    paths: draft paths of a text, for a rule for trees.
    gamma: a number, "adaptive", or "adaptive:C" with a given cost ratio C.
    device, dtype: of both models.
    temperature, top_k, top_p: those of ``LoopSettings``.
    eos: the token that ends a text; None for the model's own.
    prompts: a file or a name of ``models.pairs.prompts``.
    new_tokens: tokens of a text.
    samples: texts, after the start token of a forged pair or the prompts of another.
    batch: rows decoded together.
    seed: for every random choice.
    loop: a subclass of ``DecodingLoop`` to decode with, as ``package.module:Class`` or ``path/to/file.py:Class``.
    timeout: limit for the whole run, in seconds.
    Raises: InputError for no pair, or two.
    """

    target: str | None = None
    draft: str | None = None
    preset: str | None = None
    drafter: int = 0
    verifier: str = "block"
    paths: int = 1
    gamma: str = "4"
    device: str = "cpu"
    dtype: str = "float32"
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    eos: int | None = None
    prompts: str | None = None
    new_tokens: int = 64
    samples: int | None = None
    batch: int | None = None
    seed: int = 0
    loop: str | None = None
    timeout: float = 600.0

    def __post_init__(self) -> None:
        if bool(self.preset) == bool(self.target or self.draft) or bool(self.target) != bool(self.draft):
            raise InputError("a pair is needed: --target and --draft, or --preset")
        if self.drafter and not self.preset:
            raise InputError(f"drafter {self.drafter}: one of a preset's; expected --preset with it")

    def command(self) -> str:
        """Return the command line that runs this again."""
        defaults = {name: field.default for name, field in self.__dataclass_fields__.items()}
        given = {name: getattr(self, name) for name in defaults}
        return command_line("e2e", **{n: v for n, v in given.items() if n == "gamma" or v != defaults[n]})

    def settings(self) -> LoopSettings:
        """Return the settings of the loop, without end tokens if none are given.

        Raises: InputError for one out of its range.
        """
        sampling = self.temperature, self.top_k, self.top_p
        ends = () if self.eos is None else self.eos
        return LoopSettings(self.draft_length(), *sampling, self.new_tokens, ends, self.seed)

    def draft_length(self) -> int | Adaptive:
        """Return gamma as the loop takes it. Raises: InputError."""
        word, colon, cost = self.gamma.partition(":")
        try:
            if word == ADAPTIVE:
                return Adaptive(cost=float(cost)) if colon else Adaptive()
            return int(self.gamma)
        except InputError:
            raise
        except ValueError:
            raise InputError(
                f"gamma {self.gamma!r}: expected a whole number of at least 1, {ADAPTIVE}, or {ADAPTIVE}:C"
            ) from None
