"""The engines by name: programs that generate text with a target and a draft, driven from outside."""

from pathlib import Path

import msgspec

from .registry import decoder_python, engine_folder, in_a_clone_alone, not_installed

TOKENS = 3
"""Of a text whose law is asked for, unless the engine says otherwise."""


class Engine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A program that generates text with a target and a draft.

    source: what is audited.
    sample: "module:function" or "file.py:function" of sample(target, draft, start, tokens, gamma, seeds, **settings),
        which yields, for each seed, the ``tokens`` ids that the engine emits after the prompt [start]; target and draft
        are folders with Llama checkpoints, draft is None for plain sampling, gamma is the length of a draft block.
    packages: what must be importable.
    extra: the extra of draftproof that installs them.
    samples: how many an audit takes of each problem.
    unpacked: whether its packages may also lie in the folder of its name that ``make engines`` makes.
    follows: whether its random numbers can be followed, so that the law of its texts is known.
    settings: those of ``models.decoding_settings`` that it has, and ways of drafting of its own; None if not known.
    order: of its processors, a key of ``decoding_settings.ORDERS``.
    logprobs: what those that it reports are of: the law under the "settings", or the "model"; empty if there are none.
    forged: whether it reads checkpoints; the models here read the problem that lies beside them.
    modes: ways of drafting: "draft" from the draft model, "lookup" from the text itself.
    driver: of an engine in an environment of its own whose random numbers are handed in: the module that starts it.
    tokens: of a text whose law is asked for.
    """

    name: str
    source: str
    sample: str = ""
    packages: tuple[str, ...] = ()
    extra: str = ""
    samples: int = 2_000
    unpacked: bool = False
    follows: bool = False
    settings: tuple[str, ...] | None = None
    order: str = "draftproof-reference"
    logprobs: str = ""
    forged: bool = True
    modes: tuple[str, ...] = ("draft",)
    driver: str = ""
    tokens: int = TOKENS

    @property
    def exact(self) -> bool:
        """Whether the law of its texts can be known."""
        return self.follows or bool(self.driver)

    def missing(self) -> list[str]:
        if self.driver:
            made = decoder_python(self.name)
            absent = [] if made.is_file() else [f"its environment {made.parents[1]} (make decoders)"]
            return absent + in_a_clone_alone(self.driver)
        absent = not_installed(self.packages)
        return [p for p in absent if not (self.unpacked and (engine_folder(self.name) / p).is_dir())]


ENGINES = {
    engine.name: engine
    for engine in msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes(), type=tuple[Engine, ...])
}
