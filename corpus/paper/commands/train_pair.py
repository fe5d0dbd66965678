"""The command draftproof train-pair: a target and two drafters, trained offline."""

import click

from draftproof.reports.commands.exit_status import INTERRUPTED, stop
from draftproof.reports.commands.output import progress_bar
from draftproof.reports.commands.parameters import Finite, device_option, seed_option
from draftproof_paper.training.recipe import (
    MAX_MINUTES,
    MIN_MINUTES,
    RECIPES,
    STEPS_PER_CHECKPOINT,
    STEPS_PER_MINUTE,
    Recipe,
)


@click.command(name="train-pair")
@click.option("--out", "folder", required=True, metavar="DIR",
              help="Where to write DIR/target, DIR/draft and DIR/small-draft.")  # fmt: skip
@seed_option
@click.option("--minutes", type=Finite(MIN_MINUTES, MAX_MINUTES), default=Recipe().steps / STEPS_PER_MINUTE,
              show_default=True, metavar="M",
              help=f"How long to train: {STEPS_PER_MINUTE} steps a minute, about what one core does.")  # fmt: skip
@click.option("--size", type=click.Choice(list(RECIPES)), default="small", show_default=True,
              help="large: a target of 32 layers, for a GPU.")  # fmt: skip
@device_option
def command(folder: str, seed: int, minutes: float, size: str, device: str) -> None:
    """Train a target and two drafters on the text that every Python has, the standard library's sources and help
    topics: real models where none can be downloaded.

    They are Llama checkpoints with a tokenizer of their own. DIR/prompts.jsonl has prompts from modules held out. On
    the CPU the same seed and minutes give the same weights; the user's cache keeps them, and a run that was stopped
    resumes."""
    from draftproof_paper.training.trained_pair import train_pair

    recipe, reached = RECIPES[size].for_minutes(minutes), [0]
    try:
        with progress_bar() as bar:

            def progress(stage: str, done: int, total: int | None) -> None:
                reached[0] = max(done, reached[0])
                bar(stage, done, total)

            trained = train_pair(folder, seed, recipe, progress, device)
    except KeyboardInterrupt:
        step = reached[0] // STEPS_PER_CHECKPOINT * STEPS_PER_CHECKPOINT
        stop(f"interrupted; the same command resumes from step {step}", INTERRUPTED)
    for name, shape in recipe.sizes.items():
        measured = trained["models"][name]
        rate = "" if name == "target" else f", acceptance rate {measured['alpha']:.3f}"
        click.echo(
            f"{name:<11} {shape}, {measured['parameters']:,} parameters: loss {measured['loss']:.3f} nats a token{rate}"
        )
    click.echo(
        f"trained     seed {trained['seed']}, {recipe.steps:,} steps of {recipe.batch * recipe.context:,} tokens, "
        f"{trained['cpu_seconds']:,.0f} s of CPU; measured on modules held out"
    )
    click.echo(f"written     {folder}: target, draft, small-draft, prompts.jsonl ({trained['prompts']} prompts)")
