"""The report of a run, in the form of report.schema.json. Everything that is shown is derived from it."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from ...models.digests import environment
from ...models.errors import InputError
from ...models.json_files import convert, json_text, plain
from ...models.rationals import as_float
from ...proofs.laws.reference_laws import acceptance_ccdf, output_law
from ...proofs.laws.small_law import Measurement
from ...proofs.statements import standing, summary
from ...verifiers.evidence import HOLDS, NOT_CLAIMED, REFUTED, Evidence, merge_verdicts
from ...verifiers.registry import reference
from ...verifiers.verdicts import ReportVerdict
from .drafts import compared_with_itself, nothing_drafted
from .not_examined import not_examined
from .report_form import SCHEMA_VERSION, ReportForm, in_this_version
from .scope import ReportScope, scope


def deciding(evidence: Sequence[Evidence], claims: Collection[str]) -> list[Evidence]:
    """Return the evidence on these claims by which the verdict is given.

    Wide problems on which nothing is decided for their number of ways or the style of the code are left out
    (``Evidence.out_of_scope``), if everything else holds and a wide problem is among that, in each precision and for
    each claim of theirs. Else nothing is left out. What was not decided for time never is: else the set that a verdict
    speaks of would depend on the machine.
    """
    every = [e for e in evidence if e.claim in claims and e.verdict != NOT_CLAIMED]
    left_out = [e for e in every if e.out_of_scope]
    rest = [e for e in every if not e.out_of_scope]
    wide = {(e.claim, e.dtype) for e in rest if e.holds and e.detail.wide}
    needed = all((e.claim, e.dtype) in wide for e in left_out)
    return rest if needed and all(e.holds for e in rest) else every


OUT_OF_TIME = "out of time"
"""Finding of a run that ended with parts not examined. Its verdict never holds, whatever the evidence."""

FINDINGS = {
    "reseeds": "reseeds its random numbers",
    "state": "keeps state between calls",
    "unwritten": "uses memory that was never written",
    "unsteady": "returns different results for the same random numbers",
    "surroundings": "reads more than its arguments",
    "settings": "reads settings when it is imported",
    "relation": "depends on what must not matter",
    "scaling": "rows that do not sum to 1",
    "inputs-written": "writes to its inputs",
    "outside-vocabulary": "returns ids outside the vocabulary",
    "result-overwritten": "overwrites what it returned before",
    "optional-generator": "is not examined without a generator",
    "uniform-reused": "uses one uniform twice",
    "noise-used-twice": "uses the noise of a race twice",
    "raises-at-end": "raises at an end of the uniform's range",
    "never-returned": "does not return",
    "too-long": "takes too long",
    "nan": "computes with NaN",
    "key": "is judged over keys",
    "coarse-uniform": "draws uniforms of less precision than the rows",
    "drafting": "is refuted only for some ways of drawing trees",
    "padding": "returns padding with the tokens",
    "precision": "deviates by no more than float32 rounds",
    "not-wide": "is not examined on wide problems",
    "convention": "is not called by the plain convention",
    "array": "needs other arrays than the convention's",
    "prints": "prints",
    "forks": "forks its process",
    "process": "changes the process that it runs in",
    "answers-lost": "does not answer every request that it takes",
    "refused": "does not take every request at once",
    "longer-texts": "sends more tokens than requested",
    "another-model": "names a different model than requested",
    "seeds": "gives different outputs for one seed",
    "drift": "computes other rows than the reference",
    "recording-failed": "could not record every step",
    "order": "applies settings in an order of its own",
    "not-explained": "could not be explained",
    "unreadable": "has shards that cannot be read",
    "rule-not-judged": "claims a rule that its steps cannot be judged by",
    OUT_OF_TIME: "had no time for all that it examines",
    "fewer texts": "had no time for more outputs",
    "fewer repeats": "had no time for more repeats",
}
"""Findings that are not laws, by the key under which each is reported."""


RUNS = ("end_to_end", "campaign", "server", "steps")
"""Fields of a report that only one kind of run has, each in its JSON form."""


@dataclass(repr=False)
class Report:
    """A report of a run on one subject.

    subject: name, source, digest, dtypes, and how it was called.
    claims: those that decide the verdict.
    seed: of all statistical parts.
    environment: versions that the result can depend on.
    evidence: in the order in which it was found.
    diagnosis: the mutants that behave exactly as the subject.
    compared: how many mutants it was compared with, on which problems, by which claim; None if with none.
    findings: what was noticed that is no law, kind -> text.
    shown: finding's kind -> the calls that show it, and the command that shows it again.
    curves: Pr(tau >= i) of the subject and of block and token verification, by problem.
    failure: kind and message, if the run could not be completed.
    end_to_end: of runs of a decoding loop: its setting, ``figures`` (block efficiency, speed-up) and ``drift``.
    server: of a server that was sampled: what was sent, answered and lost, and what it says of itself.
    steps: of recorded steps: what was judged, what it behaves like, acceptance of every rule, limits.
    campaign: of sampling campaigns: samples, seconds, counts and where they come from.
    regions: dtype -> region in which a bug can hide -> how many of its cells the small problems cover, of how many.
    proved: what was on record of proofs when it was written; None: what is on record in this version.
    """

    subject: dict[str, Any]
    claims: Sequence[str] = ("lossless",)
    seed: int = 0
    environment: dict[str, str] = field(default_factory=dict)
    evidence: list[Evidence] = field(default_factory=list)
    diagnosis: list[dict[str, Any]] = field(default_factory=list)
    compared: dict[str, Any] | None = None
    findings: dict[str, str] = field(default_factory=dict)
    shown: dict[str, dict[str, Any]] = field(default_factory=dict)
    curves: list[dict[str, Any]] = field(default_factory=list)
    failure: dict[str, str] | None = None
    end_to_end: dict[str, Any] | None = None
    campaign: dict[str, Any] | None = None
    server: dict[str, Any] | None = None
    steps: dict[str, Any] | None = None
    regions: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    proved: list[dict[str, Any]] | None = field(default=None, compare=False)

    @classmethod
    def begin(
        cls, name: str, source: str, dtypes: Sequence[str], seed: int, claims: Sequence[str] = ("lossless",)
    ) -> "Report":
        """Return a report without evidence, on a subject whose digest is not known yet."""
        subject = {"name": name, "source": source, "digest": "unknown", "dtypes": list(dtypes)}
        return cls(subject, claims, seed, environment())

    def add(self, evidence: Iterable[Evidence]) -> None:
        """Add evidence."""
        self.evidence += evidence

    def add_curve(self, measurement: Measurement) -> None:
        """Add the acceptance curve of a measurement, if its law is known and nearly all of it is token sequences.

        Trees have none: block and token verification, which it is compared with, have no law there.
        """
        if (
            measurement.known
            and not measurement.draws_trees
            and abs(as_float(sum(measurement.outputs().values(), 0)) - 1) < 1e-6
        ):
            self.curves.append(_curves(measurement))

    def notice(self, findings: Mapping[str, str], **shown: Any) -> None:
        """Add findings; the first of each kind stays. shown: the ``calls`` that show it, and a ``replay`` command."""
        for kind, text in findings.items():
            if kind not in self.findings:
                self.findings[kind] = text
                self.shown |= {kind: shown} if shown else {}

    def take(self, part: "Report") -> None:
        """Add a report on another part of the same run, after what is here."""
        self.add(part.evidence)
        for kind, text in part.findings.items():
            self.notice({kind: text}, **part.shown.get(kind, {}))
        calls = max(self.subject.get("calls", 0), part.subject.get("calls", 0))
        self.subject |= part.subject | {"calls": calls}
        self.claims = tuple(dict.fromkeys([*self.claims, *part.claims]))
        self.environment |= part.environment
        self.regions |= part.regions
        self.diagnosis += part.diagnosis
        self.curves += part.curves
        self.compared = part.compared or self.compared
        self.failure = self.failure or part.failure

    def fail(self, kind: str, message: str) -> None:
        """Record that the run could not be completed; the first reason stays."""
        self.failure = self.failure or {"kind": kind, "message": message}

    @property
    def interrupted(self) -> bool:
        """Return whether the user ended the run."""
        return self.failure is not None and self.failure["kind"] == "interrupted"

    @property
    def verdict(self) -> ReportVerdict:
        """Return the verdict, by the deciding claims alone, of what is in the scope."""
        merged = merge_verdicts(e.verdict for e in deciding(self.evidence, self.claims))
        if merged == REFUTED:
            return ReportVerdict.REFUTED
        if self.failure:
            return ReportVerdict.ERROR
        if self.decides_nothing:
            return ReportVerdict.INCONCLUSIVE
        return ReportVerdict.HOLDS if merged == HOLDS else ReportVerdict.INCONCLUSIVE

    @property
    def decides_nothing(self) -> str | None:
        """Return why what holds in it decides nothing; None if it may."""
        if OUT_OF_TIME in self.findings:
            return "it had no time for all that it examines"
        if nothing_drafted(self.evidence):
            return "nothing shows that tokens were drafted"
        if compared_with_itself(self.evidence):
            return "it was compared with its own outputs without speculation alone"
        return None

    @property
    def scope(self) -> ReportScope | None:
        """Return what the verdict speaks of; None if nothing was examined."""
        return scope(self)

    @property
    def not_examined(self) -> list[str]:
        """Return what the verdict says nothing of, a sentence each."""
        return not_examined(self, self.scope)

    @property
    def reading(self) -> str:
        """Return the verdict in words that say no more than the evidence."""
        known = self.scope
        return known.reading if known else self.verdict

    @property
    def behaves_as(self) -> list[tuple[str, str]]:
        """Return (words, link) for each mutant that behaves as the subject; if none does, say so without a link."""
        known = [
            (f"behaves exactly as {same['mutant']}: {same['title']} ({_compared_on(same)})", same["link"])
            for same in self.diagnosis
        ]
        if known or not self.compared:
            return known
        said = f"none of {self.compared['mutants']} known bugs behaves like this ({_compared_on(self.compared)})"
        left_out = self.compared.get("left_out", 0)
        return [(said + (f"; {left_out} more could not be compared" if left_out else ""), "")]

    def shown_refutation(self) -> Evidence | None:
        """Return the refutation to show first: the one on the smallest problem, on a tie if there is no other."""
        ties = {e.case for e in self.evidence if e.own_alone}
        refuted = [(e, e.witness) for e in self.evidence if e.refuted and e.claim in self.claims and e.witness]
        return min(
            refuted,
            key=lambda pair: (
                pair[0].case in ties,
                not pair[1].smallest,
                not pair[1].problem,
                len(json.dumps(pair[1].problem)),
            ),
            default=(None, None),
        )[0]

    @property
    def noticed(self) -> list[dict[str, Any]]:
        """Return the findings in their JSON form."""
        return [
            {"kind": kind, "what": FINDINGS.get(kind, kind), "text": text, **self.shown.get(kind, {})}
            for kind, text in sorted(self.findings.items())
        ]

    @property
    def standing(self) -> list[dict[str, Any]]:
        """Return what is proved of the rules, claim by claim."""
        return summary(standing()) if self.proved is None else self.proved

    def as_json(self) -> dict[str, Any]:
        """Return the form of report.schema.json."""
        report = {
            "schema_version": SCHEMA_VERSION, "subject": self.subject, "verdict": self.verdict,
            "claims": list(self.claims), "evidence": [e.as_json() for e in self.evidence],
            "diagnosis": self.diagnosis, "findings": self.noticed, "failure": self.failure, "curves": self.curves,
            "scope": self.scope and plain(self.scope), "not_examined": self.not_examined,
            "standing": self.standing, "environment": self.environment, "seed": self.seed,
        }  # fmt: skip
        if self.end_to_end is not None:
            figures = self.end_to_end["figures"]
            report |= {name: figures.get(name) for name in ("block_efficiency", "wall_clock_speedup")}
        report |= {name: run for name in RUNS if (run := getattr(self, name)) is not None}
        return report | {name: value for name in ("compared", "regions") if (value := getattr(self, name))}

    def __repr__(self) -> str:
        return f"<Report on {self.subject['name']}: {self.reading}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the verdict in words, the smallest witness, its cause, and the scope."""
        shown = self.shown_refutation()
        word = f'<b style="color:#fff;background:{self.verdict.badge};padding:0 .4em">{self.verdict.upper()}</b>'
        lines = [f"<b>{escape(str(self.subject['name']))}</b> {word} {escape(self.reading)}"]
        if shown and (witness := shown.witness):
            lines.append(f"witness on {escape(str(shown.problem))}: <code>{escape(json.dumps(witness.problem))}</code>")
            rows = [("emitted", "expected", "observed")]
            rows += [(entry.sequence, entry.expected, entry.observed) for entry in witness.entries]
            cells = ("".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in rows)
            lines.append(f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>")
            lines += [escape(words) for words, _ in self.behaves_as]
            lines += [f"where: {escape(witness.where)}"] if witness.where else []
            lines += [f"<code>{escape(witness.line)}</code>"] if witness.line else []
            lines += [f"reproduce: <code>{escape(shown.replay)}</code>"] if shown.replay else []
        lines += [f"speaks of {escape(self.scope.says)}"] if self.scope else []
        lines += [f"failed: {escape(self.failure['message'])}"] if self.failure else []
        return f"<div>{''.join(f'<div>{line}</div>' for line in lines)}</div>"

    def text(self) -> str:
        """Return the file's content."""
        return json_text(self.as_json())

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Report":
        """Return the report that this or an earlier version wrote.

        Raises: InputError for what is no report, and for a version that is not known.
        """
        data = in_this_version(data)
        form = convert(ReportForm, data, "report")
        _require_numbers(form.evidence)
        details = ((f["kind"], {n: f[n] for n in ("calls", "replay") if n in f}) for f in data["findings"])
        unchanged = ("subject", "diagnosis", "curves", "failure", "compared", "regions", *RUNS)
        return cls(
            claims=tuple(form.claims), seed=form.seed, environment=form.environment, evidence=form.evidence,
            findings={f["kind"]: f["text"] for f in data["findings"]}, proved=data["standing"],
            shown={kind: shown for kind, shown in details if shown},
            **{name: data[name] for name in unchanged if name in data},
        )  # fmt: skip


def _compared_on(compared: Mapping[str, Any]) -> str:
    """Say on which problems mutants were compared, and by which claim if it is not lossless."""
    claim = compared.get("claim", "lossless")
    count = len(compared["problems"])
    on = f"on all {count} problems compared" if count > 1 else "on the problem compared"
    return on + ("" if claim == "lossless" else f"; {claim} is refuted")


def _require_numbers(evidence: Sequence[Evidence]) -> None:
    """Check that deviations and bounds are numbers, not rationals. Raises: InputError."""
    for place, e in enumerate(evidence):
        for name, value in (("total_variation", e.total_variation), ("bound", e.bound)):
            if value is not None and (not isinstance(value, (int, float)) or value < 0):
                expected = "expected null, or a number that is at least 0"
                raise InputError(f"report: evidence[{place}].{name}: {str(value)[:40]!r}; {expected}")


def _curves(measurement: Measurement) -> dict[str, Any]:
    """Return Pr(tau >= i) of the subject, of block and of token verification on the same rows, for the figures."""
    gamma = measurement.problem.gamma
    laws = {
        "subject": measurement.outputs(),
        "block": output_law(measurement.in_use, reference("block")),
        "token": output_law(measurement.in_use, reference("token")),
    }
    curves = {name: [as_float(p) for p in acceptance_ccdf(law, gamma)] for name, law in laws.items()}
    return {"problem": measurement.problem.name, "dtype": measurement.dtype, **curves}
