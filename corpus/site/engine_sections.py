"""Parts of the page of engines: a finding, what fresh seeds came to, and what was found here first."""

from collections.abc import Sequence

from msgspec import Struct

from draftproof.corpus.site.engine_issues import FOLDER, LOOKED_UP, REPORTED
from draftproof.corpus.site.survey import SeedCount


class EngineFinding(Struct, frozen=True, kw_only=True):
    """A refutation that is shown: of a name, with its witness in words.

    total_variation: between the two laws. replay: the command that shows it again.
    """

    name: str
    claim: str
    witness: str
    problem: str | None
    total_variation: float | None
    replay: str | None

    @property
    def key(self) -> str:
        """The name of the files of its issue and its reproduction."""
        return f"{self.name}-{self.claim}"

    @property
    def size(self) -> str:
        """How far it is from what it should be, in parentheses; empty where that has no number."""
        if self.claim == "support":
            return f" (Pr {self.witness.rpartition('observed ')[2]})"
        return f" (TV {self.total_variation:.2g})" if self.total_variation else ""

    @property
    def has_script(self) -> bool:
        return (FOLDER / f"{self.key}.py").is_file()


FRESH = 19
"""How many seeds beside the first each row whose text is not refuted is audited with."""

OF_MODES = {
    "llama.cpp-server-xllamacpp-2026.10.11549": "; it kept drafts where they equal a sample with odd seeds, by their "
    "probability with even ones"
}
"""Servers whose seeds took turns between modes, and how."""


def fresh(clean: Sequence[str], counts: Sequence[SeedCount]) -> list[str]:
    """Return what fresh seeds say of rows of others whose output is not refuted.

    clean: their names. counts: of these and others.
    """
    audited = {name: {seed for count in counts if count.name == name for seed in count.numbers} for name in clean}
    wrong = sorted({count.name for count in counts if count.name in clean and count.other})
    whole = [name for name in clean if len(audited[name]) >= FRESH]
    said = (
        f"{len(whole)} of the {len(clean)} rows of others whose output is not refuted were audited again with {FRESH} "
        "or more other seeds, which draw other problems. "
    )
    said += f"Refuted otherwise than above: {', '.join(wrong)}." if wrong else "None was refuted otherwise than above."
    fewer = [f"- `{name}`: {len(audited[name])} fresh seeds" for name in clean if name not in whole]
    servers = dict.fromkeys(count.name for count in counts if count.name in clean and count.texts)
    for name in servers:
        fewer.append(f"- `{name}`: {_sampled([c for c in counts if c.name == name])}{OF_MODES.get(name, '')}")
    return [said, "", *fewer, *[""] * bool(fewer)]


def _sampled(counts: Sequence[SeedCount]) -> str:
    """Return how a server was audited again, and what its texts would not show."""
    texts, limit = min(count.texts for count in counts), max(count.limit for count in counts)
    return (
        f"a server, started on another forged pair of models for each seed; {texts:,} outputs or more of each "
        f"kind of request, which all together would not show a deviation below TV {limit:.2g}"
    )


def unreported(key: str) -> bool:
    """Return whether no report of a refutation is known, by name and claim."""
    return key in REPORTED and not REPORTED[key].known


def found_first(shown: int, refuted: int) -> str:
    """Return the sentence above the refutations that nobody reported, as far as is known."""
    return (
        f"{shown} of the {refuted} refutations above: no report was found in the stored issues of public repositories "
        f"(looked up {LOOKED_UP}); each issue says what was reported near it. Of packages of the index see "
        "[their page](index-survey.md), of earlier releases [histories](history.md)."
    )
