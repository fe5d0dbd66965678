"""The child process of an audit that notes where its time goes, in a file of $DRAFTPROOF_TIMES for each process."""

import json
import os
from pathlib import Path
from resource import RUSAGE_SELF, getrusage  # by name: the audit replaces those of the module, and notes who asks

from draftproof.proofs.interception import child, harness, serving

TIMES = "DRAFTPROOF_TIMES"


class Spent:
    """Seconds of processor time. own: in the function, with the numbers that it draws. imports: until it was loaded."""

    own = imports = 0.0
    process = 0


def _used() -> float:
    used = getrusage(RUSAGE_SELF)  # no clock: one of the children has another
    return used.ru_utime + used.ru_stime


def main() -> None:
    call, answer, imported = harness.call, serving.Server.answer, serving.Server.imported

    def timed_call(*given):
        start = _used()
        try:
            return call(*given)
        finally:
            Spent.own += _used() - start

    def noting_imports(server):
        imported(server)
        Spent.imports = _used() - Spent.own

    def noting(server, *given, **fields):
        if os.getpid() != Spent.process:  # a copy: what was before is noted there
            Spent.process, Spent.own, Spent.imports = os.getpid(), 0.0, Spent.imports if not Spent.process else 0.0
        if fields.get("done"):
            spent = {"own": Spent.own, "imports": Spent.imports, "all": _used()}
            Path(os.environ[TIMES], f"{os.getpid()}.json").write_text(json.dumps(spent), encoding="utf-8")
        answer(server, *given, **fields)

    harness.call, serving.Server.imported, serving.Server.answer = timed_call, noting_imports, noting
    child.main()
