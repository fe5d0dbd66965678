"""Details of evidence for tests: the type that the method and the facts call for, with what it cannot do without."""

from typing import Any

import msgspec

from draftproof.verifiers.details import AnyDetail
from draftproof.verifiers.evidence import Method
from draftproof.verifiers.verdicts import Basis

RATES = {"false_alarm_rate": 1e-6, "miss_rate": 1e-3}
NEEDED: dict[str, dict[str, Any]] = {
    "samples": {"samples": 1000, "p_value": 0.5, **RATES},
    "texts": {"samples": 1000, "p_value": 0.5, "tokens": 5, **RATES},
    "campaign": {"samples": 1000, "p_value": 0.5, "accepted": None, **RATES},
    "wide-law": {
        "ids_called": 9,
        "fewest_ids_of_a_row": 1,
        "mass_not_called": 0.0,
        "allowed_to_look_ups": 0.0,
        "look_ups_explained": 0.0,
    },
    "driven-law": {"missed": 0.0, "confirmations": 100},
    "mean": {"calls": 100, "expected_accepted": 1.0, "mean_accepted": 1.0, "interval": [0.9, 1.1], **RATES},
    "argmax": {
        "texts": 1,
        "tokens": 4,
        "block_efficiency": 1.0,
        "distinct_texts": 1,
        "distinct_tokens": 4,
        "disagreements": 0,
        "ties_excused": 0,
        "share_excused": 0.0,
        "largest_gap_excused": 0.0,
        "tie_below": 0.0,
        "miss_rate": 1e-3,
    },
    "betting": {"tokens": 4, "p_value": 0.5, "limits": {}, "slack": 0.0, **RATES},
    "ends": {"texts": 1, "tokens": 4, "block_efficiency": 1.0, "wrong_ends": 1},
    "reading": {"passes": 3, "misread": 0},
    "rows": {"model": "target", "rows": 3, "mean": 0.0, "mean_allowed": 0.0},
    "listening": {"numbers": 3, "used_twice": 0, "by_chance": 0.0, "draft_tokens": 3, "draft_numbers_heard": 3},
    "loop-law": {"tokens": 3, "law": "toy", "chance": "enumerated", "verifier": "one block at a time"},
    "bias": {"texts": 1, "tokens": 4, "block_efficiency": 1.0, "lossy": "lenient", "bias_of_first_tokens": 0.1},
}
"""What each kind cannot do without."""

SERVER = {"url": "http://x", "kinds": {}, "refused": {}, "resumed": 0, "longer_than_asked": 0,
          "speculation": {"seen": "none"}, "not_examined": []}  # fmt: skip
"""What a report on a server cannot do without."""

LOOP: dict[str, Any] = dict.fromkeys(("target", "draft", "device", "dtype", "loop", "lossy", "command"), "c")
LOOP |= {"mutant": None, "figures": {}, "drift": {}}
"""What a report of an end-to-end run cannot do without."""


def detail_by(method: str, **facts: Any) -> AnyDetail:
    """The detail that a method has, with these facts."""
    of_laws = {"ids_called": "wide-law", "mass_not_called": "wide-law", "missed": "driven-law", "chance": "loop-law"}
    if Method(method).basis is Basis.LAW:
        kind = next((kind for name, kind in of_laws.items() if name in facts), "law")
    elif method == Method.CHI_SQUARE:
        kind = "texts" if {"sampling", "settings", "law"} & facts.keys() else "samples"
    else:
        known = {"sampling campaign": "campaign", "forward-pass": "rows", "warp": "rows", "closed-form": "bias"}
        kind = known.get(method, method if method in NEEDED else "plain")
    return msgspec.convert({"kind": kind, **NEEDED.get(kind, {}), **facts}, AnyDetail)
