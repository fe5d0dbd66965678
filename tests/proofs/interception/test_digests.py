"""The digest of a foreign function changes with what the function is made of, and with nothing else."""

import asyncio
import functools
import itertools
import os
import queue
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import packages_distributions
from types import SimpleNamespace
from typing import ClassVar

import pytest

from draftproof.models.battery import toy
from draftproof.proofs.interception import digests, loading
from draftproof.proofs.interception.digests import UNKNOWN, digest_of
from draftproof.proofs.interception.looks import Look
from draftproof.proofs.sandbox import Sandbox

LIBRARY = """
import functools, random, threading
import numpy as np
def plain(target_probs, draft_probs, draft_tokens):
    return [0]
def other(target_probs, draft_probs, draft_tokens):
    return [1]
def made(kept):
    def verify(target_probs, draft_probs, draft_tokens):
        return [kept]
    return verify
def default(kept):
    return lambda target_probs, draft_probs, draft_tokens, kept=kept: [kept]
class Base:
    def __call__(self, target_probs, draft_probs, draft_tokens):
        return [0]
class Verifier(Base):
    def __init__(self, kept):
        self.kept, self.weights, self.calls = kept, {"rows": [np.ones(3), kept], "names": {"a", "b"}}, 0
        self.rng, self.me = np.random.default_rng(), self
    def __call__(self, target_probs, draft_probs, draft_tokens):
        self.calls += 1
        return [int(self.rng.random() < 0.5)]
    def method(self, target_probs, draft_probs, draft_tokens):
        return [0]
class Locked(Base):
    def __init__(self):
        self.lock = threading.Lock()
def local(kept):
    class Local:
        def __call__(self, target_probs, draft_probs, draft_tokens):
            return [kept]
    return Local()
class Held(Base):
    def __init__(self, **held):
        self.__dict__.update(held)
class Coarse(random.Random):
    def __init__(self, bits=8):
        super().__init__()
        self.bits = bits
left, right = (lambda target, draft, tokens: [0]), (lambda target, draft, tokens: [1])
"""


