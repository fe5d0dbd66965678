"""The digest of a foreign function changes with what the function is made of, and with nothing else."""

import os
import subprocess
import sys
from importlib import metadata

import pytest

from draftproof.models.battery import toy
from draftproof.proofs.interception import digests, loading
from draftproof.proofs.interception.digests import UNKNOWN, digest_of
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
class Tempered:
    def __init__(self, function, power):
        functools.update_wrapper(self, function)
        self.power = power
    def __call__(self, target_probs, draft_probs, draft_tokens):
        return self.__wrapped__(target_probs**self.power, draft_probs, draft_tokens)
def local(kept):
    class Local:
        def __call__(self, target_probs, draft_probs, draft_tokens):
            return [kept]
    return Local()
class Held(Base):
    def __init__(self, **held):
        self.__dict__.update(held)
def dynamic(mark):
    return type("Dynamic", (Base,), {"mark": mark})()
class Coarse(random.Random):
    def __init__(self, bits=8):
        super().__init__()
        self.bits = bits
    def random(self):
        return self.getrandbits(self.bits) / 2**self.bits
class Marked(np.ndarray):
    pass
def marked(mark):
    rows = np.eye(2).view(Marked)
    rows.mark = mark
    return rows
class Flipped(functools.partial):
    def __call__(self, *arguments):
        return [1 - token for token in super().__call__(*arguments)]
left, right = (lambda target, draft, tokens: [0]), (lambda target, draft, tokens: [1])
"""


@pytest.fixture
def found(tmp_path, monkeypatch):
    """Text of a file -> the function that it calls ``verify``, digested; the library stands beside it."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    (tmp_path / "library.py").write_text(LIBRARY)

    def digest(text, library=LIBRARY):
        (tmp_path / "library.py").write_text(library)
        (tmp_path / "subject.py").write_text(f"import functools, library\nimport numpy as np\n{text}\n")
        for name in ("library", "subject"):
            sys.modules.pop(name, None)
        sys.dont_write_bytecode = True
        return digest_of(loading.load("subject:verify"))

    before = sys.dont_write_bytecode
    yield digest
    sys.dont_write_bytecode = before
    for name in ("library", "subject"):
        sys.modules.pop(name, None)


def test_the_digest_of_a_plain_function_is_that_of_its_file_and_of_its_place_there(found):
    first, again = (found("def verify(a, b, c): return [0]") for _ in range(2))
    assert first == again
    assert first.startswith("sha256:")
    others = {found(text) for text in ("def verify(a, b, c): return [1]", "def verify(a, b, c): return [0]\n#")}
    assert len({first, UNKNOWN, *others}) == 4


BOUND = [
    ("verify = library.made({})", 1, 2),
    ("verify = library.default({})", 1, 2),
    ("verify = functools.partial(library.plain, draft_tokens={})", 1, 2),
    ("verify = functools.partial({}, draft_tokens=1)", "library.plain", "library.other"),
    ("verify = functools.wraps(library.plain)(library.made({}))", 1, 2),
    ("verify = functools.lru_cache({})", "library.plain", "library.other"),
    ("verify = library.Verifier({})", 1, 2),
    ("verify = library.Verifier({})", "np.ones(2)", "np.zeros(2)"),
    ("verify = library.Verifier({})", "{'a': (1, 2.0)}", "{'a': (1, 2.5)}"),
    ("verify = library.Verifier({}).method", 1, 2),
    ("verify = {}", "max", "min"),
    ("verify = {}", "np.add", "np.subtract"),
    ("verify = library.made({})", "library.plain", "library.other"),
    ("verify = {}", "library.plain", "library.other"),
    ("verify = {}", "library.left", "library.right"),
    ("verify = functools.partial({})", "library.left", "library.right"),
    ("verify = functools.partial(library.plain)\nverify.mark = {}", 1, 2),
    ("verify = functools.partial(library.plain)\nlibrary.plain.mark = {}", 1, 2),
    ("verify = {}(library.plain)", "functools.partial", "library.Flipped"),
    ("verify = functools.lru_cache({})(library.plain)", 1, 2),
    ("verify = library.Tempered(library.plain, {})", 1.0, 0.5),
    ("verify = library.Tempered({}, 1.0)", "library.plain", "library.other"),
    ("verify = library.local({})", 1, 2),
    ("verify = library.dynamic({})", 1, 2),
    ("library.Verifier.mark = {}\nverify = library.Verifier(0)", 1, 2),
    ("library.Base.__call__ = {}\nverify = library.Held()", "library.plain", "library.other"),
    ("verify = library.Held(rows=library.marked({}))", 1, 2),
    ("verify = library.Held(rows=np.eye(2).view({}))", "np.ndarray", "library.Marked"),
    ("verify = library.Held(rng=library.Coarse({}))", 4, 32),
    ("verify = library.Held(rng={}())", "library.random.Random", "library.Coarse"),
    ("verify = library.Held(rng=np.random.Generator(np.random.{}()))", "PCG64", "MT19937"),
]


@pytest.mark.parametrize(("text", "one", "two"), BOUND)
def test_what_is_bound_to_a_function_is_in_its_digest(found, text, one, two):
    first, again = (found(text.replace("{}", str(one))) for _ in range(2))
    assert first == again != UNKNOWN
    assert found(text.replace("{}", str(two))) not in (first, UNKNOWN)


@pytest.mark.parametrize("text", [t.replace("{}", str(one)) for t, one, _ in BOUND if "library" in t + str(one)])
def test_the_source_of_what_is_called_or_wrapped_is_in_the_digest(found, text):
    assert found(text) != found(text, LIBRARY + "# changed")


