"""The page of adapters and engines: what their audits came to, in Markdown and in HTML, made from the reports.

``python -m draftproof.corpus.site.engines_page`` writes survey.md here from the survey that is kept beside issues.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct, to_builtins

from draftproof.corpus.site.engine_issues import FOLDER, REPORTED, issue, refuted, version_of
from draftproof.corpus.site.engine_sections import EngineFinding, found_first, fresh, unreported
from draftproof.corpus.site.lossy_engines import LossyRow, table
from draftproof.corpus.site.survey import NOT_RUN, SURVEYED, SeedCount, SurveyRun
from draftproof.models.files import write_atomically
from draftproof.models.json_files import convert
from draftproof.reports.audits.functions.batch_influence import NOT_TRIED
from draftproof.reports.audits.report import Report
from draftproof.reports.audits.scope import counted
from draftproof.reports.pages.page import rendered
from draftproof.reports.pages.summary import Summary, summaries
from draftproof.verifiers.adapters.registry import Engine
from draftproof.verifiers.evidence import Evidence, merge_verdicts

HEAD = """\
An engine is a program that generates tokens, an adapter a function of one, audited as a verifier; its code is the
engine's own, unpacked by `make engines` or installed, and not edited but as its report records. The problems are few
(the paper's example, and rows with zeros; fewer under Triton's interpreter): `draftproof audit NAME` has the battery.
*Not refuted* speaks of these problems, to the limit stated under the name, and is no proof; a CPU ran everything, and
no kernel was compiled for a GPU. Loops around the verifiers, samplers and temperatures are examined only from outside,
on forged models, by samples: these never show that something is right. Written by
`python -m draftproof.corpus.site engines --out FOLDER`."""

LOSSY = """\
The first token against the target at the same temperature, over the first rows of the audits' problems of up to 16
tokens, draft and target both at that temperature; exact up to rounding. SGLang's thresholds count for drafts without
probabilities: its chain kernel in Triton takes them and does not use them (read)."""

SURVEY = "survey.json"
"""What the page is made of, beside the issues."""

COLUMNS = ("engine", "release", "mode", "verdict", "finding")
"""Columns of the table with one line for each."""

FAULTS = {
    "lossless": "the output does not follow the target",
    "support": "a token of probability 0 can come out",
    "batch": "what a request emits depends on the others of its batch",
}
SHORT = {"lossless": "text", "support": "impossible token", "batch": "batch"}
"""Claims in a sentence about their refutation, and as the name of a finding."""

BY_NUMBERS = {"text": "text", "support": "impossible tokens", "batch": "batches", "how": "how", "worst": "worst",
              "limit": "allowed, or limit", "tokens": "tokens a call"}  # fmt: skip
"""Fields of the details that each type of numbers has its own of, and how they are called."""


class SurveyRow(Struct, frozen=True):
    """One adapter, engine or server in one type of numbers.

    version: of the engine. rule: what was run. claims: what it says of itself.
    text, support, batch: verdicts on the claims lossless, support and batch; empty where a claim was not examined.
    how, worst, limit: how the laws are known, the largest deviation, and what is allowed or could remain unseen.
    tokens: of a call in expectation, and the most that a valid verifier has, on the first problem.
    run, took: when and on what, and the processor time.
    """

    name: str
    version: str
    rule: str
    claims: str
    numbers: str
    text: str
    support: str
    batch: str
    how: str
    worst: str
    limit: str
    tokens: str
    run: str
    took: str


def rows_of(name: str, report: Report, run: SurveyRun) -> list[SurveyRow]:
    """Return the rows of one name, one for each type of numbers."""
    what = SURVEYED.get(name)
    said = getattr(what, "claims", "") or ("lossless" if isinstance(what, Engine) else "")
    version, rule, took = (
        version_of(name, report),
        report.subject["source"],
        "" if run.seconds is None else f"{run.seconds:.0f} s",
    )
    when = f"{run.day}, {run.machine}"
    if not report.evidence:
        why = report.failure["message"] if report.failure else "nothing was examined"
        return [SurveyRow(name, version, rule, said, "", "error", "", "", why, "", "", "", when, took)]
    rows = []
    for numbers in dict.fromkeys(e.dtype for e in report.evidence):
        mine = [e for e in report.evidence if e.dtype == numbers]
        laws = [s for s in summaries(report) if s.dtype == numbers and s.claim == "lossless"]
        text, support, batch = (_verdict(mine, claim, report) for claim in ("lossless", "support", "batch"))
        how, worst, limit = (_joined(laws, field) for field in ("how", "worst", "limit"))
        law = (how, worst, limit, _tokens(mine), when, took)
        rows.append(SurveyRow(name, version, rule, said, numbers, text, support, batch, *law))
    return rows


def _verdict(evidence: Sequence[Evidence], claim: str, report: Report) -> str:
    verdicts = [e.verdict for e in evidence if e.claim == claim]
    if claim == "batch" and not verdicts:
        return batch_verdict(report)
    if not verdicts:
        return ""
    worst = merge_verdicts(verdicts)
    return f"{worst}, {verdicts.count(worst)} of {len(verdicts)}"


def batch_verdict(report: Report) -> str:
    """Return what is said of batches where none was refuted; empty where none was tried."""
    batches = report.subject.get("batches", {})
    left_out = [way for way, said in batches.items() if said == NOT_TRIED]
    return ("nothing noticed" if batches else "") + (f"; not tried: {', '.join(left_out)}" if left_out else "")


def with_reasons(name: str, said: str) -> str:
    """Return what is said of batches, and of each way that was not tried why."""
    tried, left, ways = said.partition("; not tried: ")
    for way, why in _left_out().get(name.removesuffix("-settings"), {}).items():
        ways = ways.replace(way, f"{way} ({why})")
    return tried + left + ways


@cache
def _left_out() -> dict[str, dict[str, str]]:
    """Return the ways of a batch that are not tried with an adapter, each with why."""
    return json.loads(Path(__file__).with_name("batches_left_out.json").read_text(encoding="utf-8"))


def _joined(laws: Sequence[Summary], field: str) -> str:
    return "; ".join(dict.fromkeys(filter(None, (getattr(law, field) for law in laws))))


def _tokens(evidence: Sequence[Evidence]) -> str:
    for e in evidence:
        if e.claim == "optimal" and e.law.expected_accepted and e.law.optimum:
            known, most = (float(Fraction(number)) + 1 for number in (e.law.expected_accepted, e.law.optimum))
            return f"{known:.4g} of {most:.4g} on {e.problem}"
    return ""


def missing_of(reports: Mapping[str, Any]) -> dict[str, str]:
    """Engines that have no report, and why."""
    absent = {}
    for name, what in SURVEYED.items():
        if name not in reports:
            needs = ", ".join(what.missing()).replace(f"{FOLDER.parents[2]}/", "")
            absent[name] = f"needs {needs}" if needs else "was not asked for"
    return absent | NOT_RUN


class Survey(Struct, frozen=True, kw_only=True):
    """All that the page says, and nothing that it does not.

    absent: what was not run, and why. together: the processor time of all. seeds: what fresh ones came to. lossy: rules
    that are not meant to keep the law.
    """

    rows: list[SurveyRow]
    findings: list[EngineFinding]
    absent: dict[str, str]
    together: str
    seeds: list[SeedCount]
    lossy: list[LossyRow] = []

    def lines(self) -> list["EngineLine"]:
        """Return one for each name: where the text is wrong first, then other refutations, then what is not decided."""
        names = dict.fromkeys(row.name for row in self.rows)
        made = [
            EngineLine([r for r in self.rows if r.name == name], [f for f in self.findings if f.name == name])
            for name in names
        ]
        return sorted(made, key=lambda line: line.rank)


class EngineLine(NamedTuple):
    """One name: its rows, a type of numbers each, and its findings."""

    rows: list[SurveyRow]
    findings: list[EngineFinding]

    @property
    def first(self) -> SurveyRow:
        return self.rows[0]

    @property
    def ours(self) -> bool:
        """Return whether it is a verifier of this project."""
        return self.first.rule.startswith("draftproof.")

    def worst(self, claim: str) -> str:
        """Return the verdict on a claim over all types of numbers; empty where it was not examined."""
        said = [str(getattr(row, "text" if claim == "lossless" else claim)).partition(",")[0] for row in self.rows]
        return next((verdict for verdict in ("refuted", "error", "no-evidence", "holds") if verdict in said), "")

    @property
    def rank(self) -> int:
        """The place of its line: the worst first."""
        wrong = [claim for claim in FAULTS if self.worst(claim) == "refuted"]
        order = ("error", "holds", "no-evidence", "")
        return 0 if "lossless" in wrong else 1 if wrong else 2 + order.index(self.worst("lossless"))

    @property
    def colour(self) -> str:
        """The class of its verdict on a page."""
        return "refuted" if self.rank < 2 else self.worst("lossless")

    @property
    def sentence(self) -> str:
        """The verdict, no stronger than the evidence."""
        shown = {f.claim: f.size for f in self.findings}
        wrong = [said + shown.get(claim, "") for claim, said in FAULTS.items() if self.worst(claim) == "refuted"]
        said = f"Refuted: {'; '.join(wrong)}." if wrong else ""
        text = self.worst("lossless")
        if text == "error":
            return f"Not audited: {self.first.how}."
        if text == "no-evidence":
            limits = [row.limit for row in self.rows if row.limit]
            unseen = f" below {limits[0]}" if limits else ""
            if self.first.how.startswith("driven") and ";" not in self.first.how:  # by that alone
                above = unseen.replace("below", "above")
                return f"{said} Undecided: one block at a time shows no difference{above}.".strip()
            return f"{said} Undecided: samples show no difference, and would not show one{unseen}.".strip()
        if text == "holds":
            problems = counted(int(self.first.text.rpartition(" of ")[2]), "problem")
            rest = "Otherwise not" if wrong else "Not"
            return f"{said} {rest} refuted on {problems} in {', '.join(r.numbers for r in self.rows)}.".strip()
        return said or "Nothing was examined."

    def details(self) -> Iterator[tuple[str, list[str]]]:
        """(What, the entry for each type of numbers), and what all have in common with one entry."""
        for field, name in BY_NUMBERS.items():
            entries = [str(getattr(row, field)) for row in self.rows]
            if field == "batch":
                entries = [with_reasons(row.name, said) for row, said in zip(self.rows, entries, strict=True)]
            if any(entries):
                yield name, entries

    def common(self) -> str:
        """Return what all rows have in common, in a line."""
        row = self.first
        said = f"says of itself: {row.claims}" if row.claims else ""
        return "; ".join(filter(None, (said, f"run {row.run}", row.took and f"processor time {row.took}")))


def survey_of(
    reports: Mapping[str, Mapping[str, Any]], runs: Mapping[str, SurveyRun], seeds: Sequence[SeedCount] = ()
) -> tuple[Survey, dict[str, str]]:
    """Return what the page says of these reports, and the issues by name.

    reports: in their JSON form, by name; what has none was not run, and why is said. seeds: what fresh ones came to.
    """
    rows: list[SurveyRow] = []
    findings: list[EngineFinding] = []
    issues: dict[str, str] = {}
    for name, data in reports.items():
        report = Report.from_json(data)
        rows += rows_of(name, report, runs[name])
        for claim, e in refuted(report).items():
            distance = None if e.total_variation is None else float(e.total_variation)
            findings.append(EngineFinding(name=name, claim=claim, witness=str(e.witness), problem=e.problem,
                                    total_variation=distance, replay=e.replay))  # fmt: skip
            issues[findings[-1].key] = issue(name, report, e)
    timed = [run.seconds for name, run in runs.items() if name in reports and run.seconds]
    together = f"Processor time of {len(timed)} audits together: {sum(timed):.0f} s." if timed else ""
    absent = missing_of(reports)
    return Survey(rows=rows, findings=findings, absent=absent, together=together, seeds=[*seeds]), issues


def html(survey: Survey) -> str:
    """Return the page of a survey, in one file."""
    head = HEAD.replace("`", "").replace("*", "")
    parts = _parts(survey)
    return rendered(
        "engines.html.j2", "draftproof.corpus.site", head=head, columns=COLUMNS, parts=parts, survey=survey, short=SHORT
    )


def _parts(survey: Survey) -> list[tuple[str, list[EngineLine]]]:
    """Return the lines by headings: those of others, then our own."""
    lines = survey.lines()
    parts = [
        ("Engines and servers", [line for line in lines if not line.ours]),
        ("Our own verifiers", [line for line in lines if line.ours]),
    ]
    return [(title, some) for title, some in parts if some]


def markdown(survey: Survey) -> str:
    """Return the page of a survey."""
    lines = ["# Real engines, audited", "", HEAD, ""]
    for title, some in _parts(survey):
        lines += [f"## {title}", "", _line(COLUMNS), "|" + "---|" * len(COLUMNS)]
        for line in some:
            row, links = line.first, "; ".join(map(_links, line.findings))
            lines.append(_line((f"`{row.name}`", row.version, row.rule, line.sentence, links)))
        lines += ["", "<details><summary>Details: what was measured in each type of numbers</summary>", ""]
        for line in some:
            lines += [f"**`{line.first.name}`**: {line.common()}.", "", *_by_numbers(line), ""]
        lines += ["</details>", ""]
    lines += [survey.together, ""] if survey.together else []
    lines += ["## Refuted, with the witness", ""]
    lines += [f"- `{f.name}`, {f.claim}: {f.witness}. {_links(f)}" for f in survey.findings] or ["none"]
    if survey.findings:
        lines += ["", "## Found here, and reported by nobody that is known", "", *_found_first(survey)]
    if survey.seeds:
        lines += ["", "## Fresh seeds", "", *_fresh(survey)]
        lines += ["<details><summary>By names and states of the code</summary>"]
        lines += ["", *(f"- {line}" for line in survey.seeds), "", "</details>"]
    if survey.lossy:
        lines += ["", "## Lossy by design, by how much", "", LOSSY, "", *table(survey.lossy)]
    lines += ["", "## Not run, and why", ""]
    lines += [f"- {f'`{name}`' if name in SURVEYED else name}: {why}" for name, why in survey.absent.items()]
    return "\n".join(lines) + "\n"


def _fresh(survey: Survey) -> list[str]:
    clean = [line.first.name for line in survey.lines() if not line.ours and line.worst("lossless") != "refuted"]
    return fresh(clean, survey.seeds)


def _found_first(survey: Survey) -> list[str]:
    """Return what was found here and reported by nobody, as far as is known: with the day and the release."""
    release = {row.name: row.version for row in survey.rows}
    shown = sorted((f for f in survey.findings if unreported(f.key)), key=lambda f: [*FAULTS].index(f.claim))
    cells = (("engine", "release", "what", "found on", "issue"), *(
        (f"`{f.name}`", release[f.name], f"{FAULTS[f.claim]}{f.size}", REPORTED[f.key].found, _links(f)) for f in shown
    ))  # fmt: skip
    head, *lines = map(_line, cells)
    return [found_first(len(shown), len(survey.findings)), "", head, "|" + "---|" * 5, *lines]


def _links(finding: EngineFinding) -> str:
    script = f", [reproduction](engines/{finding.key}.py)" if finding.has_script else ""
    return f"{SHORT[finding.claim]}: [issue](engines/{finding.key}.md){script}"


def _by_numbers(line: EngineLine) -> list[str]:
    entries = [*line.details()]
    head = ("", *(row.numbers or "not examined" for row in line.rows))
    return [_line(head), "|" + "---|" * len(head), *(_line((name, *cells)) for name, cells in entries)]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def write(
    folder: Path,
    reports: Mapping[str, Mapping[str, Any]],
    runs: Mapping[str, SurveyRun],
    seeds: Sequence[SeedCount] = (),
) -> list[Path]:
    """Write survey.md, engines.html, the survey and engines/NAME-CLAIM.md into the folder; what was written."""
    survey, issues = survey_of(reports, runs, seeds)
    texts = {
        "survey.md": markdown(survey),
        "engines.html": html(survey),
        f"engines/{SURVEY}": json.dumps(to_builtins(survey), indent=1, ensure_ascii=False) + "\n",
        **{f"engines/{key}.md": text for key, text in issues.items()},
    }
    (folder / "engines").mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts]


def kept_survey() -> Survey:
    """Return the survey of this version."""
    return convert(Survey, json.loads((FOLDER / SURVEY).read_text(encoding="utf-8")), SURVEY)


if __name__ == "__main__":
    write_atomically(FOLDER.parent / "survey.md", markdown(kept_survey()))
