"""The command draftproof train-pair: a target and two drafters, trained offline."""

import sys

import click

from ...models.pairs.recipe import FEWEST, KEPT_EVERY, MOST, RECIPES, STEPS_A_MINUTE, Recipe
from .console import INTERRUPTED, Finite, progress


@click.command(name="train-pair")
@click.option("--out", "folder", required=True, metavar="DIR",
              help="Where to write DIR/target, DIR/draft and DIR/small-draft.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of weights and windows.")
@click.option("--minutes", type=Finite(FEWEST, MOST), default=Recipe().steps / STEPS_A_MINUTE,
              show_default=True, metavar="M",
              help=f"How long to train: {STEPS_A_MINUTE} steps a minute, about what one core does.")  # fmt: skip
@click.option("--size", type=click.Choice(list(RECIPES)), default="small", show_default=True,
              help="large: a target of 32 layers, for a GPU.")  # fmt: skip
@click.option("--device", default="cpu", show_default=True, metavar="D", help="cpu, cuda, cuda:N.")
def train_pair_command(folder, seed, minutes, size, device):
    """Train a target and two drafters on the text that every Python has, the standard library's sources and help
    topics: real models where none can be downloaded.

    They are Llama checkpoints with a tokenizer of their own. DIR/prompts.jsonl has prompts from modules held out. On
    the CPU the same seed and minutes give the same weights; the user's cache keeps them, and a run that was stopped goes on."""
    from ...models.pairs.trained import train_pair

    recipe, reached = RECIPES[size].for_minutes(minutes), [0]
    try:
        with progress() as bar:

            def told(what, done, of):
                reached[0] = max(done, reached[0])
                bar(what, done, of)

            trained = train_pair(folder, seed, recipe, told, device)
    except KeyboardInterrupt:
        click.echo(
            f"draftproof: interrupted; the same command goes on from step {reached[0] // KEPT_EVERY * KEPT_EVERY}",
            err=True,
        )
        sys.exit(INTERRUPTED)
    for name, size in recipe.sizes.items():
        found = trained["models"][name]
        told_alpha = "" if name == "target" else f", acceptance rate {found['alpha']:.3f}"
        click.echo(
            f"{name:<11} {size}, {found['parameters']:,} parameters: loss {found['loss']:.3f} nats a token{told_alpha}"
        )
    click.echo(
        f"trained     seed {trained['seed']}, {recipe.steps:,} steps of {recipe.batch * recipe.context:,} tokens, "
        f"{trained['cpu_seconds']:,.0f} s of CPU; measured on modules held out"
    )
    click.echo(f"written     {folder}: target, draft, small-draft, prompts.jsonl ({trained['prompts']} prompts)")
