"""Plain decoding, one token a target call: what speculative decoding is timed against."""

from collections.abc import Sequence
from typing import Any

from .loop import DecodingLoop
from .loop_verifiers import LoopVerifier
from .result import Generated, Iteration
from .settings import LoopSettings


def decode_plainly(
    target: Any, prompts: Sequence[Sequence[int]], *, device: str | None = None, **settings: Any
) -> Generated:
    """Continue the prompts by sampling from the target alone; gamma is not used.

    The caches, the ends and the law are those of ``loop.generate``; the randomness is not, so the texts differ, except
    at temperature 0.
    Raises: InputError in one line for what cannot be run.
    """
    return PlainLoop(target, None, prompts, NO_VERIFIER, LoopSettings(**settings), None, device).run()


def _no_verifier(*_: Any) -> Any:
    raise AssertionError("plain decoding verifies nothing")


NO_VERIFIER = LoopVerifier("plain", _no_verifier)


class PlainLoop(DecodingLoop):
    """The loop without a draft."""

    def iteration(self) -> Iteration:
        times = [self.clock()]
        tokens, real = self.caches["target"].unread([self.texts[row] for row in self.open])
        scores = self.target_scores(self.caches["target"].logits(tokens, real)[:, -1])
        times.append(self.clock())
        rows, none = tuple(self.open), [0] * len(self.open)
        added = self.append(self.chances.draw(scores)[:, None].tolist(), none)
        times.append(self.clock())
        return Iteration(0, rows, tuple(none), tuple(added), 0.0, times[1] - times[0], times[2] - times[1])
