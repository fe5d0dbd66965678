"""The command draftproof forge: checkpoints with exactly a problem's law, for any engine that loads Llama."""

import click

from ...models.forge import as_markov, forge, law_of_checkpoint
from ...models.forge_gguf import CHARACTERS
from ...models.law import Markov
from ...models.libraries import DTYPES
from ...models.problem import load_problem
from .parameters import problem_option


@click.command(name="forge")
@problem_option(required=True)
@click.option("--out", "folder", required=True, metavar="DIR", help="Where to write DIR/target and DIR/draft.")
@click.option("--vocabulary-size", type=int, metavar="N",
              help="Ids of the models, up to 151936; those beyond the problem's tokens are impossible.  "
              "[default: V + 2]")  # fmt: skip
@click.option("--dtype", type=click.Choice(DTYPES), default="float32", show_default=True, help="Precision.")
@click.option("--tensor-parallel", "shards", type=int, default=1, show_default=True, metavar="N",
              help="Devices that the engine divides each model over.")  # fmt: skip
@click.option("--format", "form", type=click.Choice(["hf", "gguf"]), default="hf", show_default=True,
              help="gguf: target.gguf and draft.gguf as well.")  # fmt: skip
def command(problem: str, folder: str, vocabulary_size: int | None, dtype: str, form: str, shards: int) -> None:
    """Write Hugging Face Llama checkpoints, tokenizers included, whose next-token law is a problem's: context-free
    lists or order-1 Markov models over 2 to 64 tokens.

    Ids 0..V-1 are the problem's tokens; the prompt of one <s>, id V, stands for the empty prefix; </s> is V + 1."""
    given = load_problem(problem)
    forged = forge(given, folder, vocabulary_size, dtype, form == "gguf", shards)
    for path, model in ((forged.target, given.target), (forged.draft, given.draft)):
        off = _furthest(law_of_checkpoint(path), as_markov(model, given.vocabulary, path.name))
        click.echo(
            f"{path}: Llama, {dtype}; read back, its distribution is within {off:.1e} of the problem's, entry by entry"
        )
    if form == "gguf":
        click.echo(
            f"{folder}/target.gguf, {folder}/draft.gguf: the same weights; token k is the character {CHARACTERS[:4]}..."
        )
    click.echo(f"prompt [{forged.start}] (<s>), tokens 0 to {given.vocabulary - 1}; no other token is possible")


def _furthest(law: Markov, other: Markov) -> float:
    rows = zip((law.start, *law.after), (other.start, *other.after), strict=True)
    return max(abs(p - float(q)) for row, exact in rows for p, q in zip(row, exact, strict=True))
