"""corpus/site/literature.md: what papers and public code claim of their rules, each claim judged.

``python -m draftproof.corpus.literature.page`` judges every claim and writes the page.
"""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from draftproof.corpus.literature.literature import HOLDS, ClaimSource, figure
from draftproof.corpus.literature.literature_claims import LITERATURE, judgement
from draftproof.corpus.literature.lossy import worst_by_temperature
from draftproof.models.battery import drawn, toy
from draftproof.models.files import write_atomically
from draftproof.models.problem import Problem, as_json
from draftproof.models.rationals import as_float
from draftproof.models.tree_battery import drawing, tree_battery
from draftproof.proofs import claims
from draftproof.proofs.certificates import check_tree_bound, make_tree_bound
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import expected_accepted
from draftproof.proofs.laws.tree_laws import tree_law
from draftproof.verifiers.trees.draft_tree import IID, WITHOUT_REPLACEMENT
from draftproof.verifiers.trees.registry import TREE_REFERENCES

PAGE = Path(__file__).parents[1] / "site" / "literature.md"
HEAD = """# What the literature claims, judged

Written by `python -m draftproof.corpus.literature.page`; a test writes it anew and compares.

{counts}

Each row says whose sentence it is. *Claimed*: the source says it, at the place named. *Read as*: we read a sentence
of the source so; a paper that measured averages claims no more than those. *Asked here*: nobody claims it, we ask.
*Refuted* is said of claimed rows alone; what was read so or asked here and fails *does not hold*. The place says
where only an abstract could be read. *From memory*: the paper was not at hand. *By a summary*: a page about the paper
was read, not the paper. A commit is public code that was read.

Every law is exact. What *holds* is contradicted by none of the problems named and is not thereby proved for all,
unless the row names a theorem of Coq (`proofs/mechanized`). What fails has the smallest witness of the search, and
what it would need to be true. Judged is this repository's code of each rule (`draftproof list verifiers`): rules
whose source is an abstract are derived from it here, those after a commit stand in `corpus/literature/strangers/`,
which a clone audits as it does any code (`draftproof audit draftproof.corpus.literature.strangers.dd_tree:verify`).
Where a rule leaves a choice open, [ours](measurements.md#choices-left-open) is judged. Numbers in papers that
come from large models are not judged here.

"""


def page() -> str:
    """Return the text of the page."""
    return "\n".join([table(LITERATURE), "", *lossy_rules(), "", *lossy_by_temperature(), "", *below_the_bound(), ""])


def table(literature: Sequence[ClaimSource]) -> str:
    """Return the head of the page, with the counts, the table of judged claims and the witnesses."""
    lines = ["| source | claim | claimed, read as or asked here | verdict | on, or by | true if |", "|---" * 6 + "|"]
    replays: list[str] = []
    counts: Counter[tuple[str, bool]] = Counter()
    for source, claim in ((group.source, claim) for group in literature for claim in group.rows):
        judged = judgement(claim.judge)
        counts[claim.kind, judged.verdict == HOLDS] += 1
        by = judged.on
        if judged.witness is not None:
            replays.append(json.dumps(as_json(judged.witness)))
            by += f" on {described(judged.witness)} [{len(replays)}]"
        if claim.theorem:
            by += f"; proved for all: `{claim.theorem}`"
        whose = f"{claim.kind}: {claim.place}" if claim.place else claim.kind
        cells = (source, claim.says, whose, claim.word(judged.verdict), by, claim.true_if)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    lines += ["", "The witnesses, for `draftproof law RULE --problem`:", ""]
    lines += [f"{k}. `{replay}`" for k, replay in enumerate(replays, start=1)]
    parts = [
        f"{counts[kind, True] + counts[kind, False]} {kind} ({counts[kind, True]} hold, {counts[kind, False]} {fail})"
        for kind, fail in (("claimed", "are refuted"), ("read as", "do not"), ("asked here", "do not"))
    ]
    return HEAD.format(counts=f"{counts.total()} rows: {', '.join(parts)}.") + "\n".join(lines)


