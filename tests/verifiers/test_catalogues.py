"""Catalogues of adapters that other distributions ship: read as data, and left out where they are damaged."""

import json
import sys

import pytest

from draftproof.verifiers.adapters.registry import ADAPTERS, HERE, Adapter, catalogue

pytestmark = pytest.mark.exact

ROW = {"name": "theirs", "target": "theirs.module:verify", "packages": [], "extra": "", "source": "their function"}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return a function that writes a package with this catalogue, which fails if it is imported."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(text):
        (tmp_path / "theirs_with_adapters").mkdir()
        (tmp_path / "theirs_with_adapters" / "__init__.py").write_text("raise RuntimeError('imported')\n")
        (tmp_path / "theirs_with_adapters" / "adapters.json").write_text(text)
        return "theirs_with_adapters"

    return write


def test_a_catalogue_is_read_without_importing_its_package(package):
    (adapter,) = catalogue(package(json.dumps([ROW])), "adapters", Adapter)
    assert (adapter.name, adapter.target) == ("theirs", "theirs.module:verify")
    assert "theirs_with_adapters" not in sys.modules


@pytest.mark.parametrize("text", ["[", '[{"name": 1}]', json.dumps([ROW | {"unknown": 1}])])
def test_a_damaged_catalogue_is_named_and_left_out(package, text):
    with pytest.warns(UserWarning, match=r"adapters\.json: .*; its entries are skipped"):
        assert catalogue(package(text), "adapters", Adapter) == []


def test_a_package_that_is_not_there_or_has_no_catalogue_gives_no_rows():
    assert catalogue("no_such_package", "adapters", Adapter) == catalogue("json", "adapters", Adapter) == []
    assert {row.name for row in catalogue(HERE, "adapters", Adapter)} <= ADAPTERS.keys()
