"""The page of a history: one file, nothing loaded from elsewhere, everything from elsewhere escaped."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from ...audits.nightly.verdicts import STATE_MEANINGS
from ..page import rendered
from ..plain_words import NO_DRAWS, STATES
from . import summary
from .figure import history


def page(report: Mapping[str, Any]) -> str:
    """The page of a history in its JSON form. Equal histories give equal bytes."""
    subjects = list(dict.fromkeys(check["subject"] for check in report["checks"]))
    panels = []
    for subject in subjects:
        checks = [check for check in report["checks"] if check["subject"] == subject]
        picture = history(checks, {check["version"]: summary.short(check["version"]) for check in checks})
        panels.append({"subject": subject, "checks": checks, "picture": Markup(picture) if picture else None})
    alarms = [check for check in report["checks"] if check["state"] == "alarm"]
    content = {"report": report, "panels": panels, "alarms": alarms, "states": STATE_MEANINGS, "summary": summary}
    content |= {
        "sentence": STATES.get(report["state"], "") if any(check["nights"] for check in report["checks"]) else NO_DRAWS
    }
    return rendered("nightly/nightly.html.j2", **content)
