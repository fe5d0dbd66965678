"""Statistical tests with their detection limits: what to assert, what n samples detect, how many samples are needed.

| property | assert | min_detectable | samples_needed |
|---|---|---|---|
| counts follow a known law | assert_goodness | min_detectable_goodness | samples_needed_goodness |
| the same by the law-free bound, by the total variation | | min_detectable_by_law_free, min_detectable_by_bound | |
| the same against one alternative | | | samples_needed_against |
| counts are within delta of a law | assert_equivalence | min_detectable_equivalence | samples_needed_equivalence |
| a black box follows a law, stopping early | assert_sequential | min_detectable_sequential | samples_needed_sequential |
| the same, night by night (``eprocess``) | | min_detectable_anytime | samples_needed_anytime |
| two samples follow one law | assert_homogeneity | min_detectable_homogeneity | samples_needed_homogeneity |
| two engines: n-grams | assert_ngrams | min_detectable_ngrams | samples_needed_ngrams |
| two engines: blocks, by a kernel | assert_mmd | min_detectable_mmd | samples_needed_mmd |
| tokens follow the target given the text | assert_betting | min_detectable_betting | samples_needed_betting |
| two draws are independent | assert_independence | min_detectable_independence | samples_needed_independence |
| seeds give independent outputs | assert_seeds_differ | min_detectable_agreement | samples_needed_agreement |
| one verifier is no worse than another | assert_no_worse | min_detectable_difference | samples_needed_difference |
| the mean of bounded draws | assert_mean | min_detectable_mean | samples_needed_mean |
| accepted tokens are within the optimum | assert_tokens_per_call | min_detectable_mean | samples_needed_mean |

``assert_*`` raises ``Refuted`` (``NotShown`` for an equivalence) or returns its result; see ``design``. Bets are made by
``bets_on`` and ``bets_on_sets``, kernels are ``hamming_kernel`` and ``prefix_kernel``; ``reproducible`` compares outputs
of the same seeds. Each name is loaded when it is first used.
"""

from importlib import import_module
from typing import Any

_MODULES = {
    "anytime": "assert_sequential min_detectable_sequential samples_needed_sequential min_detectable_anytime "
    "samples_needed_anytime",
    "betting": "bets_on bets_on_sets",
    "bounds": "min_detectable_equivalence samples_needed_equivalence",
    "design": "Refuted NotShown assert_goodness min_detectable_goodness samples_needed_goodness samples_needed_against "
    "assert_homogeneity min_detectable_homogeneity samples_needed_homogeneity assert_mean assert_tokens_per_call "
    "assert_independence min_detectable_independence samples_needed_independence assert_equivalence",
    "independence": "reproducible",
    "goodness": "min_detectable_by_law_free",
    "mean": "min_detectable_mean samples_needed_mean",
    "paired": "assert_no_worse min_detectable_difference samples_needed_difference",
    "rounding": "min_detectable_by_bound",
    "sequence_design": "assert_betting min_detectable_betting samples_needed_betting assert_seeds_differ "
    "min_detectable_agreement samples_needed_agreement assert_ngrams min_detectable_ngrams samples_needed_ngrams "
    "assert_mmd min_detectable_mmd samples_needed_mmd",
    "two_sample": "hamming_kernel prefix_kernel",
}
_PUBLIC = {name: module for module, names in _MODULES.items() for name in names.split()}
__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_PUBLIC[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__
