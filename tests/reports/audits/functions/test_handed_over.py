"""What is audited is the object that was handed over, or nothing is."""

import base64
import functools
import importlib
import operator
import os
import pickle
import shlex
import socket
import subprocess
import sys
import threading

import pytest

from draftproof import audit
from draftproof.models.battery import toy
from draftproof.models.errors import InputError, RunFailed
from draftproof.proofs.audit_claims import lossless
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.sandbox import Sandbox
from draftproof.reports.audits.functions.handed_over import handed_over, name_of
from draftproof.reports.testing.checks import checks_of

pytestmark = pytest.mark.interception

MINE = """
import functools, random
import numpy as np
FACTOR = 1.0
def residual(p, q):
    return np.maximum(p - FACTOR * q, 0)
def good(target_probs, draft_probs, draft_tokens, rng):
    for i, x in enumerate(draft_tokens):
        if not rng.random() < min(1.0, target_probs[i][x] / draft_probs[i][x]):
            left = residual(target_probs[i], draft_probs[i])
            return [*draft_tokens[:i], rng.choice(len(left), p=left / left.sum())]
    return [*draft_tokens, rng.choice(len(target_probs[-1]), p=target_probs[-1])]
@functools.wraps(good)
def buggy(target_probs, draft_probs, draft_tokens, rng):
    return [0]
def made(function):
    @functools.wraps(function)
    def verify(target_probs, draft_probs, draft_tokens, rng):
        return function(target_probs, draft_probs, draft_tokens, rng)
    return verify
decorated = made(buggy)
class Verifier:
    weights = [1.0]
    def __init__(self, function):
        self.function = function
    def __call__(self, target_probs, draft_probs, draft_tokens, rng):
        return self.function(target_probs, draft_probs, draft_tokens, rng)
    @classmethod
    def of_class(cls, target_probs, draft_probs, draft_tokens, rng):
        return buggy(target_probs, draft_probs, draft_tokens, rng)
    def method(self, target_probs, draft_probs, draft_tokens, rng):
        return self(target_probs, draft_probs, draft_tokens, rng)
right, wrong = Verifier(good), Verifier(buggy)
partial = functools.partial(good)
unnamed, biased = (lambda a, b, c, rng: good(a, b, c, rng)), (lambda a, b, c, rng: [0])
exec("def executed(target_probs, draft_probs, draft_tokens, rng): return [0]")
"""


@pytest.fixture
def imported(tmp_path, monkeypatch):
    """Gives modules of a source, imported from a folder that only this process searches."""
    names = []

    def module(name, source):
        names.append(name)
        (tmp_path / f"{name}.py").write_text(source)
        return importlib.import_module(name)

    monkeypatch.syspath_prepend(tmp_path)
    yield module
    for name in names:
        sys.modules.pop(name)


@pytest.fixture
def mine(imported):
    return imported("mine", MINE)


def outcome(subject):
    """The verdict of its law: of the object that was handed over, or of a name."""
    given = None if isinstance(subject, str) else handed_over(subject)
    with Sandbox(subject if given is None else name_of(subject), handed_over=given) as box:
        box.start([toy(1)])
        return lossless(measured(toy(1), "float64", box.law(toy(1)))).verdict


@pytest.mark.parametrize(
    ("name", "verdict"),
    [("buggy", "refuted"), ("decorated", "refuted"), ("right", "holds"), ("wrong.method", "refuted"),
     ("Verifier.of_class", "refuted"), ("partial", "holds"), ("biased", "refuted"), ("executed", "refuted")],
)  # fmt: skip
def test_each_kind_of_object_is_audited_under_its_own_name(mine, name, verdict):
    subject = operator.attrgetter(name)(mine)
    assert name_of(subject) == f"{mine.__file__}:{name}"
    assert outcome(subject) == verdict


