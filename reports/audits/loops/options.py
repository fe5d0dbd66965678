"""What an end-to-end run is asked to do, and the command that asks for it again."""

import shlex
from dataclasses import dataclass
from typing import Any

from ....models.errors import InputError
from ....models.generating.draft_length import Adaptive
from ....models.generating.settings import LoopSettings

ADAPTIVE = "adaptive"
LENIENT = "lenient-token"

SAMPLING = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "eos": None}
"""What neither the command nor a mutant says."""


@dataclass(frozen=True)
class Options:
    """target, draft: folders or names of the Hub, or preset with drafter. gamma: a number, "adaptive", or
    "adaptive:C" with a given cost ratio. temperature, top_k, top_p, eos: None for the usual (of the mutant, if one is
    named; eos None: the model's own). prompts: a file or a name of ``models.pairs.prompts``. samples: texts behind
    the start token of a forged pair, behind the prompts of another. batch: rows decoded together.
    """

    target: str | None = None
    draft: str | None = None
    preset: str | None = None
    drafter: int = 0
    verifier: str | None = None
    gamma: str = "4"
    device: str = "cpu"
    dtype: str = "float32"
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    eos: int | None = None
    prompts: str | None = None
    new_tokens: int = 64
    samples: int | None = None
    batch: int | None = None
    seed: int = 0
    mutant: str | None = None
    timeout: float = 600.0

    def __post_init__(self) -> None:
        if bool(self.preset) == bool(self.target or self.draft) or bool(self.target) != bool(self.draft):
            raise InputError("a pair is needed: --target and --draft, or --preset")
        if self.drafter and not self.preset:
            raise InputError(f"drafter {self.drafter}: one of a preset's; expected --preset with it")

    def command(self) -> str:
        """The command line that runs this again."""
        words = ["draftproof", "e2e"]
        for name, default in self.__dataclass_fields__.items():
            value = getattr(self, name)
            if value is not None and (name == "gamma" or value != default.default):
                words += [f"--{name.replace('_', '-')}", str(value)]
        return shlex.join(words)

    def sampling(self, mutant: Any = None) -> dict[str, Any]:
        """temperature, top_k, top_p and eos; a mutant's where the command says nothing."""
        own = dict(mutant.settings) if mutant else {}
        given = {name: getattr(self, name) for name in SAMPLING}
        return {name: own.get(name, usual) if given[name] is None else given[name]
                for name, usual in SAMPLING.items()}  # fmt: skip

    def blocks(self) -> int | Adaptive:
        """gamma, as the loop takes it. Raises: InputError."""
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

    def checked(self, mutant: Any = None) -> dict[str, Any]:
        """The settings of the loop, but for the seed and the length. Raises: InputError for one out of its range."""
        found = {"gamma": self.blocks(), **self.sampling(mutant)}
        LoopSettings(**{**found, "eos": found["eos"] or 0}, max_new_tokens=self.new_tokens, seed=self.seed)
        return found


def lenience_of(verifier: str) -> float | None:
    """l of "lenient-token:l"; None for another name. Raises: InputError."""
    word, colon, given = verifier.partition(":")
    if word != LENIENT:
        return None
    try:
        return float(given if colon else "")
    except ValueError:
        raise InputError(
            f"verifier {verifier!r}: expected {LENIENT}:L with a lenience L above 0 and at most 1"
        ) from None
