"""What all audits of servers share: connections, the journal, the report's ``server``, the command to repeat it."""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar

from ....verifiers.evidence import Evidence
from ..replay import assignments, command_line
from ..report import Report
from ..runner import examine
from ..settings import Progress
from .completions import Completions, Lost, Refused, Wrong
from .journal import Journal
from .remarks import Seen, became_of, findings
from .sampling import Sampler

NOT_REPLAYED = {"timeout", "request_timeout", "patience", "key", "checkpoint", "fields"}
"""Settings that say how long a run may take and what it keeps, or that --set gives."""


class ServerExamination(ABC):
    """An examination of a server, and its report.

    url: of the server. given: option of the command that says what it serves -> its value.
    clients: connections to it, and to the same server without speculation if that is asked too.
    names, header: the models that it lists, and its Server header.
    kinds: names of the kinds of requests that were sent; journal: what became of them.
    """

    claims: ClassVar[Sequence[str]] = ("lossless",)
    settings: Any

    def __init__(
        self, url: str, given: dict[str, str], clients: Sequence[Completions], settings: Any, seed: int,
        progress: Progress,
    ):  # fmt: skip
        self.url, self.given, self.clients, self.settings = url, given, clients, settings
        self.seed, self.progress = seed, progress
        self.names, self.header = clients[0].models()
        self.report = Report.begin(url, f"server: {self.header or 'no name'}", ["float32"], seed, self.claims)
        self.kinds: list[str] = []
        self.journal = Journal(None, {})

    def audit(self) -> Report:
        """Run the examination; return its report. Raises: InputError."""
        self.begin()
        report = self.report
        examine(report, [self])
        report.server = self.section()
        report.notice(findings(report.server, self.settings.model))
        return report

    def run(self) -> None:
        self.until = time.monotonic() + self.settings.timeout
        try:
            self.ask()
        finally:
            for client in self.clients:
                client.close()
            self.journal.close()

    @abstractmethod
    def begin(self) -> None:
        """Make the requests and the journal. Raises: InputError."""

    @abstractmethod
    def ask(self) -> None:
        """Send the requests. Raises: RunFailed."""

    @abstractmethod
    def evidence(self, complete: bool) -> list[Evidence]:
        """Return what the answers are evidence of."""

    @abstractmethod
    def not_examined(self, seen: Seen) -> list[str]:
        """Return what the audit does not say anything of. seen: what answers show."""

    def sampler(self, client: Completions, until: float | None = None) -> Sampler:
        """Return a sender of requests whose answers the journal keeps."""
        return Sampler(client, self.journal, self.settings, self.until if until is None else until)

    def shown(self) -> Iterable[Mapping[str, Any]]:
        """Yield what each answer shows beyond its texts."""
        for kind in self.kinds:
            yield from self.journal.shown[kind].values()

    def lost_prompts(self, kind: str) -> list[str]:
        """Return the prompts of lost answers, in words."""
        return []

    def section(self) -> dict[str, Any]:
        """Return the report's ``server``."""
        seen, journal = Seen().add(self.shown()), self.journal
        more = f"more than {journal.in_flight}" if journal.in_flight > 1 else "several"
        kinds = {kind: became_of(journal, kind, self.settings.samples, self.lost_prompts(kind)) for kind in self.kinds}
        return {
            "url": self.clients[0].base, "models": self.names, "header": self.header, "at_once": self.settings.at_once,
            "answered_as": sorted(seen.models), "fingerprints": sorted(seen.fingerprints), "kinds": kinds,
            "refused": dict(journal.refusals), "resumed": journal.resumed, "longer_than_asked": seen.excess,
            "choices": dict(seen.choices), "speculation": seen.speculation(),
            "not_examined": [
                *self.not_examined(seen), f"several prompts in one request, and {more} requests in flight",
            ],
        }  # fmt: skip

    def replay(self, **changes: Any) -> str:
        """Return the command that asks again, for a part of it if settings are changed."""
        kept = {field.name: field for field in fields(self.settings) if field.name not in NOT_REPLAYED}
        options = {name: getattr(self.settings, name) for name, field in kept.items()}
        changed = {n: value for n, value in options.items() if value != kept[n].default and n not in changes}
        said = {**self.given, **changes, **changed, "seed": self.seed, "set": assignments(self.settings.fields)}
        return command_line("server", self.url, **said)


def refused(client: Completions, body: Mapping[str, Any]) -> str:
    """Return why a server takes no such request at all, empty if it may take it. It takes one, which is not counted."""
    try:
        client.ask(body)
    except Wrong as wrong:
        return str(wrong)
    except (Refused, Lost):
        pass  # the run itself asks again, and says what is lost
    return ""