def described(problem: Problem) -> str:
    """Return a small problem in words: the first rows of both models, and how its tree is drawn."""
    rows = (" ".join(str(p) for p in model.row(())) for model in (problem.target, problem.draft))
    drafts = "" if problem.tree.chain else f", {' x '.join(map(str, problem.tree.children))} {problem.tree.how}"
    return "target ({}), draft ({})".format(*rows) + f", gamma {problem.gamma}{drafts}"


def lossy_rules() -> list[str]:
    """Return the bias of each rule that is lossy: on the paper's example, and the largest over the tree problems."""
    lines = [
        "## Rules that are lossy, and by how much",
        "",
        "| rule | source | TV on the example, gamma 2 | largest TV | on |",
        "|---|---|---|---|---|",
    ]
    for rule in TREE_REFERENCES.values():
        if rule.lossless:
            continue
        tv = {}
        for problem in tree_battery():
            if rule.is_for(problem.tree) and problem.vocabulary**problem.tree.nodes <= 100:
                exact = in_field(problem)
                tv[problem.name] = claims.lossless(exact, tree_law(exact, rule)).total_variation
        worst = max(tv, key=lambda name: tv[name])
        example = figure(tv["paper-example-gamma2-iid-1x1"])
        lines.append(f"| `{rule.name}` | {rule.source} | {example} | {as_float(tv[worst]):.4f} | {worst} |")
    return lines


POWERS = 1, 2, 4
"""Temperatures 1, 1/2 and 1/4."""


def lossy_by_temperature() -> list[str]:
    """Return the largest bias of the first token by temperature of both models."""
    lines = [
        "## The same by temperature",
        "",
        "The first token of one draft, or as named: the largest TV, and KL from the target in nats, over all pairs of",
        "rows of three tokens with denominators up to 5 and full support, both at that temperature. Of some rules they",
        "are formulas.",
        "",
        "| rule | " + " | ".join(f"TV, T = {'1' if n == 1 else f'1/{n}'} | KL" for n in POWERS) + " |",
        "|---" * (1 + 2 * len(POWERS)) + "|",
    ]
    for rule in TREE_REFERENCES.values():
        if (not rule.lossless and rule.step is not None) or rule.name == "typical":
            drafts = 2 if rule.drafts == (IID,) else 1  # of a rule for several, one is no decision
            cells = [f"{as_float(tv):.3f} | {kl:.3f}" for tv, kl in worst_by_temperature(rule, POWERS, drafts)]
            lines.append(f"| `{rule.name}`{', two drafts' * (drafts - 1)} | " + " | ".join(cells) + " |")
    return lines


def below_the_bound() -> list[str]:
    """E[tau] of the lossless rules beside what any valid rule can accept, certified."""
    lines = [
        "## How far lossless rules stay below the bound",
        "",
        "E[tau]; the bound is that of `draftproof certificate --of trees`, checked: a valid rule reaches it to 1e-9.",
        "",
        "| problem | bound | rules |",
        "|---|---|---|",
    ]
    for pair in (toy(2), drawn(3, 2, "generic")):
        for problem in (drawing(pair, 2, 1), drawing(pair, 2, 1, how=WITHOUT_REPLACEMENT)):
            exact = in_field(problem)
            bound = check_tree_bound.check(json.dumps(make_tree_bound.certificate(problem))).bound
            fitting = [r for r in TREE_REFERENCES.values() if r.lossless and r.is_for(exact.tree)]
            tau = {rule.name: as_float(expected_accepted(tree_law(exact, rule))) for rule in fitting}
            rules = ", ".join(f"{name} {value:.4f}" for name, value in sorted(tau.items(), key=lambda item: -item[1]))
            lines.append(f"| {problem.name} | {float(bound):.4f} | {rules} |")
    return lines


if __name__ == "__main__":
    write_atomically(PAGE, page())
