"""The grids that are kept: what their page says, and that cells which do not hold are shown with their reason."""

import pytest

from draftproof.corpus.site.cell_states import states
from draftproof.corpus.site.grid import kept_grids, read_grid
from draftproof.models.errors import InputError


def test_the_grids_that_are_kept_reach_their_figures():
    grids = kept_grids()
    found = {name: [state for _, _, state in states(report.evidence)] for name, report in grids.items()}
    rows = {row for row, _, _ in states(grids["transformers"].evidence)}
    assert len(rows) >= 25 and {s for _, s, _ in states(grids["transformers"].evidence)} == {"speculative", "lookup"}
    assert all((state.deviation or 0) < 1e-6 for each in found.values() for state in each if state.word == "holds")
    assert all(state.word == "holds" for state in found["draftproof-reference"])
    assert all(state.why for each in found.values() for state in each if state.word == "not known")


def test_a_file_that_is_no_report_is_refused_in_one_line(tmp_path):
    (tmp_path / "x-grid.json").write_text("{}")
    with pytest.raises(InputError, match="no report"):
        read_grid(tmp_path / "x-grid.json")
