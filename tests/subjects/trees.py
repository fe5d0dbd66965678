"""Verifiers of draft trees as audits find them: without the zoo's helpers, driven, wrong in form."""

import itertools
import json
import sys

import numpy as np

from draftproof.verifiers.zoo.controls_trees import k_sequential, multi_round


def k_sequential_that_says_nothing(target_probs, draft_probs, draft_tokens, parents, rng):
    return k_sequential(target_probs, draft_probs, draft_tokens, parents, rng)


def accepts_the_first_path(target_probs, draft_probs, draft_tokens, parents, rng):
    emitted, node = [], -1
    while len(children := np.flatnonzero(parents == node)):
        node = children[0]
        emitted.append(int(draft_tokens[node]))
    p = target_probs[node + 1]
    return [*emitted, int(rng.choice(len(p), p=p))]


def emits_a_text_that_was_not_drafted(target_probs, draft_probs, draft_tokens, parents, rng):
    """Two tokens of the target's own law where one was drafted."""
    first = int(rng.choice(2, p=target_probs[0]))
    return [first, int(rng.choice(2, p=target_probs[1]))]


def recursive_rejection(row_at_a_leaf=None, sure=None, left=None, children_of=None):
    """Make a verifier of trees without replacement.

    row_at_a_leaf: (node, depth, parents, tokens) -> the target's row that is drawn from.
    sure: (which sibling, q(x), depth) -> whether it is accepted outright.
    left: (p, q, x, depth) -> weights after a rejection. children_of: (parents, node) -> children in their order.
    """

    def verify(target_probs, draft_probs, draft_tokens, parents, rng):
        emitted, node = [], -1
        listed = children_of or (lambda parents, node: np.flatnonzero(parents == node))
        while len(children := listed(parents, node)):
            p = target_probs[node + 1]
            for k, n in enumerate(children):
                x, q = draft_tokens[n], draft_probs[n]
                if (sure and sure(k, q[x], len(emitted))) or rng.random() * q[x] < p[x]:
                    emitted.append(int(x))
                    node = n
                    break
                rest = left(p, q, x, len(emitted)) if left else np.maximum(p - q, 0)
                p = rest / rest.sum() if rest.sum() > 0 else p
            else:
                return [*emitted, int(rng.choice(len(p), p=p))]
        row = row_at_a_leaf(node, len(emitted), parents, draft_tokens) if row_at_a_leaf else node + 1
        p = target_probs[row]
        return [*emitted, int(rng.choice(len(p), p=p))]

    return verify


recursive_rejection_alone = recursive_rejection()
fourth_sibling_accepted_outright = recursive_rejection(sure=lambda k, q, depth: k == 3)
fifth_sibling_accepted_outright = recursive_rejection(sure=lambda k, q, depth: k == 4)
fourth_sibling_below_the_first_depth_accepted_outright = recursive_rejection(
    sure=lambda k, q, depth: k == 3 and depth > 0
)
fourth_token_of_a_path_accepted_outright = recursive_rejection(sure=lambda k, q, depth: depth == 3)
fifth_token_of_a_path_accepted_outright = recursive_rejection(sure=lambda k, q, depth: depth == 4)
small_drafts_accepted_outright = recursive_rejection(sure=lambda k, q, depth: q <= 1e-4)
bonus_of_the_parent_at_depth_3 = recursive_rejection(
    lambda node, depth, parents, tokens: (parents[node] if depth == 3 else node) + 1
)
drafted_token_removed_at_depth_3 = recursive_rejection(
    left=lambda p, q, x, depth: p * (np.arange(len(p)) != x) if depth == 2 else np.maximum(p - q, 0)
)


@lambda children_of: recursive_rejection(children_of=children_of)
def siblings_behind_one_path(parents, node):
    """Right level by level, and depth first where the elder sibling has one path below it."""
    if (np.diff(parents) >= 0).all():
        return np.flatnonzero(parents == node)
    children, n = [], node + 1
    while n < len(parents) and parents[n] in (node, *children):
        children.append(n)
        n += 1
        while n < len(parents) and parents[n] == n - 1:
            n += 1
    return children


a_buffer_of_nine_rows = recursive_rejection(lambda node, depth, parents, tokens: min(node + 1, 8))
node_indices_of_five_bits = recursive_rejection(lambda node, depth, parents, tokens: node % 32 + 1)


@recursive_rejection
def rows_by_token(node, depth, parents, tokens):
    """Right where no two nodes below the first two depths share a token and a depth."""
    depths = [0]
    for parent in parents:
        depths.append(depths[parent + 1] + 1)
    keys = [*zip(depths[1:], map(int, tokens))]
    return (keys.index(keys[node]) if depth > 2 else node) + 1


