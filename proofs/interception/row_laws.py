"""What the exploration of one call on a wide problem comes to: laws of rows, and outcomes of their own."""

from dataclasses import dataclass, field

import numpy as np

from .draws import LookUp
from .explore import Explored


@dataclass
class RowLaw:
    """prefix + (first + index,) comes with probability * weights[index] / sum(weights).

    called: indices confirmed.
    look_up, part: as in ``row_draws.RowDraw``.
    """

    prefix: tuple[int, ...]
    first: int
    probability: float
    weights: np.ndarray
    called: int
    look_up: LookUp = None
    part: float = 1.0


@dataclass
class WideLaw(Explored):
    """What the exploration of one call on a wide problem came to.

    law: outcomes of their own, with their probabilities; None if nothing is known.
    neutral: whether the reason is, as of ``tracer.NotInterceptable``.
    rows: the rows.
    ids: the tokens that calls emitted.
    unlike: whether an index of a short row was treated otherwise than the others.
    unknown: probability of what is not known.
    not_called: probability of the indices that no call led to, rows that are given included, and of paths that were not
      walked, each of less than ``row_draws.LEAST_PATH``.
    """

    rows: list[RowLaw] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    unlike: bool = False
    unknown: float = 0.0
    not_called: float = 0.0
    neutral: bool = False
