"""The field of exact laws is sympy's QQ, and a child process and ``draftproof law`` need not import sympy for it."""

import os
import subprocess
import sys

import pytest
import sympy

from draftproof.proofs.field import QQ

pytestmark = pytest.mark.exact
WITHOUT_SYMPY = "import sys; sys.modules['sympy'] = None; "


def test_numbers_are_those_of_sympy():
    assert type(QQ(1, 3)) is type(sympy.QQ(1, 3))
    assert QQ(1, 3) + sympy.QQ(1, 6) == QQ(1, 2)


@pytest.mark.skipif(os.environ.get("SYMPY_GROUND_TYPES") is not None, reason="SYMPY_GROUND_TYPES chooses other numbers")
@pytest.mark.parametrize("module", ["proofs.interception.child", "proofs.laws.reference_laws", "reports.commands.law"])
def test_sympy_is_not_imported_where_only_its_numbers_are_needed(module):
    pytest.importorskip("flint", reason="needs python-flint: pip install python-flint")
    subprocess.run([sys.executable, "-c", f"{WITHOUT_SYMPY}import draftproof.{module}"], check=True)
