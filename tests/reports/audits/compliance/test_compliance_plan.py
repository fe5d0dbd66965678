"""Plans of compliance documents: what is refused in them, and the first one that is written."""

import pytest

from draftproof.models.errors import InputError
from draftproof.reports.audits.compliance.first_plan import first_plan
from draftproof.reports.audits.compliance.plan import load_plan

pytestmark = pytest.mark.exact


BAD = """
[plan]
title = "x"
[[part]]
id = "a"
kind = "audit"
[[part]]
id = "A"
kind = "audit"
subject = "block"
[[part]]
id = "a"
kind = "audit"
subject = "block"
[[part]]
id = "../../etc"
kind = "audit"
subject = "block"
[[part]]
id = "b"
kind = "oracle"
[[part]]
id = "c"
kind = "e2e"
target = "x"
temperature = -1
gamma = "four"
preset = "tiny"
[[part]]
id = "d"
kind = "nightly"
file = "x"
db = "y"
[[part]]
id = "e"
kind = "campaign"
subject = "block"
samples = 0
[[part]]
id = "f"
kind = "proofs"
claims = ["theorem-9"]
methods = ["faith"]
[[requirement]]
id = "R1"
statement = "two\\nlines"
claim = "magic"
verdict = "met"
parts = ["zzz"]
[[requirement]]
id = "R2"
parts = []
detection_limit = nan
versions = "5"
[[requirement]]
id = "R3"
statement = "s"
claim = "lossless"
parts = ["nowhere"]
"""


def test_a_plan_that_is_bad_in_many_ways_gives_a_line_each(tmp_path):
    (tmp_path / "plan.toml").write_text(BAD)
    with pytest.raises(InputError) as refused:
        load_plan(tmp_path / "plan.toml")
    lines = str(refused.value).splitlines()
    assert len(lines) >= 14
    assert all(line.startswith(f"{tmp_path / 'plan.toml'}: ") for line in lines)
    for text in (
        "('a'): expected subject or exec, not both", "part a is there twice", "id is '../../etc': expected",
        "kind is 'oracle'", "gamma is 'four': expected int", "temperature is -1: expected", "samples is 0: expected",
        "part 7 ('d'): expected file or db, not both", "no claim 'theorem-9'", "no method 'faith'",
        "statement is 'two\\nlines', expected a line of text", "detection_limit is nan", "versions is '5': expected",
        "parts is []", "no part 'nowhere'",
    ):  # fmt: skip
        assert any(text in line for line in lines), text


@pytest.mark.parametrize(
    ("statement", "asked", "line"),
    [
        ("Lossless in bfloat16", "", "its statement says bfloat16; expected the same as dtype"),
        (
            "Lossless in float32 and bfloat16",
            "dtype = 'float32'",
            "says bfloat16 and float32; expected the same as dtype",
        ),
        ("Lossless at temperature 0.7", "dtype = 'float32'", "expected temperature = 0.7"),
        ("Lossless at a temperature of 0.7", "temperature = 1", "expected temperature = 0.7"),
        ("Lossless in bfloat16 at temperature 0.70.", "temperature = 0.7\ndtype = 'bfloat16'", None),
    ],
)
def test_a_statement_that_says_more_than_the_requirement_asks_is_refused(statement, asked, line, tmp_path):
    file = tmp_path / "plan.toml"
    file.write_text(
        "[plan]\ntitle = 't'\n[[part]]\nid = 'a'\nkind = 'audit'\nsubject = 'block'\n[[requirement]]\nid = 'R'\n"
        f"statement = '{statement}'\nclaim = 'lossless'\nparts = ['a']\n{asked}\n"
    )
    if line is None:
        assert load_plan(file).requirements[0].statement == statement
        return
    with pytest.raises(InputError, match=line):
        load_plan(file)


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ('kind = "e2e"\ntarget = "x"', "expected target with draft"),
        ('kind = "e2e"\npreset = "tiny"', "no preset 'tiny'; expected one of vicuna"),
        ('kind = "e2e"\npreset = "gpt2"\ntarget = "x"\ndraft = "y"', "expected preset or target, not both"),
        ('kind = "campaign"\nsubject = "block"\nsamples = 1', "problem is missing"),
        ('kind = "server"\nurl = "x"', "target is missing"),
        ('kind = "report"\nfile = "x"\nverdict = "met"', "unknown field 'verdict'"),
        ('kind = "audit"\nsubject = "a\\u202eb"', "expected a line of text"),
        ('kind = "audit"\nsubject = "a"\nquick = 1', "quick is 1: expected bool"),
        ('kind = "audit"\nsubject = "a"\ntimeout = inf', "timeout is inf"),
        ('kind = "engine"\nengine = "a"\nsettings = {x = "\\u0007"}', "settings is '\\x07', expected a line"),
    ],
)
def test_a_part_that_is_not_as_its_kind_asks_is_refused(part, said, tmp_path):
    required = '[[requirement]]\nid = "R"\nstatement = "s"\nclaim = "lossless"\n'
    (tmp_path / "plan.toml").write_text(f'[plan]\ntitle = "t"\n[[part]]\nid = "p"\n{part}\n{required}')
    with pytest.raises(InputError) as refused:
        load_plan(tmp_path / "plan.toml")
    assert said in str(refused.value) and "\n" not in str(refused.value)


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


def test_the_first_plan_is_a_plan_and_has_what_is_in_the_folder(tmp_path):
    (tmp_path / "mine.py").write_text("1 / 0\n\ndef verify(target_probs, draft_probs, draft_tokens, rng):\n    pass\n")
    (tmp_path / "broken.py").write_text("def (")
    (tmp_path / "draftproof-nightly.sqlite").write_text("")
    (tmp_path / "compliance.toml").write_text(first_plan(tmp_path))
    plan = load_plan(tmp_path / "compliance.toml")
    assert {"own1": "mine.py:verify", "nights": "draftproof-nightly.sqlite"}.items() <= {
        p.id: p.what for p in plan.parts
    }.items()
    assert {"V1-1", "V1-2", "N1", "T1", "T2"} <= {r.id for r in plan.requirements}


# ---------------------------------------------------------------- parts


def test_the_first_plan_names_files_as_they_are_and_none_whose_name_cannot_be_shown(tmp_path):
    for name in ("ver😀.py", "ä.py", "bad\x1b.py", "bad\x7f.py"):
        (tmp_path / name).write_text("def f(target_probs, draft_probs, draft_tokens, rng): ...\n")
    (tmp_path / "plan.toml").write_text(first_plan(tmp_path), encoding="utf-8")
    subjects = [part.options.get("subject") for part in load_plan(tmp_path / "plan.toml").parts]
    assert subjects[:2] == ["ver😀.py:f", "ä.py:f"] or subjects[:2] == ["ä.py:f", "ver😀.py:f"]
    assert not any("bad" in str(subject) for subject in subjects)
