"""Formulas in plain text, set as formulas: what is none stays as it is."""

import pytest

from draftproof.reports.pages.page import formulas


@pytest.mark.parametrize(
    ("text", "set_as"),
    [
        ("X^tau, Y, follows M_b^{gamma+1}", "X<sup>τ</sup>, Y, follows <i>M</i><sub>b</sub><sup>γ+1</sup>"),
        ("Pr(tau >= i | X^i) = p_i(X^i)", "Pr(τ ≥ i | X<sup>i</sup>) = <i>p</i><sub>i</sub>(X<sup>i</sup>)"),
        ("sum_x min(p_{i-1}, 2^-53)", "Σ<sub>x</sub> min(<i>p</i><sub>i-1</sub>, 2<sup>-53</sup>)"),
        ("lemma_2, k_seq_law, sum_near: V 2", "lemma_2, k_seq_law, sum_near: V 2"),
        ("<b> & p_i", "&lt;b&gt; &amp; <i>p</i><sub>i</sub>"),
    ],
)
def test_indices_powers_and_letters_are_set_and_names_and_markup_are_not(text, set_as):
    assert formulas(text) == set_as
