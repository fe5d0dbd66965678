"""What all tests share."""

from importlib.util import find_spec
from pathlib import Path

import pytest

SUBJECTS = Path(__file__).parent / "subjects"


MARKERS = {
    "exact": "laws and claims checked over exact rationals; needs no torch",
    "interception": "exact laws of unmodified Python functions",
    "certificate": "optimality certificates: made, checked, tampered with",
    "symbolic": "statements about all models of a size, by z3 and by rational functions",
    "mechanized": "proofs for every vocabulary and every gamma, checked by Coq",
    "engine": "needs torch and transformers; audits the published code",
    "browser": "opens the HTML report in headless Chromium",
    "simulation": "false-alarm and miss rates confirmed by many simulated audits",
    "cluster": "runs on a real two-worker Dask cluster that the test starts",
    "gpu": "needs a CUDA device",
    "database": "runs on a real PostgreSQL server that the test starts",
}


def pytest_configure(config):
    """Registered here and not in pyproject.toml, so that they are known where the tests run from a wheel."""
    for name, text in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {text}")


def pytest_collection_modifyitems(items):
    """Tests of engines say why they are skipped where the engine is not installed."""
    missing = [package for package in ("torch", "transformers") if find_spec(package) is None]
    if missing:
        reason = pytest.mark.skip(
            reason=f"needs {' and '.join(missing)}: pip install -c constraints.txt draftproof[transformers]"
        )
        for item in items:
            if "engine" in item.keywords:
                item.add_marker(reason)


@pytest.fixture(scope="session")
def subjects() -> Path:
    """The folder of functions that the tests audit."""
    return SUBJECTS
