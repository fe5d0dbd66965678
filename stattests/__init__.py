"""Statistical tests with their detection limits: what to assert, and what n samples detect.

| property | assert | min_detectable |
|---|---|---|
| counts follow a known law | assert_goodness | min_detectable_goodness |
| the same by the law-free bound, by the total variation | | min_detectable_by_law_free, min_detectable_by_bound |
| counts are within delta of a law | assert_equivalence | min_detectable_equivalence |
| a black box follows a law, stopping early | assert_sequential | min_detectable_sequential |
| the same, night by night (``eprocess``) | | min_detectable_anytime |
| two samples follow one law | assert_homogeneity | min_detectable_homogeneity |
| tokens follow the target given the text | assert_betting | min_detectable_betting |
| the mean of bounded draws | assert_mean | min_detectable_mean |
| accepted tokens are within the optimum | assert_tokens_per_call | min_detectable_mean |

``assert_*`` raises ``Refuted`` (``NotShown`` for an equivalence) or returns its result; see ``design``.
``samples_needed`` inverts a limit: ``samples_needed(min_detectable_goodness, 0.01, cells=5)`` are enough for 0.01. Bets
are made by ``bets_on`` and ``bets_on_sets``. Each name is loaded when it is first used.
"""

from importlib import import_module
from typing import Any

_MODULES = {
    "anytime": "assert_sequential min_detectable_sequential min_detectable_anytime",
    "betting": "bets_on bets_on_sets",
    "bounds": "min_detectable_equivalence",
    "design": "Refuted NotShown assert_goodness min_detectable_goodness assert_homogeneity min_detectable_homogeneity "
    "assert_mean assert_tokens_per_call assert_equivalence",
    "goodness": "min_detectable_by_law_free",
    "mean": "min_detectable_mean",
    "power": "samples_needed",
    "rounding": "min_detectable_by_bound",
    "sequence_design": "assert_betting min_detectable_betting",
}
_PUBLIC = {name: module for module, names in _MODULES.items() for name in names.split()}
__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_PUBLIC[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__