def test_code_that_is_handed_over_keeps_the_name_of_its_file(mine):
    copied = pickle.loads(base64.b64decode(handed_over(mine.good)["content"]))
    assert copied.__code__.co_filename == mine.__file__
    assert copied.__globals__["residual"].__code__.co_filename == mine.__file__


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("lambda a, b, c: [0]", "a lambda cannot be found by name"),
        ("mine.made(mine.good)", "good cannot be found by name"),
        ("mine.Verifier(mine.good)", "an object of class Verifier cannot be found by name"),
        ("3", "3 is no subject; expected a function"),
        ("mine.Verifier", "is a class; expected a function, or a callable object of the class"),
        ("exec('def f(a, b, c): return [0]', space := {}) or space['f']", "f cannot be found by name"),
    ],
)
def test_what_no_module_has_under_a_name_is_refused_and_says_what_to_do(mine, expression, text):
    with pytest.raises(InputError, match=text):
        audit(eval(expression), [toy(1)])


PATCHES = {
    "a helper": lambda mine, patch: patch.setattr(mine, "residual", lambda p, q: p),
    "a constant": lambda mine, patch: patch.setattr(mine, "FACTOR", 0.0),
    "its state": lambda mine, patch: patch.setattr(mine.right, "function", mine.buggy),
    "a method": lambda mine, patch: patch.setattr(mine.Verifier, "__call__", lambda self, a, b, c, rng: [0]),
    "another under its name": lambda mine, patch: patch.setattr(mine, "right", mine.biased),
}


@pytest.mark.parametrize("part", PATCHES)
def test_what_was_patched_since_the_import_is_audited_as_it_is_now(mine, monkeypatch, part):
    PATCHES[part](mine, monkeypatch)
    assert outcome(mine.right) == "refuted"


HELPER = """
import numpy as np
def residual(p, q):
    return np.maximum(p - q, 0)
"""


@pytest.mark.usefixtures("replayed")
@pytest.mark.parametrize("how", ["import helper", "from helper import residual"])
def test_what_was_patched_in_another_module_is_audited_as_it_is_now(imported, monkeypatch, how):
    helper = imported("helper", HELPER)
    used = "helper.residual(" if how == "import helper" else "residual("
    uses = imported("uses", MINE.replace("residual(", used).replace(f"def {used}", "def other(") + how + "\n")
    assert outcome(uses.right) == "holds"
    with monkeypatch.context() as patched:
        patched.setattr(helper if how == "import helper" else uses, "residual", lambda p, q: p)
        assert outcome(uses.right) == "refuted"
    helper.lock = threading.Lock()
    report = audit(uses.right, [toy(1)], dtypes=["float64"], explain=False)
    assert (report.subject.get("not_compared") == ["helper"]) == (how == "import helper")


@pytest.mark.usefixtures("replayed")
def test_what_was_read_when_an_object_was_imported_is_read_again_in_another_process(imported):
    here = f"import socket\nHERE = socket.gethostname() == {socket.gethostname()!r}\n"
    reads = imported("reads", here + MINE.replace("FACTOR = 1.0", "FACTOR = 1.0 if HERE else 0.0"))
    assert reads.FACTOR == 1.0
    assert audit(reads.right, [toy(1)], dtypes=["float64"], explain=False, samples=500).verdict == "inconclusive"


GENERATORS = """
import random
import numpy as np
from numpy.random import default_rng, rand
OWN, STATE, PLAIN = np.random.default_rng(3), np.random.RandomState(3), random.Random(3)
def of_own(target_probs, draft_probs, draft_tokens):
    return [int(OWN.random() < target_probs[0][1])]
def of_state(target_probs, draft_probs, draft_tokens):
    return [int(STATE.random_sample() < target_probs[0][1])]
def of_plain(target_probs, draft_probs, draft_tokens):
    return [int(PLAIN.random() < target_probs[0][1])]
def of_global(target_probs, draft_probs, draft_tokens):
    return [int(rand() < target_probs[0][1])]
def of_new(target_probs, draft_probs, draft_tokens):
    return [int(default_rng().random() < target_probs[0][1])]
"""


@pytest.mark.parametrize("name", ["of_own", "of_state", "of_plain", "of_global", "of_new"])
def test_generators_that_an_object_keeps_are_followed_in_the_child(imported, name):
    assert outcome(getattr(imported("keeps", GENERATORS), name)) == "holds"


def test_what_cannot_be_copied_is_refused_and_says_what_to_do(mine, monkeypatch):
    monkeypatch.setattr(mine.right, "lock", threading.Lock(), raising=False)
    with pytest.raises(InputError, match=r"cannot be passed as an object .*lock.*: pass its name"):
        audit(mine.right, [toy(1)])


