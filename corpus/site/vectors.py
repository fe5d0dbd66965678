"""corpus/site/vectors.md: what the test vectors alone catch of the zoo, by class of bug."""

from collections import Counter
from collections.abc import Sequence

from draftproof.corpus.site.vectors_of_zoo import ALL_MUTANTS, FOR_TREES, OWN_WAY
from draftproof.reports.audits.vectors.answers import GREEDY, RULES
from draftproof.reports.audits.vectors.judgement import FAILED, LEFT_OUT, MISSING, PASSED, Judgement
from draftproof.reports.audits.vectors.suite import FLAGS, suite
from draftproof.verifiers.zoo.catalogue import CONTROLS, TREE_CONTROLS, ZooEntry

ALL_CONTROLS = {**CONTROLS, **TREE_CONTROLS}


def page(rows: Sequence[tuple[ZooEntry, Judgement]]) -> str:
    """Return the table of corpus/site/vectors.md."""
    caught = [(entry, j) for entry, j in rows if j.verdict == "refuted"]
    by_block = [
        entry
        for entry, j in caught
        if any(x.status == FAILED and x.vector.startswith((*RULES, GREEDY)) for x in j.vectors)
    ]
    clean = [entry for entry, j in rows if entry.name in ALL_CONTROLS and not j.statuses()[FAILED]]
    mutants = [entry for entry, _ in rows if entry.name in ALL_MUTANTS]
    controls = [entry for entry, _ in rows if entry.name in ALL_CONTROLS]
    lines = [
        "# What the test vectors catch",
        "",
        f"Vectors `{suite()['digest']}` ({len(suite()['vectors'])} of a block and its random numbers, "
        f"{len(suite()['laws'])} of a law), answered by every mutant and control of the zoo. "
        "`python -m draftproof.corpus.site vectors --out corpus/site/vectors.md` writes this page.",
        "",
        f"Of {len(mutants)} mutants ({_counted(mutants)}) {sum(e in mutants for e, _ in caught)} fail at least one "
        f"vector, {len(by_block)} of them one of a block and its random numbers; of {len(controls)} controls "
        f"{len(clean)} fail none. Flags: classes of bug, with the number of "
        "failed vectors that have each. A bug can show under several flags.",
        "",
        "| | mutant | block vectors failed | law vectors failed | flags |",
        "|---|---|---|---|---|",
    ]
    lines += [_row(entry, j) for entry, j in rows if entry.name in ALL_MUTANTS]
    lines += ["", "| | control | answers | failed |", "|---|---|---|---|"]
    for entry, j in rows:
        if entry.name in ALL_CONTROLS:
            counts = j.statuses()
            what = (
                "its law alone" if entry.name in OWN_WAY or entry.name in FOR_TREES else " and ".join(j.results.gives)
            )
            lines.append(f"| {entry.name} | {entry.title} | {what}: {counts[PASSED]} passed | {counts[FAILED]} |")
    lines += ["", "| flag | bug | mutants that fail a vector with it |", "|---|---|---|"]
    for flag, about in FLAGS.items():
        hit = [e.name for e, j in rows if e.name in ALL_MUTANTS and j.by_flag()[flag][FAILED]]
        lines.append(f"| {flag} | {about.bug} | {', '.join(hit) or 'none of the zoo has it'} |")
    return "\n".join([*lines, ""])


def _counted(mutants: Sequence[ZooEntry]) -> str:
    of_kind = Counter(entry.name[0] for entry in mutants)
    kinds = {"M": "of one block", "T": "of draft trees", "B": "of batches"}
    return ", ".join(f"{of_kind[letter]} {kind}" for letter, kind in kinds.items())


def _row(entry: ZooEntry, judgement: Judgement) -> str:
    cells = []
    for law in (False, True):
        statuses = Counter(j.status for j in judgement.vectors if ("law" in j.fields) == law)
        cell = f"{statuses[FAILED]} of {statuses.total() - statuses[LEFT_OUT]}"
        cells.append(f"{cell}, {statuses[MISSING]} unknown" if statuses[MISSING] else cell)
    flags = ", ".join(f"{flag} {n[FAILED]}" for flag, n in judgement.by_flag().items() if n[FAILED])
    return f"| {entry.name} | {entry.title} | {' | '.join(cells)} | {flags or '**none**'} |"
