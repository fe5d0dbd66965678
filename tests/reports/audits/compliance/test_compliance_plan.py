"""Plans of compliance documents: what is refused in them, and the first one that is written."""

import pytest

from draftproof.models.errors import InputError
from draftproof.reports.audits.compliance.plan import load_plan
from draftproof.reports.pages.compliance.first_plan import first_plan
from draftproof.tests.refusals import one_line
from draftproof.tests.reports.audits.compliance.compliance_parts import plan_text

pytestmark = pytest.mark.exact

AUDIT = 'kind = "audit"\nsubject = "block"'


def test_each_thing_that_does_not_fit_together_has_a_line(tmp_path):
    file = tmp_path / "plan.toml"
    parts = {"a": 'kind = "audit"', "A": AUDIT, "b": 'kind = "server"\nurl = "x"'}
    file.write_text(plan_text(parts, {"R1": 'statement = "s"\nclaim = "magic"\nparts = ["zzz"]'}))
    with pytest.raises(InputError) as refused:
        load_plan(file)
    lines = [line.removeprefix(f"{file}: ") for line in str(refused.value).splitlines()]
    assert lines[:3] == [
        "part A is given twice", "part a: expected subject or exec, not both", "part b: target is missing",
    ]  # fmt: skip
    assert lines[3].startswith("requirement R1: no claim 'magic'") and lines[4] == "requirement R1: no part 'zzz'"


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ('kind = "e2e"\ntarget = "x"', "expected target with draft"),
        ('kind = "e2e"\npreset = "tiny"', "part[0].preset: expected str matching regex '^(vicuna"),
        ('kind = "e2e"\npreset = "gpt2"\ntarget = "x"\ndraft = "y"', "expected preset or target, not both"),
        ('kind = "e2e"\npreset = "gpt2"\ngamma = "four"', "part[0].gamma: expected int | null, got str"),
        ('kind = "e2e"\npreset = "gpt2"\ntemperature = -1', "part[0].temperature: expected float >= 0.0"),
        ('kind = "nightly"\nfile = "x"\ndb = "y"', "expected file or db, not both"),
        ('kind = "campaign"\nsubject = "block"\nsamples = 1', "problem is missing"),
        ('kind = "campaign"\nsubject = "block"\nsamples = 0', "part[0].samples: expected int >= 1"),
        ('kind = "proofs"\nclaims = ["theorem-9"]', "part[0].claims[0]: expected str matching regex"),
        ('kind = "proofs"\nmethods = ["faith"]', "part[0].methods[0]: expected str matching regex"),
        ('kind = "server"\nurl = "x"', "target is missing"),
        ('kind = "report"\nfile = "x"\nverdict = "met"', "part[0]: unknown field 'verdict'"),
        ('kind = "audit"\nsubject = "a\\u202eb"', "expected a line of text"),
        ('kind = "audit"\nsubject = "a"\nquick = 1', "part[0].quick: expected bool"),
        ('kind = "audit"\nsubject = "a"\ntimeout = inf', "timeout is inf"),
        ('kind = "engine"\nengine = "a"\nsettings = {x = "\\u0007"}', "settings: x is '\\x07', expected a line"),
        ('kind = "oracle"', "part[0].kind: invalid value 'oracle'"),
        (f'{AUDIT}\n[[part]]\nid = "../../etc"\n{AUDIT}', "part[1].id: expected str matching regex"),
    ],
)
def test_a_part_that_is_not_as_its_kind_asks_is_refused(part, said, tmp_path):
    (tmp_path / "plan.toml").write_text(plan_text({"p": part}))
    assert said in one_line(load_plan, tmp_path / "plan.toml")


DTYPE_SAID = "its statement says bfloat16; expected the same as dtype"


@pytest.mark.parametrize(
    ("statement", "asked", "said"),
    [
        ("Lossless in bfloat16", "", DTYPE_SAID),
        ("Lossless in float32 and bfloat16", "dtype = 'float32'", "bfloat16 and float32; expected the same as dtype"),
        ("Lossless at temperature 0.7", "dtype = 'float32'", "expected temperature = 0.7"),
        ("Lossless at a temperature of 0.7", "temperature = 1", "expected temperature = 0.7"),
        ("Lossless in bfloat16 at temperature 0.70.", "temperature = 0.7\ndtype = 'bfloat16'", None),
        ("s", "claim = 'magic'", "no claim 'magic'"),
        ("s", "detection_limit = nan", "detection_limit is nan"),
        ("s", "versions = '5'", "requirement[0].versions: expected object | null, got str"),
        ("s", "parts = []", "requirement[0].parts: expected array of length >= 1"),
        ("s", "parts = ['zzz']", "no part 'zzz'"),
    ],
)  # fmt: skip
def test_a_requirement_asks_for_what_its_statement_says_and_for_what_there_is(statement, asked, said, tmp_path):
    file = tmp_path / "plan.toml"
    claim = "" if "claim" in asked else "claim = 'lossless'\n"
    file.write_text(plan_text({"a": AUDIT}, {"R": f"statement = '{statement}'\n{claim}{asked}\n"}))
    if said is None:
        assert load_plan(file).requirements[0].statement == statement
        return
    with pytest.raises(InputError) as refused:
        load_plan(file)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "title = 'outside'\n[plan]\ntitle='x'",
        "",
        "[plan",
        "\xff",
        "requirement = 3\n[plan]\ntitle='x'",
        "[plan]\ntitle='x'\n[[part]]\nid='a'\nkind=[]",
    ],
)
def test_what_is_no_plan_is_refused_in_lines(text, tmp_path):
    (tmp_path / "plan.toml").write_text(text, encoding="latin-1")
    with pytest.raises(InputError, match=r"plan\.toml: "):
        load_plan(tmp_path / "plan.toml")


def test_the_first_plan_is_a_plan_and_names_what_is_in_the_folder_and_can_be_shown(tmp_path):
    for name in ("ver😀.py", "bad\x1b.py", "bad\x7f.py"):
        (tmp_path / name).write_text("1 / 0\n\ndef f(target_probs, draft_probs, draft_tokens, rng):\n    pass\n")
    (tmp_path / "broken.py").write_text("def (")
    (tmp_path / "draftproof-nightly.sqlite").write_text("")
    (tmp_path / "compliance.toml").write_text(first_plan(tmp_path), encoding="utf-8")
    plan = load_plan(tmp_path / "compliance.toml")
    made = {part.id: part.what for part in plan.parts}
    assert {"own1": "ver😀.py:f", "nights": "draftproof-nightly.sqlite"}.items() <= made.items()
    assert {"V1-1", "V1-2", "N1", "T1", "T2"} <= {r.id for r in plan.requirements} and "own2" not in made
