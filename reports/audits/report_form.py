"""The JSON form of a report as types, from which report.schema.json is made.

``python -m draftproof.reports.audits.report_form`` writes the schema.
"""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from ...models.digests import ROOT
from ...models.errors import InputError
from ...models.files import write_atomically
from ...models.json_files import schema
from ...verifiers.claims import CLAIMS
from ...verifiers.evidence import Evidence
from ...verifiers.verdicts import ReportVerdict
from .scope import ReportScope

SCHEMA_VERSION = "2.2"

SCHEMA_FILE = ROOT / "docs" / "schemas" / "report.schema.json"

Count = Annotated[int, Meta(ge=0)]
Number = Annotated[float, Meta(ge=0)]
Counts = dict[str, Count]
Interval = tuple[float, float] | None


class Closed(Struct, omit_defaults=True, kw_only=True):
    """An object that is written with these fields alone, and read with others too; one without a default is always
    written."""


class SubjectForm(Struct, kw_only=True, omit_defaults=True):
    """A subject of an audit, and how it was called.

    problems: that were given, by name: SHA-256 of the JSON form. calls: of the function, in one process.
    quick: whether wide problems were left out; absent if not. requests_a_call: the most texts that one call verified.
    batches: how batches were made up -> how many were tried. not_compared: parts of an object that was handed over
        whose likeness in the child process cannot be seen. uniform_bits: as which its uniforms are judged, where that
        was asked for.
    """

    name: str
    digest: str
    source: str
    dtypes: list[str]
    convention: dict[str, Any] = {}
    problems: dict[str, str] = {}
    calls: Count = 0
    quick: bool = False
    requests_a_call: Count = 1
    batches: dict[str, str] = {}
    not_compared: list[str] = []
    uniform_bits: Count | None = None


class Same(Closed, kw_only=True):
    """A mutant that behaves exactly as the subject. claim: that both fail; absent in reports of earlier versions."""

    mutant: str
    title: str
    ancestor: str
    link: str
    problems: list[str]
    distance: Annotated[float, Meta(ge=0, le=1)]
    claim: str = "lossless"


class Compared(Closed, kw_only=True):
    """A comparison of a subject that fails a claim with mutants that fail it: how many, and on which problems.

    left_out: how many more it could not be compared with.
    """

    mutants: Count
    left_out: Count = 0
    claim: str
    problems: list[str]


class Call(Closed, kw_only=True):
    """A call that shows a finding. numbers: uniforms and noise in the order drawn, then indices drawn by weights."""

    when: str
    problem: dict[str, Any]
    draft_block: str
    numbers: list[float]
    emitted: str
    weights: list[list[str]]


class Finding(Closed, kw_only=True):
    """A finding that is not a law. calls: with the same random numbers and another result. replay: a command."""

    kind: str
    what: str
    text: str
    calls: list[Call] = []
    replay: str | None = None


class Failure(Closed, kw_only=True):
    """A reason why a run could not be completed."""

    kind: Literal["load", "convention", "crash", "timeout", "memory", "interrupted", "raises", "version"]
    message: str


class RegionForm(Closed, kw_only=True):
    """A count of the cells in which a bug can hide (``models.regions``) that small problems with a law cover."""

    covered: Count
    of: Annotated[int, Meta(ge=1)]


class Curve(Closed, kw_only=True):
    """An acceptance curve: Pr(tau >= i), i = 0..gamma, of the subject, of block and of token verification."""

    problem: str
    dtype: str
    subject: list[float]
    block: list[float]
    token: list[float]


class Proved(Closed, kw_only=True):
    """A claim of the papers, and of which sizes each method has shown it."""

    claim: str
    says: str
    shown: dict[Literal["enumeration", "certificate", "sympy", "z3", "coq"], list[str]]


class Quantiles(Struct):
    """A summary of distances over positions, by quantiles."""

    median: Number
    q99: Number
    max: Number
    mean: Number


