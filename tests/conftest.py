"""What all tests share: markers, and which tests are left out of a session, with the reason."""

import gc
import os
import re
from collections import Counter
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
    "jsonschema": "dev",
    "sphinx": "dev",
    "sybil": "dev",
    "axe_playwright_python": "dev",
    "httpx2": "servers",
    "gguf": "transformers",
    "weasyprint": "compliance",
    "triton": "kernels",
    "pypdf": "dev",
    "xdist": "dev",
    "yaml": "dev",
    "nbclient": "dev",
    "ipykernel": "dev",
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
    "needs(*packages)": "left out, with the reason, if one of these optional packages is not installed",
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
    """Return the reason of a test that is left out for a missing package."""
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


LEFT = pytest.StashKey[Counter]()
"""How many tests are not run in this session, by reason."""


def left_out(item, asked: str) -> str | None:
    """Return why a test is not run in this session: its time, or what is not here. None if it is run."""
    for mark, target in LEFT_OUT.items():
        if item.get_closest_marker(mark) and mark not in asked:
            return f"make {target}"
    packages = [package for mark in item.iter_markers("needs") for package in mark.args]
    packages += ["torch", "transformers"] if "engine" in item.keywords else []
    for package in packages:
        if find_spec(package) is None:
            return needs(package)
    return next((mark.kwargs["reason"] for mark in item.iter_markers("skipif") if mark.args[0] is True), None)


def pytest_collection_modifyitems(config, items):
    """Collect only what can run here and was asked for; one line at the end says what was left out."""
    why = {item: left_out(item, config.option.markexpr) for item in items}
    config.stash[LEFT] = Counter(filter(None, why.values()))
    dropped = [item for item, reason in why.items() if reason]
    items[:] = [item for item, reason in why.items() if not reason]
    config.hook.pytest_deselected(items=dropped)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    """Take the counts of a worker of xdist: all collect the same."""
    node.config.stash[LEFT] = Counter(getattr(node, "workeroutput", {}).get("left", {}))


def pytest_sessionfinish(session):
    """Hand the counts of a worker to the process that reports."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left"] = dict(session.config.stash.get(LEFT, Counter()))


def pytest_terminal_summary(terminalreporter, config):
    """Say in one line what was left out."""
    if counts := config.stash.get(LEFT, Counter()):
        said = "; ".join(f"{n} {reason}" for reason, n in counts.most_common())
        terminalreporter.write_line(f"left out {counts.total()}: {said}")


def pytest_collection_finish(session):
    """Thousands of collected tests are never rubbish; looked through again and again, they took half of the time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def subjects() -> Path:
    """The folder of functions that the tests audit."""
    return SUBJECTS


@pytest.fixture
def brief_audits(monkeypatch):
    """Leave out an audit's second process with its replays, make a tenth of its real calls, confirm driven laws less.

    The first two only withdraw laws of functions that keep state, which tests of their own examine.
    """
    from draftproof.reports.audits.functions import batch_influence, exact_laws, session, wide_laws

    monkeypatch.setattr(exact_laws, "begun_elsewhere", lambda session, first: None)
    monkeypatch.setattr(exact_laws, "withdraw_for_state", lambda session, laws, ahead: laws)
    monkeypatch.setattr(session.FunctionSession, "_confirmations", lambda self: 600 if self.driven else None)
    for module, calls in ((session, 200), (batch_influence, 100), (wide_laws, 100)):
        monkeypatch.setattr(module, "REAL_CALLS", calls)


@pytest.fixture
def fewer_confirmations(monkeypatch):
    """Confirm laws of subjects that are driven in this process by 600 random requests, not 8,192."""
    from draftproof.proofs.driven import answers, laws

    for module in (answers, laws):
        monkeypatch.setattr(module, "CONFIRMATIONS", 600)


@pytest.fixture(scope="session")
def sandbox():
    """One child without torch for the laws of plain functions, whichever test measures them."""
    from draftproof.proofs.sandbox import Sandbox

    with Sandbox("", timeout=60) as box:
        yield box


@pytest.fixture(scope="session")
def torch_child():
    """Gives one child that has loaded torch, with rows of a precision: to start one takes longer than most tests."""
    from draftproof.proofs.sandbox import Sandbox

    with Sandbox("", "torch", timeout=60, torch=True) as box:

        def child(dtype="float64"):
            box.dtype = dtype
            return box

        yield child
