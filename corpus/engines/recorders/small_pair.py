"""A small forged pair, on which engines are run for the tests of their recorders and for kept recordings."""

from pathlib import Path

from draftproof.models.battery import drawn_markov
from draftproof.models.forge import forge

V, GAMMA = 16, 4


def forged_pair(folder: Path, gguf: bool = False) -> Path:
    """Return the folder of the pair, made once. gguf: as GGUF in place of safetensors."""
    if not folder.exists():
        forge(drawn_markov(V, GAMMA, "generic", 3), folder, gguf=gguf)
    return folder
