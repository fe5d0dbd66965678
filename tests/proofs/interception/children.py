"""Child processes with something planted, or something to look at, in place of the interception's own."""

import sys
from collections import deque

from draftproof.proofs.interception import child, harness
from draftproof.proofs.interception.exploration import Exploration
from draftproof.proofs.sandbox import Sandbox

HOLDS = (list, dict, set, deque)


class OneForAll(Sandbox):
    """A planted leak: one exploration for all subjects of the process."""

    child, arguments = "draftproof.tests.proofs.interception.children", ("one for all",)


class LookedInto(Sandbox):
    """Answers "sample" with what the modules of the interception hold."""

    child, arguments = "draftproof.tests.proofs.interception.children", ("looked into",)


def _held(subject, request):
    modules = {name: m for name, m in sys.modules.items() if name.startswith("draftproof.proofs.interception.")}
    held = {f"{m}.{name}": value for m, module in modules.items() for name, value in vars(module).items()}
    classes = {f"{n}.{name}": v for n, c in held.items() if isinstance(c, type) for name, v in vars(c).items()}
    kept = {name: len(value) for name, value in {**held, **classes}.items() if isinstance(value, HOLDS)}
    plain = {n: repr(v) for n, v in {**held, **classes}.items() if isinstance(v, (int, float, str, type(None)))}
    yield {"held": kept | plain}


def main():
    if sys.argv[1] == "looked into":
        child.main(sample=_held)
    shared = Exploration()
    harness.Exploration = lambda: shared
    child.main()