class DriftForm(Closed, kw_only=True):
    """A comparison of passes of one shape with one pass over the whole text."""

    shape: str
    positions: Count
    log_p: Quantiles
    total_variation: Quantiles
    warped: Quantiles
    gap: Number
    rounding: Number | None = None


class Figures(Closed, kw_only=True):
    """A measure of a run: tokens a call of the target, and the speed against plain decoding."""

    block_efficiency: Number | None = None
    block_efficiency_interval: Interval = None
    wall_clock_speedup: Number | None = None
    wall_clock_speedup_interval: Interval = None
    confidence: float | None = None
    repeats: Count | None = None
    rows: Count | None = None
    tokens: Count | None = None


class Loop(Struct, kw_only=True):
    """An end-to-end run: the pair, the device and the loop as it was run.

    paths: draft paths of a text; nodes, drafting, children: of several: tokens at most, how drawn, by depth.
    mutant: of reports before ``--loop``.
    """

    target: str
    draft: str
    device: str
    dtype: str
    loop: str
    lossy: str
    command: str
    figures: Figures
    drift: dict[Literal["target", "draft"], list[DriftForm]]
    mutant: str | None = None
    paths: Count = 1
    drafting: str | None = None
    nodes: Count | None = None
    children: list[Count] = []
    not_examined: list[str] = []


class CampaignForm(Closed, kw_only=True):
    """A sampling campaign. resumed: of the samples, those of the checkpoint."""

    samples: Count
    resumed: Count = 0
    seconds: Number = 0
    samples_per_second: Number | None = None
    cluster: str | None = None
    chunk: Count = 0
    source: dict[str, str] = {}
    counts: Counts = {}
    counts_digest: str = ""


class Requests(Closed, kw_only=True):
    """A summary of one kind of requests. redrawn: refused with a status, then sent again."""

    asked: Count
    counted: Count
    lost: Counts
    lost_prompts: Counts
    redrawn: Count = 0


class Speculation(Closed, kw_only=True):
    """A server's account of its drafts."""

    seen: str
    drafted: Count | None = None
    accepted: Count | None = None
    tokens_per_event: Number | None = None


class SameSeed(Closed, kw_only=True):
    """A count of seeds sent a second time, and of those that gave the same text; no part of the verdict."""

    asked: Count
    same: Count


class Level(Closed, kw_only=True):
    """A number of requests in flight, and what they showed.

    drafted, kept: tokens, where the server shows them. log_e: logarithm of the evidence against the distribution.
    alarm: from where on that refutes. impossible: outputs with a token of probability 0, one of which refutes.
    missed: answers that were lost or requested again, with which the evidence refutes nothing.
    """

    in_flight: Count
    texts: Count
    tokens: Count
    drafted: Count | None = None
    kept: Count | None = None
    log_e: float
    alarm: Number
    verdict: str
    impossible: Count = 0
    missed: Count = 0


class ServerForm(Closed, kw_only=True):
    """A server that was sampled through the OpenAI completions API.

    models: that it lists; header: its Server header; answered_as: models that answers name. at_once: requests in
        flight.
    refused: why -> how often, and sent again. resumed: how often the run went on from its checkpoint.
    choices: texts of an answer -> how often, where several were asked for. levels: of a sweep.
    """

    url: str
    models: list[str] = []
    header: str = ""
    answered_as: list[str] = []
    fingerprints: list[str] = []
    at_once: Count = 1
    kinds: dict[str, Requests]
    refused: Counts
    resumed: Count
    longer_than_asked: Count
    choices: Counts = {}
    speculation: Speculation
    same_seed: SameSeed | None = None
    levels: list[Level] = []
    not_examined: list[str]