def flat_rows_by_an_index_of_seven_bits(target_probs, draft_probs, draft_tokens, parents, rng):
    """Right where nodes times tokens stay below 128."""
    size = target_probs.shape[1]
    verify = recursive_rejection(lambda node, depth, parents, tokens: (node + 1) * size % 128 // size)
    return verify(target_probs, draft_probs, draft_tokens, parents, rng)


def children_by_bisection(target_probs, draft_probs, draft_tokens, parents, rng):
    """Right where parents are in order, as they are level by level."""
    emitted, node = [], -1
    while (first := np.searchsorted(parents, node)) < (end := np.searchsorted(parents, node, "right")):
        p = target_probs[node + 1]
        for n in range(first, end):
            if rng.random() * draft_probs[n][draft_tokens[n]] < p[draft_tokens[n]]:
                emitted.append(int(draft_tokens[n]))
                node = n
                break
            rest = np.maximum(p - draft_probs[n], 0)
            p = rest / rest.sum() if rest.sum() > 0 else p
        else:
            return [*emitted, int(rng.choice(len(p), p=p))]
    return [*emitted, int(rng.choice(target_probs.shape[1], p=target_probs[node + 1]))]


def below_the_eldest_sibling_at_depth_2(target_probs, draft_probs, draft_tokens, parents, rng):
    """After a younger sibling at depth 2 the walk goes on below the eldest."""
    moved = np.array(parents)
    for n, parent in enumerate(parents):
        if parent >= 0 and parents[parent] >= 0 and parents[parents[parent]] < 0:
            same = np.flatnonzero(parents == parents[parent])
            moved[n] = same[len(same) - 1 - list(same).index(parent)]
    return recursive_rejection_alone(target_probs, draft_probs, draft_tokens, moved, rng)


REMEMBERED = {}


def remembers_by_tokens(target_probs, draft_probs, draft_tokens, parents, rng):
    key = tuple(draft_tokens), tuple(parents)
    target, draft = REMEMBERED.setdefault(key, (target_probs.copy(), draft_probs.copy()))
    return multi_round(target, draft, draft_tokens, parents, rng)


def raises_for_equal_siblings(target_probs, draft_probs, draft_tokens, parents, rng):
    if len({*zip(draft_tokens, parents)}) < len(parents):
        raise ValueError("twins")
    return multi_round(target_probs, draft_probs, draft_tokens, parents, rng)


NUMBERS = [
    {"name": "accept", "kind": "uniform", "shape": ["N"], "bits": 53},
    {"name": "last", "kind": "uniform", "shape": [], "bits": 53},
]


def by_uniforms(target, draft, tokens, parents, random, wrong=False):
    """Recursive rejection with a uniform for each node. wrong: the target stays as it is after a rejection."""
    emitted, node = [], -1
    while True:
        p = np.array(target[node + 1])
        for n in (n for n, parent in enumerate(parents) if parent == node):
            x, q = tokens[n], np.array(draft[n])
            if random["accept"][n] * q[x] < p[x]:
                emitted.append(int(x))
                node = n
                break
            left = p if wrong else np.maximum(p - q, 0)
            p = left / left.sum() if left.sum() > 0 else p
        else:
            edges = list(itertools.accumulate(p))
            last = max(t for t, w in enumerate(p) if w > 0)
            return [*emitted, next((t for t, e in enumerate(edges) if random["last"] * edges[-1] < e), last)]


class Driven:
    random, parents = NUMBERS, True

    def __init__(self, wrong=False):
        self.wrong = wrong

    def __call__(self, target, draft, tokens, parents, random):
        return by_uniforms(target, draft, tokens, parents, random, self.wrong)


right, wrong = Driven(), Driven(wrong=True)


class StaleFromFourNodesOn(Driven):
    """The target's last row is that of the call before, where that was on a tree of as many nodes, four or more."""

    before = None

    def __call__(self, target, draft, tokens, parents, random):
        before, self.before = self.before, np.array(target)
        if before is not None and before.shape == np.shape(target) and len(tokens) >= 4:
            target = [*target[:-1], before[-1]]
        return super().__call__(target, draft, tokens, parents, random)


stale_from_four_nodes_on = StaleFromFourNodesOn()


class Together(Driven):
    """For trees drawn with equal siblings. wrong: requests with as many nodes share the parents of the first of
    them."""

    batch, drafting = 64, ("iid",)

    def together(self, rows):
        first = {len(r.tokens): r.parents for r in reversed(rows)}
        parents = [first[len(r.tokens)] if self.wrong else r.parents for r in rows]
        return [by_uniforms(r.target, r.draft, r.tokens, list(p), r.random) for p, r in zip(parents, rows)]


together, shares_parents = Together(), Together(wrong=True)


def main():
    print(json.dumps({"protocol": "draftproof-1", "name": "trees", "parents": True, "batch": 64, "random": NUMBERS}))
    sys.stdout.flush()
    for line in sys.stdin:
        r = json.loads(line)
        emitted = by_uniforms(r["target"], r["draft"], r["tokens"], r["parents"], r["random"], "wrong" in sys.argv)
        print(json.dumps({"id": r["id"], "emitted": emitted}), flush=True)


if __name__ == "__main__":
    main()


LAST = [None]


def last_row_of_the_call_before_from_four_nodes_on(target_probs, draft_probs, draft_tokens, parents, rng):
    """A buffer that is read before it is written: right while one tree is verified again and again."""
    target, before = target_probs.copy(), LAST[0]
    LAST[0] = target_probs.copy()
    if before is not None and before.shape == target.shape and len(parents) >= 4:
        target[-1] = before[-1]
    return recursive_rejection_alone(target, draft_probs, draft_tokens, parents, rng)


def younger_first_where_ragged(target_probs, draft_probs, draft_tokens, parents, rng):
    """Siblings with different numbers of children are tried from the youngest on."""
    order = np.arange(len(parents))
    for parent in set(parents):
        same = np.flatnonzero(parents == parent)
        if len({int(np.sum(parents == n)) for n in same}) > 1:
            order[same] = same[::-1]
    place = {-1: -1} | {int(n): k for k, n in enumerate(order)}
    moved = np.array([place[int(p)] for p in parents[order]])
    return recursive_rejection_alone(
        target_probs[[0, *(order + 1)]], draft_probs[order], draft_tokens[order], moved, rng
    )
