"""The report of an end-to-end run: the audit's, and what the pair was worth in tokens and in seconds."""

from dataclasses import dataclass, field
from typing import Any

from ..report import Report


@dataclass
class EndToEnd(Report):
    """figures: both of the paper's tables, with intervals; drift: of passes of different shapes, no part of the verdict;
    setting: the pair, the device and the loop as it was run."""

    setting: dict[str, Any] = field(default_factory=dict)
    figures: dict[str, Any] = field(default_factory=dict)
    drift: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return super().as_json() | {
            "block_efficiency": self.figures.get("block_efficiency"),
            "wall_clock_speedup": self.figures.get("wall_clock_speedup"),
            "end_to_end": {**self.setting, "figures": self.figures, "drift": self.drift},
        }

    def lines(self) -> list[tuple[str, str]]:
        """What a person reads of it, beside the claims."""
        setting = self.setting
        found = [("pair", f"{setting['target']}, {setting['draft']}"),
                 ("on", f"{setting['device']}, {setting['dtype']}"), ("loop", setting["loop"])]  # fmt: skip
        if self.figures:
            for key, name in (
                ("block_efficiency", "tokens a target call"),
                ("wall_clock_speedup", "times as fast as plain decoding"),
            ):
                interval = self.figures[f"{key}_interval"]
                told = (
                    f", {self.figures['confidence']:.0%} interval {interval[0]:.3g} to {interval[1]:.3g}"
                    if interval
                    else ""
                )
                found.append((key.replace("_", " "), f"{self.figures[key]:.3g} {name}{told}"))
        for model, shapes in self.drift.items():
            for each in shapes:
                found.append((f"drift of the {model}", f"{each['shape']}: TV up to {each['total_variation']['max']:.2g}, "
                              f"|log p| median {each['log_p']['median']:.2g}, at most {each['log_p']['max']:.2g}"))  # fmt: skip
        return found
