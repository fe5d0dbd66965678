"""Compute which regions the problems of every audit cover: ``python -m draftproof.benchmarks.cover_battery``.

It writes models/coverage.json, once the battery or the regions have changed.
"""

import json
import math

from draftproof.models.regions import KEPT, VISIBLE, effects_on, kept_problems


def rounded_down(effect: float) -> float:
    """Return a number of three digits that is not above the effect, and within one of them."""
    unit = 10.0 ** (math.floor(math.log10(effect)) - 2)
    digits = math.floor(effect / unit)
    near = float(f"{digits * unit:.2e}")
    return near if near <= effect else float(f"{(digits - 1) * unit:.2e}")


def computed() -> dict:
    """Return the content of the file."""
    found = {problem.name: effects_on(problem) for problem in kept_problems()}
    cells = sorted({cell for effects in found.values() for cell in effects}, key=str)
    place = {cell: k for k, cell in enumerate(cells)}
    effects = {
        name: {place[cell]: rounded_down(effect) for cell, effect in sorted(here.items(), key=str) if effect > VISIBLE}
        for name, here in found.items()
    }
    return {"cells": cells, "effects": effects}


if __name__ == "__main__":
    lines = computed()
    cells = ",\n  ".join(json.dumps(cell) for cell in lines["cells"])
    rows = ",\n  ".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in lines["effects"].items())
    KEPT.write_text(f'{{"cells": [\n  {cells}\n ],\n "effects": {{\n  {rows}\n }}}}\n')
