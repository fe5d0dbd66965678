"""The notebook extension in a real kernel: a cell is audited, its report shows itself, and bad input is one line."""

import json
from pathlib import Path

import pytest

from draftproof.tests.docs import running

pytestmark = pytest.mark.needs("nbclient", "ipykernel")

PROBLEM = json.dumps({"vocabulary": 2, "gamma": 1, "target": ["1/3", "2/3"], "draft": ["1/2", "1/2"]}).replace(" ", "")
CELL = (running.ROOT / "docs" / "ci.md").read_text(encoding="utf-8").split(":caption: cell\n\n")[1].split("```")[0]
RIGHT = """def right(target_probs, draft_probs, draft_tokens, rng):
    for i, x in enumerate(draft_tokens):
        if rng.random() * draft_probs[i][x] >= target_probs[i][x]:
            residual = np.maximum(target_probs[i] - draft_probs[i], 0)
            return [*draft_tokens[:i], rng.choice(len(residual), p=residual / residual.sum())]
    return [*draft_tokens, rng.choice(len(target_probs[-1]), p=target_probs[-1])]
"""
CELLS = [
    "%load_ext draftproof\nimport numpy as np\nimport draftproof\nhelper = lambda x: x",
    CELL.replace("--quick", f"--problem '{PROBLEM}'"),
    f"%%audit right --problem '{PROBLEM}'\n{RIGHT}\ndef helper_of_three(a, b, c): ...",
    f"%%audit --problem '{PROBLEM}'\n{RIGHT.replace('np.maximum', 'helper(np).maximum')}",
    "%%audit\nx = 1",
    f"%%audit --no-such-option\n{RIGHT}",
    "%%audit\n1 / 0",
    f"draftproof.audit('draftproof_cells/right.py:right', [{PROBLEM}])",
    "print(right.__name__)",
]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """What each cell showed: its HTML, its plain result and what it printed; and the folder of the notebook."""
    import nbformat
    from nbclient import NotebookClient

    folder = tmp_path_factory.mktemp("notebook")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    kernel = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=kernel, allow_errors=True).execute()
    shown = []
    for cell in notebook.cells:
        data = [output.get("data", {}) for output in cell.outputs]
        html = "".join(one.get("text/html", "") for one in data)
        plain = "".join(one.get("text/plain", "") for one in data)
        said = "".join(o.get("text", "") + " ".join(o.get("traceback", [])) for o in cell.outputs)
        shown.append((html, plain, said))
    return folder, shown


def test_a_wrong_cell_is_refuted_and_its_report_shows_itself(outputs):
    folder, shown = outputs
    html, plain, said = shown[1]
    assert plain.startswith("<Report on draftproof_cells/verify.py:verify: refuted") and not said
    assert ">REFUTED</b>" in html and "M11" in html and "<td>7/18</td>" in html
    assert "http" not in html.replace("https://github.com", "") and "<script" not in html
    assert "draftproof audit draftproof_cells/verify.py:verify --problem" in html
    assert (folder / "draftproof_cells" / "verify.py").read_text() == CELL.split("\n", 1)[1]


def test_a_right_cell_holds_with_the_imports_of_the_notebook(outputs):
    folder, shown = outputs
    html, _, said = shown[2]
    assert ">HOLDS</b>" in html and not said
    assert (folder / "draftproof_cells" / "right.py").read_text().startswith("import numpy as np\ndef right(")
    assert ">HOLDS</b>" in shown[7][0], "the file is audited from Python too"
    assert shown[8][2] == "right\n", "the cell ran in the notebook"


def test_bad_input_is_one_line(outputs):
    _, shown = outputs
    assert shown[3][2] == "error: helper comes from another cell; define it in this one, so that its file is whole\n"
    assert shown[4][2].startswith("error: the cell defines no function of three arguments or more; expected def verify")
    assert shown[5][2].startswith("error: No such option") and shown[5][2].count("\n") == 1
    assert "ZeroDivisionError" in shown[6][2] and shown[6][2].count("Traceback") == 1
    assert not any(html for html, *_ in shown[3:7])


def test_html_of_a_report_is_escaped():
    from draftproof.models.battery import toy
    from draftproof.reports.audits.api import audit

    report = audit("block", [toy(1)])
    report.subject["name"] = "<script>alert(1)</script>"
    report.fail("crash", "<img src=x>")
    assert "<script" not in report._repr_html_() and "<img" not in report._repr_html_()


def test_the_files_of_cells_are_below_the_current_folder(outputs):
    assert {path.name for path in Path(outputs[0]).iterdir()} == {"draftproof_cells"}
