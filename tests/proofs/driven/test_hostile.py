"""Whatever a subject returns, raises or does to its process by mistake, the audit stands and says what it was."""

import pytest

from draftproof.models.battery import toy
from draftproof.models.errors import RunFailed
from draftproof.proofs.sandbox import Sandbox
from draftproof.reports.audits.api import audit
from draftproof.reports.audits.functions import session
from draftproof.tests.choices import long_unless
from draftproof.tests.refusals import one_line
from draftproof.tests.subjects import hostile

pytestmark = pytest.mark.interception

RETURNED = {
    "bytes": "returned text (b'01')", "a dict": "keys 0", "a set": "returned a set",
    "half a token": "returned 0.5 among", "a fraction": "returned 1/2", "a function": "returned a function",
    "an exception": "returned odd among", "a list of None": "returned None among",
    "a list in itself": "RecursionError: maximum recursion depth",
    "an endless iterator": "generator, expected only the emitted", "two rows": "returned [0.0, 0.0]",
    "nan": "returned nan", "infinity": "returned inf", "a billion tokens": "a range, expected",
    "an odd length": "returned an Odd", "an odd iterator": "returned an Odd", "an odd number": "among the tokens",
}  # fmt: skip
RAISED = {
    "no text": "NoText: (its message cannot be printed)", "a long text": "ValueError: xxx",
    "control characters": "ValueError: ?[2J ??",
    "half a character": "ValueError: ?", "an interrupt": "KeyboardInterrupt", "an exit": "SystemExit: bye",
    "the end of a generator": "GeneratorExit", "the end of an iterator": "StopIteration", "no memory": "MemoryError",
    "too deep": "RecursionError", "an error of its own": "the process ended (exit status 1)",
    "an assertion": "AssertionError",
    "a caught signal": "KeyboardInterrupt",
}  # fmt: skip
ENDED = {
    "leaves": "exit status 3", "aborts": "killed by SIGABRT", "is killed": "killed by SIGKILL",
    "is terminated": "killed by SIGTERM",
    "reads no memory": "killed by SIGSEGV", "closes everything": "exit status 1",
    "runs another program": "exit status 1",
}  # fmt: skip

REFUTED, HOLDS, UNDECIDED, ERROR = "refuted", "holds", "inconclusive", "error"
STAYED = {
    "floods its errors": (HOLDS, "prints", "MB to its standard error"),
    "prints": (HOLDS, "prints", "MB to its standard output, the last line 'yyy"),
    "closes its output": (
        REFUTED,
        "process",
        "its standard output was closed, or is another file",
    ),  # its second call raises
    "takes its output away": (HOLDS, "process", "sys.stdout was replaced"),
    "starts threads": (None, "process", "more threads run"),  # refuted where the system allows no more: they raise
    "forks": (ERROR, "failure", "it forks: more than 100 copies of its process returned from its calls"),
    "clears its surroundings": (UNDECIDED, "surroundings", "the environment (os.environ at hostile.py"),
    "goes elsewhere": (UNDECIDED, "surroundings", "os.chdir"),
    "forgets a module": (REFUTED, "process", "the module json is removed from sys.modules"),  # its second call raises
    "limits its depth": (HOLDS, "process", "the recursion limit is 60, it was 1000"),
    "listens": (UNDECIDED, "surroundings", "gc.disable", "signal.alarm", "sys.settrace"),
}
"""Verdict, and which finding names what it did; of an audit that ends its failure."""


def target(kind, name):
    return f"{hostile.__file__}:{kind}_{name}".replace(" ", "_")


SAID = [("returns", name, text) for name, text in RETURNED.items()] + [
    ("raises", name, text) for name, text in RAISED.items()
]
SAID += [("ends", name, text) for name, text in ENDED.items()]


@pytest.mark.parametrize(("kind", "name", "text"), SAID, ids=lambda value: str(value)[:30])
def test_a_subject_that_answers_with_no_tokens_or_ends_its_process_is_one_line_that_says_how(kind, name, text):
    with Sandbox(target(kind, name), memory=2.0) as box:
        line = one_line(box.start, [toy(1)], error=RunFailed)
    assert text in line and len(line) < 1000 and line.isprintable()


QUICK = {"dtypes": ["float64"], "levels": ("exact",), "explain": False}


@pytest.mark.parametrize("name", long_unless(STAYED, [*STAYED][::2]))
def test_what_a_subject_does_besides_leaves_the_audit_standing_and_a_finding_names_it(name, monkeypatch):
    monkeypatch.setattr(session, "REAL_CALLS", 300)
    verdict, kind, *texts = STAYED[name]
    report = audit(target("stays", name), problems=[toy(1)], **QUICK)
    said = {**report.findings, "failure": (report.failure or {}).get("message", "")}
    assert [text for text in texts if text not in said[kind]] == []
    assert verdict in (None, report.verdict)


def test_each_of_them_is_expected_to_be_named():
    said = RETURNED.keys() | RAISED.keys() | ENDED.keys()
    assert said == hostile.RETURNS.keys() | hostile.RAISES.keys() | hostile.ENDS.keys()
    assert STAYED.keys() == hostile.STAYS.keys()
