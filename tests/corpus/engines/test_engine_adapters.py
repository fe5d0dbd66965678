"""Adapters of engines: what is lifted, what is said where it is missing, whether batches change a law."""

import json
import os
import subprocess
import sys
import zipfile

import pytest

from draftproof.models.battery import toy
from draftproof.proofs.audit_claims import judge
from draftproof.proofs.driven.answers import answers
from draftproof.proofs.driven.subjects import DrivenObject
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.time_limits import TimeLimits
from draftproof.reports.audits.subject import subject_from
from draftproof.tests.subjects import driven
from draftproof.verifiers.adapters.calling_convention import NotASubject, on_demand
from draftproof.verifiers.adapters.protocol import Row, by_length
from draftproof.verifiers.adapters.registry import ADAPTERS
from draftproof_engines.lifted import Edit, lift, require_parameters, version_of
from draftproof_engines.unpack import DISTRIBUTIONS, main

SOURCE = """
import no_such_package

LIMIT: int = 3
OTHER = no_such_package.other

@decorated
def rule(u, p):
    return draw() < min(u, LIMIT)

def unused():
    return OTHER
"""


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """An engine of one file, whose imports cannot be met."""
    monkeypatch.setenv("DRAFTPROOF_ENGINES", str(tmp_path))
    (tmp_path / "some-engine").mkdir()
    (tmp_path / "some-engine" / "rule.py").write_text(SOURCE)
    (tmp_path / "some-engine" / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: some\nVersion: 1.5\n\ntext\n")
    return tmp_path


EDIT = Edit("draw()", "INPUT[0]", "the number is an input")


def test_functions_are_lifted_by_name_and_every_edit_is_recorded(engine):
    given = {"decorated": lambda f: f, "INPUT": [2]}
    lifted = lift("some-engine", "rule.py", ("rule", "LIMIT"), given, [EDIT])
    assert lifted.functions["rule"](5, 0) is True and lifted.functions["rule"](1, 0) is False
    assert "unused" not in lifted.functions
    record = lifted.record
    assert (record["engine"], record["version"], record["file"]) == ("some-engine", "1.5", "rule.py")
    assert record["edits"] == [{"old": "draw()", "new": "INPUT[0]", "why": "the number is an input"}]
    assert record["given"] == ["INPUT", "decorated"] and record["digest"].startswith("sha256:")
    json.dumps(record)


@pytest.mark.parametrize(
    ("names", "edits", "says"),
    [
        (("rule", "gone"), (), r"some-engine 1\.5: rule\.py has no gone; expected a version that was tried"),
        (("rule",), (Edit("rand()", "1", ""),), r"some-engine 1\.5: rule\.py has no 'rand\(\)'; expected a version"),
    ],
)
def test_a_version_that_is_another_is_one_line(engine, names, edits, says):
    with pytest.raises(NotASubject, match=says):
        lift("some-engine", "rule.py", names, {"decorated": lambda f: f}, edits)


def test_a_file_that_does_not_parse_is_one_line_and_is_lifted_from_with_a_recorded_repair(engine):
    (engine / "some-engine" / "mixed.py").write_text("def rule():\n        if True:\n\t    return 1\n")
    with pytest.raises(
        NotASubject, match=r"some-engine 1\.5: mixed\.py does not parse: inconsistent use of tabs.*, line 3"
    ):
        lift("some-engine", "mixed.py", ("rule",), {})
    repair = Edit("\t", "        ", "a tab is eight columns")
    lifted = lift("some-engine", "mixed.py", ("rule",), {}, repairs=[repair])
    assert lifted.functions["rule"]() == 1 and lifted.record["edits"] == [repair._asdict()]
    with pytest.raises(NotASubject, match=r"rule\.py has no '\\t'; expected a version that has"):
        lift("some-engine", "rule.py", ("rule",), {"decorated": lambda f: f}, repairs=[repair])


def test_a_signature_or_a_file_that_is_not_there_is_one_line(engine):
    rule = lift("some-engine", "rule.py", ("rule",), {"decorated": lambda f: f}).functions["rule"]
    with pytest.raises(NotASubject, match=r"the rule takes \(u, p\); expected u, q"):
        require_parameters(rule, ("u", "q"), "the rule")
    with pytest.raises(NotASubject, match=r"some-engine 1\.5 has no other\.py"):
        lift("some-engine", "other.py", (), {})
    with pytest.raises(NotASubject, match=r"nothing is not in .*nothing; expected a version"):
        lift("nothing", "rule.py", (), {})
    assert version_of("nothing") is None


def test_an_engine_that_is_missing_is_one_line(engine):
    command = [sys.executable, "-m", "draftproof.reports.commands.main", "audit", "vllm-ascend-block"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "vllm-ascend not found; expected what was tried (0.23.0.post1): make engines unpacks it" in done.stderr
    assert "Traceback" not in done.stderr
    assert ADAPTERS["sglang-block"].missing() == ["sglang", "triton"]


def test_each_adapter_states_what_has_to_be_known():
    for adapter in ADAPTERS.values():
        assert adapter.randomness and adapter.bonus and adapter.draft and adapter.claims
        assert not adapter.engines or adapter.tried
        assert set(adapter.engines) <= set(DISTRIBUTIONS)
        assert subject_from(adapter.name).dtypes == adapter.dtypes
    assert main(["no-such-engine"]) == 2


SHIPPED = """
class Shipped:
    random = [{"name": "u", "kind": "uniform", "shape": ["gamma"]},
              {"name": "last", "kind": "exponential", "shape": ["V"]}]

    def __call__(self, target, draft, tokens, random):
        for i, x in enumerate(tokens):
            if random["u"][i] * draft[i][x] >= target[i][x]:
                weights = (target[i] - draft[i]).clip(0)
                return [*tokens[:i], int((weights / random["last"]).argmax())]
        return [*tokens, int((target[-1] / random["last"]).argmax())]

verify = Shipped()
"""


def test_an_adapter_that_another_distribution_ships_is_discovered_and_audited(tmp_path):
    wheel, info = tmp_path / "shipped_adapter-0.7-py3-none-any.whl", "shipped_adapter-0.7.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("shipped_adapter.py", SHIPPED)
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: shipped-adapter\nVersion: 0.7\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/entry_points.txt", "[draftproof.adapters]\nshipped = shipped_adapter:verify\n")
        archive.writestr(f"{info}/RECORD", "")
    folder = tmp_path / "installed"
    pip = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target"]
    subprocess.run([sys.executable, *pip, str(folder), str(wheel)], check=True, capture_output=True)
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))
    problem = '{"vocabulary": 2, "gamma": 1, "target": ["2/3", "1/3"], "draft": ["1/3", "2/3"]}'
    asked = ["audit", "shipped", "--json", "-", "--problem", problem]
    command = [sys.executable, "-m", "draftproof.reports.commands.main", *asked]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    report = json.loads(done.stdout)
    assert done.returncode == 0 and report["verdict"] == "holds", done.stderr
    assert report["subject"]["source"] == "shipped_adapter:verify, shipped by shipped-adapter 0.7"
    assert report["subject"]["convention"]["random"] == "driven"


