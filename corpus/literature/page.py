"""corpus/site/literature.md: what papers and public code claim of their rules, each claim judged.

``python -m draftproof.corpus.literature.page`` judges every claim and writes the page.
"""

import json
from pathlib import Path

from draftproof.corpus.literature.literature import LiteratureClaim, figure
from draftproof.corpus.literature.literature_claims import LITERATURE
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

Written by `python -m draftproof.corpus.literature.page`; a test writes it anew and compares. Every law is exact. A
claim that *holds* is contradicted by none of the problems named and is not thereby proved for all; one that is
*refuted* has the smallest witness of the search, and what it would need to be true. Rules and their sources:
`draftproof list verifiers`. Numbers in papers that come from large models are not judged here. What is judged is this
repository's code of each rule: of Tree Monte Carlo it is after the authors' public code, of greedy multi-path
verification after the abstract and reviews, with the order of tokens by ratio, and, in rows of its own, after a copy
of the submission's code, whose order is by the ratio capped at 1. Where a source says *abstract*, no more than that
could be read, and what is judged is derived from it here; where it names a commit, the code there was read and is
written anew, rules in `corpus/literature/strangers/`, which a clone audits as it does any code (`draftproof audit
draftproof.corpus.literature.strangers.dd_tree:verify`); where it says neither, it is the paper as known. "Read as"
marks a reading of ours: a paper that measured averages claims no more than those; "asked here" and "ours" mark what
the source does not claim.

"""


def page(literature: list[LiteratureClaim] = LITERATURE) -> str:
    """Return the text of the page."""
    lines = [HEAD, "| source | claim | verdict | on, or by | true if |", "|---|---|---|---|---|"]
    replays: list[str] = []
    for claim in literature:
        judged = claim.judge()
        by = judged.on
        if judged.witness is not None:
            replays.append(json.dumps(as_json(judged.witness)))
            by += f" on {described(judged.witness)} [{len(replays)}]"
        cells = (claim.source, claim.says, judged.verdict, by, claim.if_only)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    lines += ["", "The witnesses, for `draftproof law RULE --problem`:", ""]
    lines += [f"{k}. `{replay}`" for k, replay in enumerate(replays, start=1)]
    return "\n".join([*lines, "", *lossy_rules(), "", *lossy_by_temperature(), "", *below_the_bound(), ""])


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
