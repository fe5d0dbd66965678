"""Greedy multi-path block verification after its authors' code: a capped ratio, and two ways to break ties."""

from functools import partial

from draftproof.verifiers.arithmetic import Number, Row, minimum, ratio
from draftproof.verifiers.block_verification import block_verification
from draftproof.verifiers.chance import Chance
from draftproof.verifiers.draft_block import Block
from draftproof.verifiers.trees.draft_tree import CONTEXT, IID, DraftTree, TreeVerdict
from draftproof.verifiers.trees.greedy_multi_path import chosen_rows, greedy_multi_path
from draftproof.verifiers.trees.in_floats import function_of
from draftproof.verifiers.trees.registry import TreeReference

SOURCE = "a copy of the authors' code: Rmuk655/Distill-Spec-Research at b3dc0a7a, references/gbv-original/verifier.py"


def capped(target: Row, draft: Row, t: int) -> Number:
    """min(M_b / M_s, 1) of a token."""
    return minimum(ratio(target[t], draft[t]), 1)


def by_capped(target: Row, draft: Row) -> list[int]:
    """The tokens by the capped ratio, the largest first, ties to the larger id: a stable sort's, from the end."""
    return sorted(range(len(target)), key=lambda t: (-capped(target, draft, t), -t))


def first_drawn(tree: DraftTree, chance: Chance) -> TreeVerdict:
    """Choose a path by the capped ratio, of equal ones the first drawn; verify it by the law of ``by_capped``.

    Source: Thomas and Pal 2026, gbv_verify. What it adds to denominators is left out.
    """
    alive, path = (CONTEXT,), [CONTEXT]
    while children := tree.children(*alive):
        target, draft = tree.target[alive[0] + 1], tree.draft[children[0]]
        best = tree.tokens[max(children, key=lambda n, p=target, q=draft: capped(p, q, tree.tokens[n]))]
        alive = tuple(n for n in children if tree.tokens[n] == best)
        path.append(alive[0])
    target, draft = [tree.target[n + 1] for n in path], [tree.draft[n] for n in path[1:]]
    block = Block(target, draft, tree.path(path[-1]))
    rows = chosen_rows(block, len(tree.children(CONTEXT)), by_capped)
    accepted, token = block_verification(block._replace(draft=rows), chance)
    return TreeVerdict(path[accepted], token)


IN_ITS_ORDER = TreeReference("greedy-multi-path-capped", partial(greedy_multi_path, order=by_capped), SOURCE, (IID,),
                             "paths")  # fmt: skip
RULE = TreeReference("greedy-multi-path-as-coded", first_drawn, SOURCE, (IID,), "paths", lossless=False)
verify = function_of(RULE)