@pytest.mark.usefixtures("fewer_confirmations")
def test_the_law_is_the_same_in_batches():
    alone = type(
        "Alone", (), {"random": driven.together.random, "__call__": lambda self, *given: driven.together(*given)}
    )()
    known = []
    for function in (driven.together, alone):
        subject = DrivenObject(function, "it", None, "float64", TimeLimits(30.0))
        measurement = measured(toy(2), "float64", answers(subject, toy(2)))
        assert judge(measurement)[0].holds
        known.append(measurement.outcomes())
    assert subject.batch == 1 and known[0] == known[1]


def test_rows_of_each_length_are_answered_together_and_come_back_in_their_order():
    rows, asked = [Row(None, None, range(n), {}, seed=k) for k, n in enumerate((2, 1, 2, 3, 1))], []

    def run(given):
        asked.append([row.seed for row in given])
        return [[row.seed] for row in given]

    assert by_length(rows, run) == [[0], [1], [2], [3], [4]] and asked == [[0, 2], [1, 4], [3]]
    with pytest.raises(ValueError, match="shorter"):
        by_length(rows, lambda given: run(given)[1:])


def test_what_is_made_on_demand_is_made_once_and_an_unknown_name_is_none():
    made, module = [], {}
    get = on_demand(module, {"rule": lambda: made.append(1) or "rule"})
    assert get("rule") == module["rule"] == get("rule") == "rule" and made == [1]
    with pytest.raises(AttributeError):
        get("other")
