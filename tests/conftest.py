"""What all tests share: markers, and a reason for every test that is skipped because a package is missing."""

import gc
import os
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

SUBJECTS = Path(__file__).parent / "subjects"

EXTRAS = {
    "torch": "torch",
    "transformers": "transformers",
    "numba": "campaign",
    "joblib": "campaign",
    "distributed": "campaign",
    "sqlalchemy": "nightly",
    "z3": "prove",
    "sympy": "prove",
    "hypothesis": "dev",
    "jsonschema": "compliance",
    "sphinx": "dev",
    "sybil": "dev",
    "axe_playwright_python": "dev",
    "httpx2": "servers",
    "gguf": "transformers",
    "weasyprint": "compliance",
    "triton": "kernels",
    "pypdf": "dev",
    "xdist": "dev",
}
"""Optional packages, and the extra of draftproof that installs each."""

MARKERS = {
    "exact": "laws and claims checked over exact rationals; needs no torch",
    "interception": "exact laws of unmodified Python functions",
    "certificate": "optimality certificates: made, checked, tampered with",
    "symbolic": "statements about all models of a size, by z3 and by rational functions",
    "mechanized": "long: proofs for every vocabulary and every gamma, compiled and checked by Coq (make mechanized)",
    "engine": "needs torch and transformers; audits the published code",
    "browser": "opens the HTML report in headless Chromium",
    "simulation": "long: false-alarm and miss rates confirmed by many simulated audits (make simulations)",
    "zoo": "long: audits of the mutants and controls beyond a sixth of them (make zoo)",
    "long": "further settings of what a shorter test examines (make long)",
    "broken_proof": "long: changes of code and statements that must break a Coq proof (make broken-proofs)",
    "deceiver": "long: audits of wrong verifiers written to be cleared, beyond one of each class (make deceivers)",
    "cluster": "runs on a real two-worker Dask cluster that the test starts",
    "unpacked": "long: runs the engines that make engines unpacks",
    "decoders": "long: drives the engine that make decoders installs",
    "smollm2": "long: reads the open model that make smollm2 installs",
    "gpu": "needs a CUDA device",
    "database": "runs on a real PostgreSQL server that the test starts",
    "needs(*packages)": "skipped, with the reason, where one of these optional packages is not installed",
}


LEFT_OUT = {
    "simulation": "simulations",
    "deceiver": "deceivers",
    "zoo": "zoo",
    "long": "long",
    "broken_proof": "broken-proofs",
    "mechanized": "mechanized",
    "unpacked": "engines",
    "decoders": "decoders",
    "smollm2": "smollm2",
}
"""Markers of tests that run only where they are asked for by -m, and the target of make that does so."""


def needs(package: str) -> str:
    """The reason of a skip."""
    return f"needs {package}: pip install -c constraints.txt draftproof[{EXTRAS[package]}]"


class ModuleOfTests(pytest.Module):
    """A test file that needs an optional package, and says so, is skipped where the package is not installed.

    It says so by an import of its own at its top, by ``needs``, or by the marker engine. A missing package that only
    the code under test imports is an error.
    """

    def _getobj(self):
        try:
            return super()._getobj()
        except self.CollectError as error:
            missing = getattr(error.__cause__, "name", None)
            text = self.path.read_text(encoding="utf-8")
            said = rf"^(import|from) {missing}\b|needs\([^)]*\"{missing}\"|mark\.engine"
            if isinstance(error.__cause__, ModuleNotFoundError) and missing in EXTRAS and re.search(said, text, re.M):
                pytest.skip(needs(missing), allow_module_level=True)
            raise


def pytest_pycollect_makemodule(module_path, parent):
    return ModuleOfTests.from_parent(parent, path=module_path)


def pytest_configure(config):
    """Registered here, beside the tests that they mark."""
    if "PYTEST_XDIST_WORKER" in os.environ:  # a worker has one processor; more threads would wait for each other
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    if "gpu" not in config.option.markexpr:  # read when Triton is imported, which libraries do that another test needs
        os.environ.setdefault("TRITON_INTERPRET", "1")
    for name, text in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {text}")


def pytest_collection_modifyitems(config, items):
    for item in items:
        for mark, target in LEFT_OUT.items():
            if item.get_closest_marker(mark) and mark not in config.option.markexpr:
                item.add_marker(pytest.mark.skip(reason=f"left out for its time: make {target}"))
        packages = [package for mark in item.iter_markers("needs") for package in mark.args]
        packages += ["torch", "transformers"] if "engine" in item.keywords else []
        missing = next((package for package in packages if find_spec(package) is None), None)
        if missing:
            item.add_marker(pytest.mark.skip(reason=needs(missing)))


def pytest_collection_finish(session):
    """Thousands of collected tests are never rubbish; looked through again and again, they took half of the time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def subjects() -> Path:
    """The folder of functions that the tests audit."""
    return SUBJECTS


@pytest.fixture(scope="session")
def torch_child():
    """Gives one child that has loaded torch, with rows of a precision: to start one takes longer than most tests."""
    from draftproof.proofs.sandbox import Sandbox

    with Sandbox("", "torch", timeout=60, torch=True) as box:

        def child(dtype="float64"):
            box.dtype = dtype
            return box

        yield child
