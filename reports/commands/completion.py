"""The command draftproof completion: what a shell evaluates in order to complete commands and options."""

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command(name="completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the script with which SHELL completes commands and options: eval "$(draftproof completion bash)"."""
    made = get_completion_class(shell)
    assert made is not None  # click has all three
    click.echo(made(ctx.find_root().command, {}, "draftproof", "_DRAFTPROOF_COMPLETE").source())
