"""Hypothesis strategies for problems; they shrink towards small vocabularies, short blocks and plain rows."""

from fractions import Fraction
from itertools import product

from hypothesis import strategies as st

from draftproof.models.law import Table
from draftproof.models.problem import Problem


def rows(vocabulary: int):
    """Rows with small whole weights; zeros are common, and one weight is always positive."""
    weights = st.lists(st.integers(0, 5), min_size=vocabulary, max_size=vocabulary).filter(any)
    return weights.map(lambda ws: tuple(Fraction(w, sum(ws)) for w in ws))


@st.composite
def problems(draw, vocabularies=(2, 4), gammas=(1, 3), most_blocks=27):
    """A context-dependent problem with V^gamma at most ``most_blocks``."""
    vocabulary = draw(st.integers(*vocabularies))
    gamma = draw(st.integers(*gammas).filter(lambda g: vocabulary**g <= most_blocks))
    prefixes = [x for n in range(gamma + 1) for x in product(range(vocabulary), repeat=n)]
    target = {x: draw(rows(vocabulary)) for x in prefixes}
    draft = {x: draw(rows(vocabulary)) for x in prefixes if len(x) < gamma}
    return Problem(vocabulary, gamma, Table(target, "target"), Table(draft, "draft"), "drawn")
