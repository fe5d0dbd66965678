"""What ``draftproof --help`` and ``draftproof list`` need is imported without any scientific package."""

import subprocess
import sys

import pytest

LIGHT = (
    "models.digests", "models.errors", "models.files", "models.generating.settings", "models.libraries",
    "models.pairs.presets", "models.problem", "verifiers.adapters.registry", "verifiers.adapters.registry",
    "verifiers.evidence", "verifiers.registry", "verifiers.zoo.catalogue",
)  # fmt: skip

BLOCKED = "import sys; sys.modules.update(dict.fromkeys('numpy scipy sympy torch matplotlib z3 flint'.split())); "


@pytest.mark.parametrize("module", LIGHT)
def test_it_is_imported_without_numpy_and_the_like(module):
    subprocess.run([sys.executable, "-c", f"{BLOCKED}import draftproof.{module}"], check=True)


def test_a_blocked_package_is_noticed():
    done = subprocess.run(
        [sys.executable, "-c", f"{BLOCKED}import draftproof.verifiers.zoo.accept_rule"], capture_output=True
    )
    assert done.returncode != 0
