"""report.json of a compliance document: requirements with their verdicts, and everything they were derived from."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from ....models.digests import EXAMINING, ROOT, code_digest, environment, versions
from ....models.errors import InputError
from ....models.files import write_atomically
from ....models.json_files import convert, json_text, plain, schema
from ..report import Report
from .plan import Collected, Digest, Plan
from .requirements import WORST_FIRST, Judged, Verdict, judged, overall

FORMAT = "draftproof-compliance-1"

SCHEMA_FILE = ROOT / "docs" / "schemas" / "compliance.schema.json"

NOT_SAID = (
    "that a requirement which is met holds beyond the problems, numbers, versions and settings that it names, unless "
    "it is proved",
    "anything of a decoder with another configuration, of other versions of the code, or of other models",
    "anything of what runs around the parts that were examined: a verifier that is lossless can stand in a loop that "
    "is not",
    "that the code is safe to run, or that its outputs are true or harmless",
)
"""What no compliance document says, whatever its verdicts."""


class PlanForm(msgspec.Struct, forbid_unknown_fields=True):
    """A plan's file and its digest."""

    file: Annotated[str, Meta(pattern=r"^plan\.toml$")]
    sha256: Digest


class PartForm(Collected, kw_only=True, forbid_unknown_fields=True):
    """A part with its verdict, in a word and in words that say no more than its evidence."""

    verdict: str
    reading: str


class DocumentForm(msgspec.Struct, forbid_unknown_fields=True):
    """A document. draftproof: versions, and the digests of its code and of the code that audits depend on."""

    format: Annotated[str, Meta(pattern=f"^{FORMAT}$")]
    title: str
    date: Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    plan: PlanForm
    draftproof: dict[str, str]
    verdict: Verdict
    counts: dict[Verdict, Annotated[int, Meta(ge=0)]]
    requirements: Annotated[list[Judged], Meta(min_length=1)]
    parts: list[PartForm]
    not_said: list[str]


def document(plan: Plan, collected: Sequence[Collected], date: str, own: Mapping[str, str]) -> dict[str, Any]:
    """Return the document in its JSON form (``compliance.schema.json``): all that follows from a plan and its parts.

    own: the digests and versions of draftproof, as ``versions_in_use`` gives them.
    """
    requirements = [judged(requirement, collected) for requirement in plan.requirements]
    verdicts = [requirement.verdict for requirement in requirements]
    counts = {verdict: verdicts.count(verdict) for verdict in WORST_FIRST}
    source = PlanForm("plan.toml", hashlib.sha256(plan.source).hexdigest())
    parts = [PartForm(**msgspec.structs.asdict(got), **_said(got)._asdict()) for got in collected]
    made = (FORMAT, plan.title, date, source, {**own}, overall(verdicts), counts, requirements, parts, [*NOT_SAID])
    return plain(DocumentForm(*made))


def read_document(data: Any, where: str) -> DocumentForm:
    """Return the document with a JSON form. Raises: InputError, also where its evidence gives another verdict."""
    made = convert(DocumentForm, data, where)
    verdict = overall(judged(requirement, made.parts).verdict for requirement in made.requirements)
    if verdict != made.verdict:
        raise InputError(f"{where}: says {made.verdict}, and its evidence gives {verdict}")
    return made


class _Said(NamedTuple):
    verdict: str
    reading: str


def _said(got: Collected) -> _Said:
    """Return the verdict of a part."""
    if got.report:
        report = Report.from_json(got.report)
        return _Said(report.verdict, report.reading)
    if got.history:
        state = str(got.history["state"])
        return _Said(state, f"{state}, which is no proof" if state == "quiet" else state)
    if got.proofs is msgspec.UNSET:
        return _Said("error", "it could not be run")
    held = sum(row["verdict"] == "holds" for row in got.proofs)
    where = "on record in this version, not run here" if got.recorded else "run here"
    verdict = "holds" if held == len(got.proofs) else "not all hold"
    return _Said(verdict, f"{held} of {len(got.proofs)} proofs hold; {where}")


def versions_in_use() -> dict[str, str]:
    """Return the digests of draftproof's code and the versions that a document and its pages depend on."""
    packages = environment() | versions("weasyprint", "matplotlib", "jinja2")
    return {"code": code_digest(), "audits": code_digest(EXAMINING), **packages}


def today() -> str:
    """Return the date of a document: that of SOURCE_DATE_EPOCH if it is set.

    Raises: InputError if that is no number of seconds.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        moment = datetime.now(timezone.utc) if not epoch else datetime.fromtimestamp(int(epoch), timezone.utc)
    except (ValueError, OverflowError, OSError):
        raise InputError(f"SOURCE_DATE_EPOCH is {epoch!r}; expected a number of seconds") from None
    return moment.date().isoformat()


def schema_text() -> str:
    """Return the schema of the document, in the form in which it is shipped."""
    return json_text(schema(DocumentForm, "draftproof compliance document"))


if __name__ == "__main__":
    write_atomically(SCHEMA_FILE, schema_text())
