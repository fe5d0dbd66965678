"""Performance of the decoding loop: block efficiency and wall-clock speedup, the quantities of the paper's tables."""

from collections.abc import Iterable

from .result import Generated


def tokens_and_calls(runs: Iterable[Generated]) -> tuple[int, int]:
    """Tokens decoded, and target calls that a single text waited for: a call over a batch counts once for each row."""
    runs = list(runs)
    tokens = sum(len(text) for run in runs for text in run.tokens)
    return tokens, sum(len(each.rows) for run in runs for each in run.iterations)


def block_efficiency(runs: Iterable[Generated]) -> float:
    """Decoded tokens per serial call of the target, 1 for plain decoding.

    tokens / calls, over all texts of the runs. Tokens that the last block of a text had beyond its end are not decoded
    and do not count, so that short texts come out lower than E[tau] + 1.
    Source: Sun et al. 2025, Section 5.
    """
    tokens, calls = tokens_and_calls(runs)
    return tokens / calls


def seconds_per_token(runs: Iterable[Generated]) -> float:
    """Wall time of the loops after their prefill, per decoded token."""
    runs = list(runs)
    return sum(run.seconds for run in runs) / tokens_and_calls(runs)[0]


def wall_clock_speedup(runs: Iterable[Generated], plain: Iterable[Generated]) -> float:
    """How many times as fast as plain decoding, token by token: above 1 is faster.

    Both over the same prompts and the same rows in a batch; the texts may end at different lengths.
    Source: Sun et al. 2025, Section 5.
    """
    return seconds_per_token(plain) / seconds_per_token(runs)
