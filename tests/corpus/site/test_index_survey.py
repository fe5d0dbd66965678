"""The page of the index's packages is what the kept rows say, and a row what an audit found."""

import json

import pytest

from draftproof.corpus.site.index_survey import FOLDER, PAGE, packages, page, row_of, rows, sentence
from draftproof.models.battery import drawn
from draftproof.reports.audits.functions.audit import run_audit
from draftproof.reports.audits.settings import AuditSettings
from draftproof.reports.audits.subject import subject_from
from draftproof.verifiers.adapters.registry import ADAPTERS

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="the page is in the repository, not in the wheel")


def test_the_page_is_what_the_rows_say_and_each_row_is_of_a_mode():
    assert PAGE.read_text(encoding="utf-8") == page()
    known = {
        (package.package, each.mode) for package in packages() for mode in package.modes for each in (mode, mode.mended)
    }
    assert rows().keys() <= known
    assert all(row.witness for row in rows().values() if row.verdict == "refuted" and "lossless" in row.refuted)
    for package in packages():
        assert bool(package.modes) != bool(package.why), package.package
        for mode in package.modes:
            file = mode.subject.partition(":")[0]
            assert (FOLDER.parents[2] / file).is_file() or file in {adapter.name for adapter in ADAPTERS.values()}


def lacking(kept):
    """Refuted modes that lack a witness, what shows it, a mend that clears it, or word on whether it was reported."""
    found = []
    for package in packages():
        for mode in package.modes:
            row, mended = (kept.get((package.package, each.mode)) for each in (mode, mode.mended))
            if row is None or not row.refuted:
                continue
            shown = (FOLDER / f"show_{package.package.replace('-', '_')}.py").is_file()
            cleared = mended is not None and mended.verdict == "holds" and not mended.refuted and mode.mend
            if not (row.witness and shown and cleared and mode.reported):
                found.append((package.package, mode.mode))
    return found


def test_each_refuted_mode_has_a_witness_what_shows_it_a_mend_that_clears_it_and_word_on_reports():
    assert lacking(rows()) == []
    refuted = next(key for key, row in rows().items() if row.verdict == "refuted")
    mended = refuted[0], f"{refuted[1]}, mended"
    assert lacking({key: row for key, row in rows().items() if key != mended}) == [refuted]
    assert lacking(rows() | {mended: rows()[refuted]}) == [refuted]


def test_what_shows_a_refutation_without_this_project_has_at_most_20_lines():
    shown = [*FOLDER.glob("show_*.py")]
    assert shown
    for file in shown:
        text = file.read_text(encoding="utf-8")
        assert text.count("\n") <= 20 and "draftproof" not in text


@pytest.mark.interception
def test_a_row_says_what_an_audit_found(tmp_path):
    """A right and a wrong verifier, audited: the one is not refuted, the other with its witness."""
    found = {}
    for name, residual in (("right", "max(p[i][x] - q[i][x], 0)"), ("wrong", "p[i][x]")):
        (tmp_path / f"{name}.py").write_text(
            "def verify(p, q, tokens, rng):\n"
            "    for i, t in enumerate(tokens):\n"
            "        if rng.random() * q[i][t] >= p[i][t]:\n"
            f"            left = [{residual} for x in range(len(p[i]))]\n"
            "            return [*tokens[:i], rng.choice(len(left), p=[w / sum(left) for w in left])]\n"
            "    return [*tokens, rng.choice(len(p[-1]), p=p[-1])]\n",
            encoding="utf-8",
        )
        settings = AuditSettings(problems=[drawn(2, 1, "generic")], explain=False)
        report = run_audit(subject_from(f"{tmp_path / name}.py:verify"), settings)
        found[name] = row_of("toy", "1.0", "a mode", json.loads(json.dumps(report.as_json())))
    assert (found["right"].verdict, found["right"].witness, found["right"].refuted) == ("holds", None, {})
    assert found["wrong"].verdict == "refuted" and "lossless" in found["wrong"].refuted
    assert found["wrong"].witness["claim"] == "lossless" and "**refuted**: lossless on" in sentence(found["wrong"])