class StepsForm(Closed, kw_only=True):
    """A judged recording of verification steps.

    header: of the recording. rule: that was claimed. counts: of its recorder. judged: how many of which kind.
    left_out: why -> steps. alpha: share of the rate of false alarms. refuted_at: the step, from 0, by which the rule
        was refuted. path: [step, logarithm of the evidence]. transform: counts in equal bins.
    behaves_like: hypotheses that explain the steps best. limits: hypothesis -> the step by which it would have shown;
        none once the rule is refuted.
    acceptance, tree_acceptance: accepted tokens a step, of every rule, on chains and on trees. by_place: drafted and
        accepted tokens at each place of chains, and those that block verification would accept. groups: the bets split
        by place and length.
    """

    header: dict[str, Any]
    rule: str
    counts: Counts
    shards: Count
    judged: Counts
    left_out: Counts
    alpha: Number
    refuted_at: Count | None
    path: list[list[float]]
    transform: list[Count]
    behaves_like: list[dict[str, str]]
    limits: dict[str, Count | None]
    known_bugs: Counts
    shown: list[dict[str, str]]
    acceptance: dict[str, Any] | None
    tree_acceptance: dict[str, Any] | None = None
    by_place: list[list[float]]
    groups: list[dict[str, Any]]
    not_examined: list[str]


class ReportForm(Closed, kw_only=True):
    """A report, as every command writes it.

    scope: what the verdict speaks of; None without evidence. not_examined: what it says
        nothing of.
    regions: dtype -> region of the rows -> cells covered. standing: what is proved of the rules, on record.
    """

    schema_version: str
    subject: SubjectForm
    verdict: ReportVerdict
    claims: Annotated[list[str], Meta(min_length=1)]
    evidence: list[Evidence]
    diagnosis: list[Same]
    compared: Compared | None = None
    findings: list[Finding]
    failure: Failure | None
    curves: list[Curve]
    scope: ReportScope | None = None
    not_examined: list[str] = []
    standing: list[Proved]
    environment: dict[str, str]
    seed: Count
    block_efficiency: Number | None = None
    wall_clock_speedup: Number | None = None
    end_to_end: Loop | None = None
    campaign: CampaignForm | None = None
    server: ServerForm | None = None
    steps: StepsForm | None = None
    regions: dict[str, dict[str, RegionForm]] = {}


def in_this_version(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return a report of this version or the one before. Raises: InputError for another version."""
    version, verdict = report.get("schema_version"), report.get("verdict")
    if version not in ("2.1", SCHEMA_VERSION):
        raise InputError(f"report of version {version!r}: expected {SCHEMA_VERSION} or 2.1", "DP208")
    # Until 2.1 the verdict holds was called lossless, a word that is kept for what is proved.
    return {**report, "schema_version": SCHEMA_VERSION, "verdict": "holds" if verdict == "lossless" else verdict}


def report_schema() -> dict[str, Any]:
    """Return the JSON Schema of a report: from the types, with the claims of the table."""
    made = schema(ReportForm, "draftproof report")
    definitions, claims = made["$defs"], {"enum": [*CLAIMS]}
    definitions["ReportForm"]["properties"]["schema_version"] = {"const": SCHEMA_VERSION}
    definitions["ReportForm"]["properties"]["claims"]["items"] = claims
    for name in ("Evidence", "Same", "Compared"):
        definitions[name]["properties"]["claim"] = claims
    for name in ("Evidence", "Witness", *(kind.__name__ for kind in Closed.__subclasses__())):
        definitions[name]["additionalProperties"] = False
    for name in ("total_variation", "bound"):
        definitions["Evidence"]["properties"][name] = {"type": ["number", "null"], "minimum": 0}
    return made


def schema_text() -> str:
    """Return the file, a definition a line."""
    made = report_schema()
    definitions = sorted(made.pop("$defs").items())
    lines = [f"  {json.dumps(name)}: {json.dumps(definition)}" for name, definition in definitions]
    head = ",\n".join(f" {json.dumps(key)}: {json.dumps(value)}" for key, value in made.items())
    return f'{{\n{head},\n "$defs": {{\n' + ",\n".join(lines) + "\n }\n}\n"


if __name__ == "__main__":
    write_atomically(SCHEMA_FILE, schema_text())
