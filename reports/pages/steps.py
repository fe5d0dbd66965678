"""What a report on recorded steps shows in addition to its claims: lines and the table of gains."""

from collections.abc import Mapping
from math import inf
from typing import Any

ON = (("acceptance", "block", ""), ("tree_acceptance", "traversal", ", trees"))
"""Parts of a report with what rules accept: the rule that is set against the claimed one, and on which steps.

Of chains, block verification accepts most of all rules that are valid in one iteration (Theorem 2).
"""


def interval(mean: float, low: float, high: float) -> str:
    """Return a mean with its interval: 0.21 [0.18, 0.24]."""
    return f"{mean:.3g} [{low:.3g}, {high:.3g}]"


def steps_lines(steps: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what was judged, as (name, text)."""
    header, judged, counts = steps["header"], steps["judged"], steps["counts"]
    recorded = f"{counts.get('recorded', 0):,} of {counts.get('seen', 0):,}"
    lost = f", {counts['dropped']:,} dropped" if counts.get("dropped") else ""
    lines = [
        ("rule", f"{steps['rule']}, V = {header['vocabulary']:,}, {header['dtype']}"),
        ("recorded", f"{recorded} steps in {steps['shards']} shards{lost}"),
        ("judged", f"{judged['steps']:,} sampled and {judged['greedy']:,} greedy steps, {judged['emitted']:,} tokens"),
    ]
    if likely := steps["behaves_like"]:
        lines.append(("behaves like", "; or ".join(f"{one['title']} ({one['name']})" if one["name"] != one["title"]
                                                   else one["title"] for one in likely)))  # fmt: skip
    if limits := sorted(inf if n is None else n for n in steps["limits"].values()):
        half = limits[(len(limits) - 1) // 2]
        text = (
            f"half of {len(limits)} faults by step {half:,}"
            if half < inf
            else f"less than half of {len(limits)} faults"
        )
        lines.append(("would have shown", text))
    for key, best, what in ON:
        if acceptance := steps.get(key):
            gain = acceptance["rules"][best]["gain"]
            lines.append((f"accepted{what}", f"{interval(*acceptance['measured'])} drafted tokens a step"))
            lines.append((best, f"would accept {interval(*gain)} more than {acceptance['over']}, on the same steps"))
    return lines


def gain_rows(steps: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return a row for each rule: its name, accepted tokens a step, and the gain, with intervals of 95 %."""
    rows = []
    for key, _, what in ON:
        if acceptance := steps.get(key):
            rows.append((f"measured{what}", interval(*acceptance["measured"]), ""))
            every = acceptance["rules"].items()
            rows += [(name + what, interval(*of["expected"]), interval(*of["gain"])) for name, of in every]
    return rows
