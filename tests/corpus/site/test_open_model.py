"""The figure of README shows what the kept run has."""

import json
from copy import deepcopy
from pathlib import Path

import pytest

pytestmark = pytest.mark.needs("matplotlib")

ROOT = Path(__file__).parents[3]


@pytest.mark.skipif(
    not (ROOT / "corpus" / "site" / "evidence").is_dir(), reason="corpus/site/evidence is in a clone alone"
)
def test_the_figure_of_readme_is_that_of_the_kept_run_and_another_run_has_another():
    from draftproof.corpus.site.kept_orderings import EVIDENCE, gains
    from draftproof.corpus.site.open_model import PICTURE, RUN, picture, says

    rows = gains(json.loads((EVIDENCE / RUN / "tables.json").read_text(encoding="utf-8")))
    kept = PICTURE.read_text(encoding="utf-8")
    assert len(rows) == 9 and all(says(row) in kept for row in rows)
    label = kept.split("xmlns", 1)[0]
    assert label in picture(rows)
    other = deepcopy(rows)
    other[0]["verdict"] = "refuted"
    assert says(other[0]) not in kept and label not in picture(other)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"corpus/site/{PICTURE.name}" in readme
    shown = {says(row).split(":")[0]: f"[{row['lower']:.2f}, {row['upper']:.2f}]" for row in rows}
    assert shown["T = 1, gamma 8"] in readme and shown["T = 0.6, gamma 8"] in readme


def test_the_tables_of_kept_orderings_have_each_that_was_measured(monkeypatch):
    from draftproof.corpus.site import kept_orderings

    rows = [row for report in kept_orderings.RUNS.values() for row in report["orderings"] if row["n"]]
    on_blocks = [row for row in rows if "theorem" in row]
    assert kept_orderings.gains_table().count("\n") == 1 + len(on_blocks)
    assert kept_orderings.gains_table().count("**confirmed**") == sum(r["verdict"] == "confirmed" for r in on_blocks)
    others = [row for row in rows if "theorem" not in row and row["verdict"] != "undecided"]
    assert kept_orderings.decided_table().count("\n") == 1 + len(others)
    assert "1 in `smollm2-h200`" in kept_orderings.equalities_table()
    spoiled = deepcopy(kept_orderings.RUNS["smollm2-gamma-4"])
    spoiled["orderings"][1]["verdict"] = "refuted"
    monkeypatch.setattr(kept_orderings, "RUNS", {"smollm2-gamma-4": spoiled})
    assert "**refuted**" in kept_orderings.gains_table() and "1 refuted" in kept_orderings.counts_table()