@pytest.fixture
def found(tmp_path, monkeypatch):
    """Text of a file -> the function that it calls ``verify``, digested; the library stands beside it."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def digest(text, library=LIBRARY, by=digest_of):
        (tmp_path / "library.py").write_text(library)
        (tmp_path / "subject.py").write_text(f"import functools, library\nimport numpy as np\n{text}\n")
        for name in ("library", "subject"):
            sys.modules.pop(name, None)
        return by(loading.load("subject:verify"))

    yield digest
    for name in ("library", "subject"):
        sys.modules.pop(name, None)


BOUND = [
    ("def verify(a, b, c): return [{}]", 0, 1),
    ("verify = library.made({})", 1, 2),
    ("verify = library.default({})", 1, 2),
    ("verify = functools.partial(library.plain, draft_tokens={})", 1, 2),
    ("verify = functools.wraps(library.plain)(library.made({}))", 1, 2),
    ("verify = functools.lru_cache({})", "library.plain", "library.other"),
    ("verify = library.Verifier({})", "np.ones(2)", "np.zeros(2)"),
    ("verify = library.Verifier({}).method", 1, 2),
    ("verify = {}", "np.add", "np.subtract"),
    ("verify = {}", "library.left", "library.right"),
    ("verify = functools.partial(library.plain)\nlibrary.plain.mark = {}", 1, 2),
    ("verify = library.local({})", 1, 2),
    ("library.Base.__call__ = {}\nverify = library.Held()", "library.plain", "library.other"),
    ("verify = library.Held(rng=library.Coarse({}))", 4, 32),
    ("verify = library.Held(rng=np.random.Generator(np.random.{}()))", "PCG64", "MT19937"),
]


@pytest.mark.parametrize(("text", "one", "two"), BOUND)
def test_what_a_function_is_made_of_is_in_its_digest(found, text, one, two):
    first, again = (found(text.replace("{}", str(one))) for _ in range(2))
    assert first == again != UNKNOWN
    assert found(text.replace("{}", str(two))) not in (first, UNKNOWN)
    if "library" in text:
        assert found(text.replace("{}", str(one)), LIBRARY + "# changed") != first


@pytest.mark.parametrize(("text", "one", "two"), BOUND)
def test_a_look_tells_the_same_apart(found, text, one, two):
    first, again, other = (
        found(text.replace("{}", str(kept)), by=lambda f: Look().digest(f)) for kept in (one, one, two)
    )
    assert first == again != other


def test_a_look_sees_what_changes_within_what_it_has_seen():
    """A class is written once in a look, here first within a function: what changes in it shows all the same."""

    class Holder:
        kept: ClassVar = [0]

    def use():
        return Holder, looped

    looped: list = [0]
    looped.append(looped)
    values = use, Holder, {"use": use}, looped
    looks = []
    for held in (Holder.kept, looped):
        look = Look()
        looks.append([look.digest(value) for value in values])
        held[0] = 1
    look = Look()
    looks.append([look.digest(value) for value in values])
    assert [[a == b for a, b in zip(*two)] for two in itertools.pairwise(looks)] == [
        [False, False, False, True], [False, True, False, False],
    ]  # fmt: skip


def test_in_a_look_a_set_of_objects_that_is_made_again_is_the_same():
    """Their order in it is that of their addresses."""

    class Request:
        def __init__(self, number):
            self.number = number

    kept = [[Request(number) for number in range(6)] for _ in range(9)]
    looks = {Look().digest({"running": {*some}, "done": frozenset(some)}) for some in (*kept, kept[0][::-1])}
    other = Look().digest({"running": {*kept[0][1:]}, "done": frozenset(kept[0])})
    assert len(looks) == 1 and other not in looks


class Refuses:
    def __init__(self):
        self.kept = []

    def __reduce_ex__(self, protocol):
        raise TypeError("it cannot be pickled")


class InSlots:
    __slots__ = ("kept", "lock")

    def __init__(self):
        self.kept, self.lock = [], threading.Lock()


def _within_itself():
    one = SimpleNamespace(kept=[], lock=threading.RLock())
    one.me = one
    return one


def _filled_cache():
    cache = functools.lru_cache(len)
    cache("stored")
    return cache


HIDDEN = [
    threading.Lock, threading.RLock, threading.Condition, threading.Event, threading.Semaphore, queue.Queue,
    queue.SimpleQueue, asyncio.Lock, threading.Thread, lambda: ThreadPoolExecutor(1), lambda: sys.__stderr__,
    lambda: memoryview(b"1"), lambda: weakref.ref(Refuses), _filled_cache,
]  # fmt: skip
"""What has no bytes to pickle, or hides what it holds."""


@pytest.mark.parametrize(
    "made",
    [*(functools.partial(lambda make: SimpleNamespace(kept=[], other=make()), make) for make in HIDDEN),
     Refuses, InSlots, _within_itself],
)  # fmt: skip
def test_a_look_sees_what_an_object_holds_that_cannot_be_pickled(made):
    value = made()
    before = [Look().digest(value) for _ in range(2)]
    value.kept.append(1)
    assert before[0] == before[1] != Look().digest(value)


def test_a_look_sees_how_much_a_queue_holds():
    held = queue.SimpleQueue()
    before = Look().digest(held)
    held.put(1)
    assert Look().digest(held) != before


@pytest.mark.parametrize("text", [
    "verify = library.Locked()",
    "verify = library.made(library.Locked())",
    "exec('def verify(a, b, c): return [0]')",
    "class Lies:\n    def __call__(self, a, b, c): return [0]\n    def __reduce_ex__(self, p): raise SystemError\n"
    "verify = Lies()",
    "import ctypes\nverify = ctypes.CDLL(None).abs",
    "verify = functools.lru_cache(library.plain)\nverify(1, 2, 3)",
])  # fmt: skip
def test_what_hides_its_code_or_its_state_has_no_digest(found, text):
    assert found(text) == UNKNOWN


@pytest.mark.parametrize(("one", "two"), [
    ("torch.ones(2)", "torch.zeros(2)"),
    ("torch.ones(2)", "torch.ones(2, 1)"),
    ("torch.tensor([1 + 2j])", "torch.tensor([1 + 2j]).conj()"),
])  # fmt: skip
def test_tensors_are_digested_by_what_they_hold(found, one, two):
    pytest.importorskip("torch", reason="needs torch: pip install -c constraints.txt torch")
    seen = [found(f"import torch\nverify = library.Held(rows={rows})") for rows in (one, two, one)]
    assert seen[0] == seen[2]
    assert len({*seen, UNKNOWN}) == 3


def test_the_digest_does_not_depend_on_calls_or_the_process(tmp_path):
    (tmp_path / "library.py").write_text(LIBRARY)
    (tmp_path / "subject.py").write_text("import library\nverify = library.Verifier(1)\n")
    with Sandbox(f"{tmp_path / 'subject.py'}:verify") as sandbox:
        seen = sandbox.start([toy(1)])["digest"]
    start = (
        "from draftproof.proofs.interception import digests, loading; import sys; "
        "print(digests.digest_of(loading.load(sys.argv[1])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", start, f"{tmp_path / 'subject.py'}:verify"], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONHASHSEED": "17"},
    )  # fmt: skip
    assert UNKNOWN != seen == done.stdout.strip()


def test_of_an_adapter_the_engine_is_digested():
    def engine():
        return [0]

    def adapter(a, b, c):
        return [0]

    adapter.published = lambda: engine
    assert digest_of(adapter) == digest_of(engine) != UNKNOWN


def test_the_distributions_of_a_package_are_those_that_importlib_finds():
    said = {package: sorted({*names}) for package, names in packages_distributions().items()}
    assert len(said) > 5 and "numpy" in said
    assert {package: digests.distributions_of(package) for package in said} == said