RELATIVE = "from .parts import good as verify\nfrom . import parts\n"
LAYOUTS = {
    "package": (["lib/__init__.py", "lib/sub/__init__.py"], "lib/sub/mod.py", "lib.sub.mod"),
    "src": (["src/lib/__init__.py"], "src/lib/mod.py", "lib.mod"),
    "namespace": ([], "lib/sub/mod.py", "lib.sub.mod"),
    "named as a module of Python": ([], "statistics.py", "statistics"),
    "package named as a module of Python's": (["random/__init__.py"], "random/mod.py", "random.mod"),
}


def laid_out(root, layout):
    """The files of a layout under root: the module's file, its dotted name, and the folder to search."""
    packages, file, name = LAYOUTS[layout]
    for package in packages:
        (root / package).parent.mkdir(parents=True, exist_ok=True)
        (root / package).write_text("")
    path = root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    relative = "." in name
    (path.parent / "parts.py").write_text(MINE)
    path.write_text(RELATIVE if relative else RELATIVE.replace(".parts", "parts").replace("from . import", "import"))
    return path, name, path.parents[name.count(".")]


def run(words, folder, **environment):
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, env=os.environ | environment)
    return done.returncode, done.stdout + done.stderr


MAIN = (
    "import sys; sys.path.pop(0); from draftproof.reports.commands.main import main; sys.argv[0] = 'draftproof'; main()"
)
TOY = '{"vocabulary":2,"gamma":1,"target":["1/3","2/3"],"draft":["2/3","1/3"]}'


@pytest.mark.parametrize(
    ("layout", "form", "why_not"),
    [
        ("package", "{path}:verify", ""),
        ("src", "{path}:verify", ""),
        ("namespace", "lib.sub.mod:verify", ""),
        ("namespace", "{path}:verify", "imports relatively, but its folder has no __init__.py: name it as package."),
        ("named as a module of Python", "{path}:verify", ""),
        ("package named as a module of Python's", "{path}:verify", "is random.mod by its folders, but random is"),
    ],
)
def test_names_on_the_command_line_find_files_of_packages_or_say_why_not(tmp_path, monkeypatch, layout, form, why_not):
    path, _, root = laid_out(tmp_path, layout)
    monkeypatch.chdir(root)
    with Sandbox(form.format(path=path)) as box:
        if not why_not:
            assert box.start([toy(1)])["convention"]["array"] == "numpy"
            return
        with pytest.raises(RunFailed) as caught:
            box.start([toy(1)])
    assert caught.value.kind == "load"
    assert why_not in str(caught.value)


def test_an_audit_in_a_script_needs_no_guard_its_replay_runs_and_by_name_says_so_where_it_does(tmp_path):
    _, name, root = laid_out(tmp_path, "namespace")
    begin = f"from draftproof import audit\nimport json\nproblem = json.loads('{TOY}')\nfrom {name} import parts\n"
    shown = "report = audit(parts.buggy, [problem], dtypes=['float64'], explain=False)\n"
    shown += "print(report.shown_refutation().replay)\n"
    (root / "script.py").write_text(begin + shown)
    status, replay = run([sys.executable, "script.py"], root)
    (env, search, *words) = shlex.split(replay)
    assert (status, env, search, words[0]) == (0, "env", f"PYTHONPATH={root}", "draftproof"), replay
    elsewhere = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
    status, text = run([sys.executable, "-c", MAIN, *words[1:]], "/", PYTHONPATH=elsewhere)
    assert status == 1, text
    named = MINE + begin + "print(audit('script.py:good', [problem], explain=False).failure['message'])\n"
    (root / "script.py").write_text(named)
    status, text = run([sys.executable, "script.py"], root)
    assert status == 0 and "audit() is called while its subject is imported" in text


def test_the_checks_of_an_object_share_an_audit(mine, monkeypatch):
    made = []
    monkeypatch.setattr(
        "draftproof.reports.audits.api.audit",
        lambda *a, **k: made.append(a) or audit(a[0], [toy(1)], dtypes=["float64"]),
    )
    for check in checks_of(mine.good):
        check()
    assert [a[0] for a in made] == [mine.good]
    with pytest.raises(InputError, match="cannot be found by name"):
        next(checks_of(functools.partial(mine.good)))
