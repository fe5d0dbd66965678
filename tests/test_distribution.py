"""What is installed: the base install is enough for an audit; wheel and source distribution have what they must."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest

import draftproof
from draftproof.reports.commands.doctor import BASE, FOR, required

ROOT = Path(draftproof.__file__).parent


def names_of(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


@pytest.fixture(scope="module")
def base_only(tmp_path_factory):
    """The command line in an environment of its own, with the packages that the base install brings and no others."""
    folder, brought, wanted = tmp_path_factory.mktemp("base"), set(), list(required(BASE))
    while wanted:
        if (name := names_of(wanted.pop())) not in brought:
            brought.add(name)
            wanted += required(BASE, name)
    assert "numpy" in brought and not {"torch", "sympy", "z3-solver", "pytest", "numba"} & brought
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    site = next((folder / "venv").glob("lib/python*/site-packages"))
    for package in (*brought, "draftproof"):
        for top in {
            file.parts[0] for file in distribution(package).files or () if file.parts[0] not in ("..", "__pycache__")
        }:
            if "__editable__" not in top and not (site / top).exists():
                (site / top).symlink_to(distribution(package).locate_file(top))
    if not (site / "draftproof").exists():
        (site / "draftproof").symlink_to(ROOT)

    def run(*arguments, **variables):
        command = [folder / "venv" / "bin" / "python", "-m", "draftproof", *arguments]
        environment = os.environ | {"COLUMNS": "160"} | variables
        return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, timeout=3600)

    return run


PAPER = '{"vocabulary": 2, "gamma": 2, "target": ["1/3", "2/3"], "draft": ["2/3", "1/3"]}'


def test_the_base_install_is_enough_for_audits_laws_certificates_and_pages(base_only):
    for name, verdict, status in (("right", "not refuted", 0), ("wrong", "refuted", 1)):
        subject = f"{ROOT / 'examples' / name}.py:verify"
        words = ["audit", subject, "--problem", PAPER, "--dtype", "float64", "--json", f"{name}.json"]
        done = base_only(*words, *(["--html", "-"] if status else []))
        assert done.returncode == status, done.stdout + done.stderr
        assert verdict in (done.stdout + done.stderr).lower() and ("<svg" in done.stdout) == bool(status)
    assert "11/9" in base_only("law", "block", "--problem", PAPER).stdout
    assert base_only("certificate", "--problem", PAPER, "--json", "c.json").returncode == 0
    assert base_only("certificate", "--check", "c.json").returncode == 0
    assert base_only("report", "show", "wrong.json").returncode == 1
    assert "1 holds" in base_only("prove", "lemma-1", "--method", "enumeration").stdout


def test_what_the_base_install_lacks_is_said_in_one_line_with_the_extra(base_only):
    done = base_only("prove", "lemma-1")
    said = "draftproof: sympy and z3 not found; install draftproof[prove] (DP301)\n"
    assert (done.returncode, done.stderr) == (2, said)


def test_the_doctor_knows_every_extra_and_sees_what_is_missing(base_only):
    said = base_only("doctor").stdout
    stated = set(re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text().partition(
        "[project.optional-dependencies]")[2].partition("[project.scripts]")[0], re.M))  # fmt: skip
    assert stated - {"dev"} == set(FOR) - {BASE}
    assert "draftproof: installed" in said and "draftproof[torch]: lacks torch: pip install" in said


@pytest.fixture(scope="module")
def of_the_wheel(built, tmp_path_factory):
    """The command line of what the wheel holds."""
    folder = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(built[0]) as wheel:
        wheel.extractall(folder)

    def run(*arguments):
        command = [sys.executable, "-m", "draftproof", *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=os.environ | {"COLUMNS": "160"})

    run.folder = folder
    return run


def test_commands_of_other_distributions_say_in_one_line_what_to_install(of_the_wheel):
    code = (
        "from importlib import metadata; metadata.entry_points = lambda **_: []; from draftproof.reports.commands.main "
    )
    for name, folder in (("history", "corpus/engines"), ("tables", "corpus/paper")):
        words = [sys.executable, "-c", f"{code}import main; import sys; sys.argv[1:] = ['{name}']; main()"]
        done = subprocess.run(words, capture_output=True, text=True, cwd=of_the_wheel.folder, env=os.environ)
        said = f"draftproof: {name}: needs draftproof-{folder[7:]}; in a clone of draftproof: pip install ./{folder}"
        assert (done.returncode, done.stderr) == (2, f"{said} (DP301)\n")


def test_what_the_wheel_leaves_to_a_clone_says_so(of_the_wheel):
    done = of_the_wheel("prove", "lemma-1", "lemma-3", "--method", "coq")
    assert done.returncode == 0 and "2 no-evidence" in done.stdout
    said = " ".join(done.stdout.split())
    assert said.count("lemma-1, lemma-3 by coq: no-evidence: Coq's sources and what runs them are in a clone") == 1
    assert "Coq sources: not in the wheel, in a clone" in of_the_wheel("doctor").stdout


def test_completion_is_what_click_makes_for_the_shell():
    script = subprocess.run(
        [sys.executable, "-m", "draftproof", "completion", "bash"], capture_output=True, text=True, check=True
    ).stdout
    assert "complete -o nosort -F _draftproof_completion draftproof" in script


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the source distribution, built of a copy of what is under version control."""
    pytest.importorskip("build", reason="needs build: pip install draftproof[dev]")
    copy, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("built")
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, cwd=ROOT)
    if listed.returncode:
        pytest.skip("needs the files that git lists: this is no clone")
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes((ROOT / name).read_bytes())
    subprocess.run([sys.executable, "-m", "build", "--no-isolation", "-o", out, copy], check=True, capture_output=True)
    return next(out.glob("*.whl")), next(out.glob("*.tar.gz"))


