"""The index of the package: complete, documented, and free of imports until a name is used."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from draftproof import stattests

VERBS = ("assert_", "min_detectable_")


def public_verbs():
    for file in Path(stattests.__file__).parent.rglob("*.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith(VERBS):
                yield node.name


@pytest.mark.parametrize("name", stattests.__all__)
def test_every_name_exists_is_documented_and_is_in_the_table(name):
    public = getattr(stattests, name)
    assert public.__name__ == name
    assert len(inspect.getdoc(public).split()) >= 4
    assert name in inspect.getdoc(stattests).replace("`", " ").replace(",", " ").split()


def test_every_function_of_the_two_verbs_is_in_the_index():
    verbs = list(public_verbs())
    assert len(verbs) == len(set(verbs)) >= 16
    assert set(verbs) == {name for name in stattests.__all__ if name.startswith(VERBS)}


def test_the_index_imports_nothing_until_a_name_is_used():
    loaded = "[m for m in ('numpy', 'scipy') if m in sys.modules]"
    check = f"import sys, draftproof.stattests as s; assert not {loaded}; s.assert_mean; assert len({loaded}) == 2"
    subprocess.run([sys.executable, "-c", check], check=True, timeout=3600)


def test_what_is_not_in_the_index_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'assert_nothing'"):
        _ = stattests.assert_nothing
    assert dir(stattests) == stattests.__all__
