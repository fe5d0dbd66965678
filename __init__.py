"""draftproof: speculative decoding proved, tested and audited.

The public functions; each name is loaded when it is first used.

    audit(subject)                    the report on a verifier: a function, "file.py:function", or a known name
    law(verifier, problem)            the exact law of a reference verifier on one problem
    gate(folder, rollouts)            whether recorded rollouts follow the policy of a trainer's logprobs
    check_verifier(function)          all checks on a function, raising on the first that fails
    parametrize_with_checks(subjects) the same as a pytest decorator
    Report                            what audit returns
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .reports.audits.api import audit, law
    from .reports.audits.report import Report
    from .reports.audits.steps.gate import gate
    from .reports.testing.checks import check_verifier, parametrize_with_checks

__version__ = "0.2.0"

_PUBLIC = {
    "audit": "reports.audits.api",
    "law": "reports.audits.api",
    "gate": "reports.audits.steps.gate",
    "check_verifier": "reports.testing.checks",
    "parametrize_with_checks": "reports.testing.checks",
    "Report": "reports.audits.report",
}
__all__ = ["Report", "__version__", "audit", "check_verifier", "gate", "law", "parametrize_with_checks"]


def load_ipython_extension(shell: object) -> None:
    """Load the notebook's magic %%audit, for ``%load_ext draftproof``."""
    import_module(".reports.commands.notebook", __name__).load(shell)


def __getattr__(name: str) -> object:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import_module(".models.libraries", __name__).must_be_supported()
    return getattr(import_module(f".{_PUBLIC[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