def test_the_sources_of_all_base_classes_are_in_the_digest(found, tmp_path):
    (tmp_path / "base.py").write_text("class Base:\n    def __call__(self, a, b, c): return [0]\n")
    text = "import base\nclass Verifier(base.Base): pass\nverify = Verifier()"
    first = found(text)
    (tmp_path / "base.py").write_text("class Base:\n    def __call__(self, a, b, c): return [1]\n")
    sys.modules.pop("base")
    assert found(text) not in (first, UNKNOWN)
    sys.modules.pop("base")


@pytest.mark.parametrize("text", [
    "verify = library.Locked()",
    "verify = functools.partial(library.plain, draft_tokens=open('/dev/null'))",
    "verify = library.made(library.Locked())",
    "exec('def verify(a, b, c): return [0]')",
    "verify = np.frompyfunc(library.plain, 3, 1)",
    "class Lies:\n    def __call__(self, a, b, c): return [0]\n    def __reduce_ex__(self, p): raise SystemError\n"
    "verify = Lies()",
    "import ctypes\nverify = ctypes.CDLL(None).abs",
    "verify = functools.lru_cache(library.plain)\nverify(1, 2, 3)",
])  # fmt: skip
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_what_hides_its_code_or_its_state_has_no_digest(found, text):
    assert found(text) == UNKNOWN


def test_a_function_compiled_by_numba_is_digested_by_its_source_and_its_options(found):
    pytest.importorskip("numba", reason="needs numba: pip install -c constraints.txt draftproof[campaign]")
    text = "import numba\nverify = numba.njit({})(library.plain)"
    seen = [found(text.replace("{}", options)) for options in ("", "fastmath=True")]
    seen.append(found(text.replace("{}", ""), LIBRARY + "# changed"))
    assert len({*seen, UNKNOWN}) == 4
    assert found(text.replace("{}", "")) == seen[0]


NEEDS_TORCH = "needs torch: pip install -c constraints.txt torch"


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, while its compiler is imported
def test_functions_compiled_by_torch_are_digested_by_their_source(found):
    pytest.importorskip("torch", reason=NEEDS_TORCH)
    text = "import torch\nverify = torch.compile({})"
    seen = [found(text.replace("{}", name)) for name in ("library.plain", "library.other", "library.plain")]
    seen.append(found(text.replace("{}", "library.plain"), LIBRARY + "# changed"))
    assert seen[0] == seen[2]
    assert len({*seen, UNKNOWN}) == 4


@pytest.mark.parametrize(("one", "two"), [
    ("torch.ones(2)", "torch.zeros(2)"),
    ("torch.ones(2)", "torch.ones(2, 1)"),
    ("torch.tensor([1 + 2j])", "torch.tensor([1 + 2j]).conj()"),
    ("torch.tensor([1 + 2j]).imag", "torch.tensor([1 + 2j]).conj().imag"),
])  # fmt: skip
def test_tensors_are_digested_by_what_they_hold(found, one, two):
    pytest.importorskip("torch", reason=NEEDS_TORCH)
    seen = [found(f"import torch\nverify = library.Held(rows={rows})") for rows in (one, two, one)]
    assert seen[0] == seen[2]
    assert len({*seen, UNKNOWN}) == 3


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
def test_a_function_of_torchscript_has_no_digest(found):
    pytest.importorskip("torch", reason=NEEDS_TORCH)
    text = "import torch\nverify = torch.jit.trace(lambda a: a * 2, torch.ones(30))"
    assert found(text) == UNKNOWN


def test_an_extension_module_is_digested_by_its_file_and_the_version_of_its_distribution(monkeypatch):
    extension = sys.modules[next(name for name in sys.modules if name.endswith("._multiarray_umath"))]
    name, function = next(
        (n, f) for n, f in vars(extension).items() if getattr(f, "__module__", "") == extension.__name__
    )
    first = digest_of(function)
    before = digests._file_digest
    monkeypatch.setattr(digests, "_file_digest", lambda path, written: before(path, written) + "another build")
    changed = digest_of(function)
    monkeypatch.setattr(digests, "_file_digest", before)
    monkeypatch.setattr(digests, "_version_of", lambda package: f"{package} {metadata.version(package)}.post1")
    newer = digest_of(function)
    assert len({first, changed, newer, UNKNOWN}) == 4
    monkeypatch.delattr(extension, name)
    assert digest_of(function) == UNKNOWN


def test_the_digest_does_not_depend_on_calls_or_the_process(tmp_path):
    (tmp_path / "library.py").write_text(LIBRARY)
    (tmp_path / "subject.py").write_text("import library\nverify = library.Verifier(1)\n")
    seen = []
    for _ in range(2):
        with Sandbox(f"{tmp_path / 'subject.py'}:verify") as sandbox:
            seen.append(sandbox.start([toy(1)])["digest"])
    start = (
        "from draftproof.proofs.interception import digests, loading; import sys; "
        "print(digests.digest_of(loading.load(sys.argv[1])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", start, f"{tmp_path / 'subject.py'}:verify"], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONHASHSEED": "17"},
    )  # fmt: skip
    assert seen == [done.stdout.strip()] * 2
    assert seen[0] != UNKNOWN


def test_of_an_adapter_the_engine_is_digested():
    def engine():
        return [0]

    def adapter(a, b, c):
        return [0]

    adapter.published = lambda: engine
    assert digest_of(adapter) == digest_of(engine) != UNKNOWN
