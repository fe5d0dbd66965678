"""The page of adapters and engines: what their audits came to, in Markdown and in HTML, made from the reports."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from ...verifiers.adapters.engines import Engine
from ...verifiers.evidence import Evidence, merge_verdicts
from ..audits.engines.survey import NOT_RUN, SURVEYED, SurveyRun
from ..audits.functions.batch_influence import NOT_TRIED
from ..audits.report import Report
from .engine_issues import FOLDER, issue, refuted, version_of
from .page import rendered
from .summary import Summary, summaries

HEAD = """\
Written by `draftproof engines --out FOLDER`. An engine is a program that emits text, an adapter a function of one,
audited as a verifier; its code is the engine's own, unpacked by `make engines` or installed, and not edited but as
its report records. The problems are few (the paper's example, and rows with zeros; fewer under Triton's interpreter):
`draftproof audit NAME` has the battery. What *holds* is refuted by nothing on these problems, to the limit stated,
and is no proof; a CPU ran everything, and no kernel was compiled for a GPU. Loops around the verifiers, samplers and
temperatures are examined only from outside, on forged models, by samples: these never show that something is right."""

COLUMNS = ("name", "version", "rule", "says of itself", "numbers", "text", "impossible tokens", "batches", "how",
           "worst", "allowed or limit", "tokens a call", "run on", "processor time")  # fmt: skip


class SurveyRow(NamedTuple):
    """One adapter, engine or server in one type of numbers; fields as COLUMNS.

    text, support, batch: verdicts on the claims lossless, support and batch; empty where a claim was not examined.
    tokens: of a call in expectation, and the most that a valid verifier has, on the first problem.
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
    """The rows of one name, one for each type of numbers."""
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
    """What is said of batches where none was refuted; empty where none was tried."""
    batches = report.subject.get("batches", {})
    left_out = [way for way, said in batches.items() if said == NOT_TRIED]
    return ("nothing noticed" if batches else "") + (f"; not tried: {', '.join(left_out)}" if left_out else "")


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
            needs = ", ".join(what.missing())
            absent[name] = f"needs {needs}" if needs else "was not asked for"
    return absent | NOT_RUN


def page(
    reports: Mapping[str, Mapping[str, Any]], runs: Mapping[str, SurveyRun], seeds: Sequence[str] = ()
) -> tuple[str, str, dict[str, str]]:
    """The page in Markdown and in HTML, and the issues by name.

    reports: in their JSON form, by name; what has none was not run, and why is said. seeds: lines about fresh ones.
    """
    rows: list[SurveyRow] = []
    shown: list[tuple[str, str, Evidence]] = []
    issues: dict[str, str] = {}
    for name, data in reports.items():
        report = Report.from_json(data)
        rows += rows_of(name, report, runs[name])
        for claim, evidence in refuted(report).items():
            shown.append((name, claim, evidence))
            issues[f"{name}-{claim}"] = issue(name, report, evidence)
    absent, timed = missing_of(reports), [run.seconds for name, run in runs.items() if name in reports and run.seconds]
    together = f"Processor time of {len(timed)} audits together: {sum(timed):.0f} s." if timed else ""
    markdown = _markdown(rows, shown, absent, together, seeds)
    scripts = {key for key in issues if (FOLDER / f"{key}.py").is_file()}
    head = HEAD.replace("`", "").replace("*", "")
    html = rendered("engines.html.j2", head=head, columns=COLUMNS, rows=rows, refuted=shown, absent=absent,
                    scripts=scripts, together=together, seeds=seeds)  # fmt: skip
    return markdown, html, issues


def _markdown(
    rows: Sequence[SurveyRow], shown: Sequence[tuple[str, str, Evidence]], absent: Mapping[str, str], together: str,
    seeds: Sequence[str],
) -> str:  # fmt: skip
    lines = ["# Adapters and engines, audited", "", HEAD, "", _line(COLUMNS), "|" + "---|" * len(COLUMNS)]
    lines += [_line((f"`{row.name}`", *row[1:])) for row in rows]
    lines += ["", together, ""] if together else [""]
    lines += ["## Refuted", ""]
    for name, claim, evidence in shown:
        key = f"{name}-{claim}"
        lines.append(
            f"- `{name}`, {claim}: {evidence.witness}. [Issue](engines/{key}.md), [reproduction](engines/{key}.py)"
        )
    lines += [] if shown else ["none"]
    lines += ["", "## Fresh seeds", "", *(f"- {line}" for line in seeds)] if seeds else []
    lines += ["", "## Not run, and why", ""]
    lines += [f"- {f'`{name}`' if name in SURVEYED else name}: {why}" for name, why in absent.items()]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def write(
    folder: Path, reports: Mapping[str, Mapping[str, Any]], runs: Mapping[str, SurveyRun], seeds: Sequence[str] = ()
) -> list[Path]:
    """Write engines.md, engines.html and engines/NAME-CLAIM.md into the folder; what was written."""
    markdown, html, issues = page(reports, runs, seeds)
    texts = {
        "engines.md": markdown,
        "engines.html": html,
        **{f"engines/{key}.md": text for key, text in issues.items()},
    }
    (folder / "engines").mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts]
