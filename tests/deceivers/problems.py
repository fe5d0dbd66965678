"""Small problems on which one class of defects each acts; rows are exact, and written as short as they can be."""

from itertools import product

from draftproof.models.battery import drawn
from draftproof.models.problem import problem_from


def rows(target, draft, gamma=1, name="rows"):
    """A problem whose rows do not depend on the context."""
    return problem_from(
        {"name": name, "vocabulary": len(target), "gamma": gamma, "target": [*map(str, target)],
         "draft": [*map(str, draft)]}
    )  # fmt: skip


def both_sure(far):
    """Both models are sure of token 0, the draft surer: 1 - 3 far against 1 - far."""
    return rows([f"{1 - 3 * far:.12f}", f"{3 * far:.12f}"], [f"{1 - far:.12f}", f"{far:.12f}"], 1, f"both-sure-{far:g}")


def rare(p, q):
    """Token 0 has the probabilities p and q, tokens 1 and 2 the rest; of the draft, more goes to token 1."""
    return rows(
        [f"{p:.14f}", f"{(1 - p) / 4:.14f}", f"{1 - float(f'{p:.14f}') - float(f'{(1 - p) / 4:.14f}'):.14f}"],
        [f"{q:.14f}", f"{(1 - q) / 2:.14f}", f"{1 - float(f'{q:.14f}') - float(f'{(1 - q) / 2:.14f}'):.14f}"],
        1,
        f"rare-{p:g}-{q:g}",
    )


def wide(vocabulary, live=(0, -1), name=None):
    """A dense target over the vocabulary, and a draft that proposes the live ids alone."""
    weights = [1 + 7 * k % 11 for k in range(vocabulary)]
    draft = [0] * vocabulary
    for share, k in zip((2, 1), live):
        draft[k] += share
    return rows(
        [f"{w}/{sum(weights)}" for w in weights],
        [f"{w}/{sum(draft)}" for w in draft],
        1,
        name or f"dense-V{vocabulary}",
    )


def long(gamma, at):
    """V = 2; at the positions ``at`` the models differ, at the others both are sure of token 0."""
    tables = {"target": {}, "draft": {}}
    for n in range(gamma + 1):
        open_here = n in at
        for prefix in product("01", repeat=n):
            key = ",".join(prefix)
            tables["target"][key] = ["7/10", "3/10"] if open_here else ["1", "0"]
            if n < gamma:
                tables["draft"][key] = ["2/5", "3/5"] if open_here else ["1", "0"]
    return problem_from({"name": f"long-gamma{gamma}", "vocabulary": 2, "gamma": gamma, **tables})


GENERIC_3_1, GENERIC_3_2, GENERIC_2_3, GENERIC_2_4 = (
    drawn(v, g, "generic") for v, g in ((3, 1), (3, 2), (2, 3), (2, 4))
)
SIX_FOUR = rows(["3/5", "2/5"], ["2/5", "3/5"])
"""The row of the issue's first table: a race with noise capped at 2.1 errs by 1.2 percent here."""

TWO_LEFT = rows(["1/10", "3/10", "3/5"], ["7/10", "1/10", "1/5"], 1, "two-left")
"""Behind a rejected token 0 two tokens are left."""

TIES = rows(["1/4"] * 4, ["2/5", "2/5", "1/10", "1/10"], 1, "ties")
NEARLY_EQUAL = rows([".333331", ".333333", ".333336"], [".333333", ".333333", ".333334"], 1, "nearly-equal")
UNEVEN_FAR = rows(["0.4", "0.5999999", "0.0000001"], ["0.7", "0.3", "0"], 1, "uneven-far")
FOUR = rows(["1/10", "1/5", "3/10", "2/5"], ["7/10", "1/10", "1/10", "1/10"], 1, "four")
SMALL_SHARE = problem_from(
    {
        "name": "small-share", "vocabulary": 2, "gamma": 2,
        "target": {"start": ["3/10", "7/10"], "after": {"0": ["41/100", "59/100"], "1": ["1/2", "1/2"]}},
        "draft": {"start": ["3/5", "2/5"], "after": {"0": ["1/5", "4/5"], "1": ["1/2", "1/2"]}},
    }
)  # fmt: skip
"""After token 0 survives with 1/2, the share of Eq. (5) is 0.0099."""
UNNORMALISED = rows(["0.7", "0.2", "0.1"], ["0.1", "0.2", "0.7"], 1, "unnormalised")
"""Its rows sum to 1, but not in float64: 0.7 + 0.2 + 0.1 < 1."""
MIXED_2_5 = drawn(2, 5, "mixed")
FALSY = rows(["3/10", "1/2", "1/5"], ["1/10", "1/10", "4/5"], 1, "falsy")
ODD_DIGITS = rows(["0.3333333333", "0.6666666667"], ["0.5678901234", "0.4321098766"], 1, "odd-digits")