def test_the_wheel_has_every_module_and_no_test(built):
    with zipfile.ZipFile(built[0]) as wheel:
        names = set(wheel.namelist())
        metadata = wheel.read(next(n for n in names if n.endswith(".dist-info/METADATA"))).decode()
    rooms = ("verifiers", "models", "proofs", "stattests", "reports")
    data = {"json", "jsonl", "j2", "css", "js"}
    for file in (f for room in rooms for f in (ROOT / room).rglob("*") if f.is_file()):
        if file.suffix == ".py" or file.suffix[1:] in data:
            assert f"draftproof/{file.relative_to(ROOT).as_posix()}" in names, file
    assert not [name for name in names if name.endswith((".v", ".md", "report.schema.json", "problem.schema.json"))]
    assert not [name for name in names if "tests/" in name and "stattests/" not in name]
    assert not [name for name in names if "corpus/" in name]
    assert {"draftproof/__main__.py", "draftproof/py.typed", "draftproof/include/draftproof_recording.h"} <= names
    for line in ("Project-URL: Homepage", "Classifier: Typing :: Typed", "Keywords: ", "Version: 0."):
        assert line in metadata


def test_the_source_distribution_has_documentation_examples_tests_and_constraints(built):
    with tarfile.open(built[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        "constraints.txt",
        "Makefile",
        "docs/index.md",
        "examples/right.py",
        "tests/conftest.py",
        "CHANGELOG.md",
        "proofs/mechanized/Block.v",
        "proofs/mechanized/Makefile",
        "corpus/coq/theorems.py",
        "corpus/engines/unpack.py",
        "docs/schemas/problem.schema.json",
        "docs/schemas/report.schema.json",
        "corpus/literature/statements.json",
        "corpus/site/engines_page.py",
        "corpus/site/engines.html.j2",
    } <= names


def test_the_version_is_the_same_wherever_it_stands():
    version, released = re.search(r"^## (\S+)(?: \((.+)\))?$", (ROOT / "CHANGELOG.md").read_text(), re.M).groups()
    cited = dict(re.findall(r"^(version|date-released): (.+)$", (ROOT / "CITATION.cff").read_text(), re.M))
    assert cited == {"version": draftproof.__version__, "date-released": released}
    assert version == draftproof.__version__
    used = re.findall(r"uses: draftproof/draftproof@(\S+)", (ROOT / "docs" / "ci.md").read_text())
    assert used == [f"v{draftproof.__version__}"]


def test_links_of_the_readme_lead_somewhere_on_a_package_index_too():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    home = re.search(r'Homepage = "(.+)"', (ROOT / "pyproject.toml").read_text())[1]
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links
    for link in links:
        place = re.sub(rf"^{re.escape(home)}/(blob|raw)/main/", "", link)
        assert place != link and (ROOT / place.partition("#")[0]).exists(), link


TYPED = """
from draftproof import Report, audit, law

reveal_type(audit("block"))
reveal_type(law("block", {}))
audit("block", qick=True)
report: Report = audit("block", quick=True, claims=("lossless",))
"""


@pytest.mark.long
def test_mypy_sees_the_types(built, tmp_path):
    pytest.importorskip("mypy", reason="needs mypy: pip install draftproof[dev]")
    with zipfile.ZipFile(built[0]) as wheel:
        wheel.extractall(tmp_path / "installed")
    (tmp_path / "mine.py").write_text(TYPED)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--follow-imports=silent", "--cache-dir", str(tmp_path / "cache"), "mine.py"],
        capture_output=True, text=True, cwd=tmp_path, env=os.environ | {"MYPYPATH": str(tmp_path / "installed")},
    )  # fmt: skip
    assert 'Revealed type is "draftproof.reports.audits.report.Report"' in done.stdout, done.stdout + done.stderr
    assert 'Unexpected keyword argument "qick"' in done.stdout
    assert "Found 1 error in 1 file" in done.stdout, done.stdout
