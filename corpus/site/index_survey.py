"""The page of packages that call themselves lossless speculative decoding: each with verdict, mode and one command.

``python -m draftproof.corpus.site.index_survey NAME ...`` fetches the newest wheel of each package (without what
it depends on), unpacks it, audits its modes and keeps a row of each; without names it writes index-survey.md here
from the rows. What is foreign runs in the child process of an audit alone, which has the rights of who starts it.
"""

import json
import os
import subprocess
import sys
import tempfile
from datetime import date
from email.parser import HeaderParser
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import msgspec

FOLDER = Path(__file__).with_name("index")
PAGE, ROWS, PACKAGES = FOLDER.with_name("index-survey.md"), FOLDER / "rows.jsonl", FOLDER / "packages.json"


class PackageMode(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One way in which a package verifies.

    mode: in words. subject: what is audited, a file of corpus/site/index or an adapter's name. options: of the audit.
    reported: whether a refutation was reported to its maintainers, and how that is known.
    mend: what would make it right, in words. edits: that, as lines before and after.
    """

    mode: str
    subject: str
    options: tuple[str, ...] = ("--dtype", "float32")
    reported: str = ""
    mend: str = ""
    edits: tuple[tuple[str, str], ...] = ()

    @property
    def mended(self) -> "PackageMode":
        """The same with its mend: a row of its own."""
        return msgspec.structs.replace(self, mode=f"{self.mode}, mended")


class Package(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A package of the index.

    says: what it calls itself, of its own words. modes: that are audited. why: not all of it, or nothing, is run.
    version, day: of the release that was read, where nothing is run.
    """

    package: str
    says: str
    modes: tuple[PackageMode, ...] = ()
    why: str = ""
    version: str = ""
    day: str = ""


class IndexRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of one mode.

    problems: that were decided. deviation: the largest total variation. refuted: claims, each with a problem.
    witness: of the first refutation of the law, or of another claim. examined: the day. failure: it could not be run.
    """

    package: str
    version: str
    mode: str
    verdict: str
    problems: int
    deviation: float | None
    refuted: dict[str, str]
    witness: dict[str, Any] | None
    examined: str
    failure: str = ""


def packages() -> list[Package]:
    """Return all packages of the page, in its order."""
    return msgspec.json.decode(PACKAGES.read_bytes(), type=list[Package])


def rows() -> dict[tuple[str, str], IndexRow]:
    """Return the last row of each package and mode."""
    lines = ROWS.read_text(encoding="utf-8").splitlines() if ROWS.is_file() else []
    kept = [msgspec.json.decode(line, type=IndexRow) for line in lines]
    return {(row.package, row.mode): row for row in kept}


def unpacked(package: str) -> tuple[Path, str]:
    """Return the folder of a package, fetched unless it is there, and its version."""
    folder = Path(os.environ.get("DRAFTPROOF_INDEX") or ".venv-index").absolute() / package
    if not any(folder.glob("*.dist-info")):
        with tempfile.TemporaryDirectory() as made:
            pip = [sys.executable, "-m", "pip", "--quiet", "download", "--no-deps", "--only-binary", ":all:"]
            subprocess.run([*pip, "--dest", made, package], check=True)
            ZipFile(next(Path(made).glob("*.whl"))).extractall(folder)
    metadata = next(folder.glob("*.dist-info")) / "METADATA"
    return folder, HeaderParser().parsestr(metadata.read_text(encoding="utf-8"), headersonly=True)["Version"]


def audited(package: Package, mode: PackageMode) -> IndexRow:
    """Return the row of a mode, by a quick audit in a process of its own."""
    folder, version = unpacked(package.package)
    engines = os.environ | {"DRAFTPROOF_INDEX": str(folder.parent), "DRAFTPROOF_ENGINES": str(folder.parent)}
    if mode.mode.endswith(", mended"):
        engines["DRAFTPROOF_MEND"] = json.dumps(mode.edits)
    with tempfile.TemporaryDirectory() as made:
        report = Path(made, "report.json")
        asked = [sys.executable, "-m", "draftproof", "audit", mode.subject, "--quick", *mode.options]
        run = subprocess.run([*asked, "--json", str(report)], env=engines, capture_output=True, text=True)
        if not report.is_file():
            raise SystemExit(f"{package.package}: {run.stderr.strip()[-500:]}")
        return row_of(package.package, version, mode.mode, json.loads(report.read_bytes()))


def row_of(package: str, version: str, mode: str, report: dict[str, Any]) -> IndexRow:
    """Return what the page says of a report."""
    laws = [e for e in report["evidence"] if e["claim"] == "lossless"]
    measured = [float(e["total_variation"]) for e in laws if e["total_variation"] is not None]
    refuted: dict[str, str] = {}
    witness = None
    for e in sorted((e for e in report["evidence"] if e["verdict"] == "refuted"), key=_size):
        if e["claim"] != "optimal":
            refuted.setdefault(e["claim"], e["problem"])
            if e["witness"] and (witness is None or (e["claim"] == "lossless" and witness["claim"] != "lossless")):
                witness = {"claim": e["claim"], "problem": e["problem"], **e["witness"]}
    failure = (report.get("failure") or {}).get("message", "")
    return IndexRow(
        package, version, mode, report["verdict"], len({e["problem"] for e in laws if e["verdict"] != "no-evidence"}),
        max(measured, default=None), refuted, witness, date.today().isoformat(), failure,
    )  # fmt: skip


def _size(evidence: dict[str, Any]) -> tuple[bool, int]:
    """Shrunk problems before others, short names before long ones."""
    return "shrunk" not in (evidence["problem"] or ""), len(evidence["problem"] or "")


HEAD = """\
# Packages that call themselves lossless

Packages of the Python package index whose summary or README speaks of speculative decoding, each in its newest
release. A verdict comes from a run: `draftproof audit --quick` of the function, or of the lines around it, through a
wrapper of a few lines in `corpus/site/index/`, in float32 unless the wrapper is of lists or of NumPy. *Not refuted*
speaks of the problems that were tried and of no others, nor of the model, cache and server around the function. Of
the rest the page says why there was no run, and no verdict.

`python -m draftproof.corpus.site.index_survey NAME` fetches a package's wheel, unpacks it into
`$DRAFTPROOF_INDEX` (`.venv-index`) and audits its modes again: the one command of each row; `einops`, `beartype` and
`transformers` have to be installed for those that import them. Audited code runs with your rights. Without a name it
writes this page from the rows in `corpus/site/index/`.
"""


def sentence(row: IndexRow) -> str:
    """Return the verdict of a row in words."""
    also = "; ".join(f"{claim} on `{problem}`" for claim, problem in row.refuted.items())
    if row.verdict == "refuted":
        return f"**refuted**: {also}"
    if row.verdict == "error":
        return f"could not be audited: {row.failure}"
    off = "" if row.deviation is None else f" (deviates by at most {row.deviation:.1g})"
    said = "not refuted" if row.verdict == "holds" else "not decided"
    return f"{said} on {row.problems} problems{off}" + (f"; refuted: {also}" if also else "")


def page() -> str:
    """Return the page, from the packages and the rows."""
    known, run, audits = packages(), rows(), [HEAD]
    modes = [(package, mode, run.get((package.package, mode.mode))) for package in known for mode in package.modes]
    done = [(package, mode, row) for package, mode, row in modes if row]
    refuted = [one for one in done if one[2].verdict == "refuted"]
    audits.append(
        f"{len(known)} packages; {len(done)} modes of {len({one[0].package for one in done})} were run, "
        f"{len(refuted)} of them refuted.\n\n| package | version | mode | verdict | examined |\n|---|---|---|---|---|"
    )
    audits += [f"| {one.package} | {row.version} | {mode.mode} | {sentence(row)} | {row.examined} |"
               for one, mode, row in done]  # fmt: skip
    for package, mode, row in (one for one in done if one[2].refuted):
        audits.append(f"\n## {package.package}: {mode.mode}\n\nIt says: *{package.says}*.")
        if row.witness:
            audits.append(_witness(row.witness))
        show = FOLDER / f"show_{package.package.replace('-', '_')}.py"
        if show.is_file():
            audits.append(f"Without this project:\n\n```python\n{show.read_text(encoding='utf-8')}```\n")
        mended = run.get((package.package, mode.mended.mode))
        if mended:
            audits.append(f"{mode.mend} Mended so and audited again: {sentence(mended)}.\n")
        audits.append(mode.reported or "Whether it was reported was not looked up, and we reported it to nobody.")
    audits.append("\n## Not run\n\n| package | version | day | it says | why |\n|---|---|---|---|---|")
    audits += [f"| {one.package} | {one.version} | {one.day} | {one.says} | {one.why} |" for one in known if one.why]
    waiting = [f"{package.package} ({mode.mode})" for package, mode, row in modes if not row]
    if waiting:
        audits.append(f"\nA wrapper is there and was not run to its end yet: {', '.join(waiting)}.")
    return "\n".join(audits) + "\n"


def _witness(witness: dict[str, Any]) -> str:
    problem = witness["problem"]
    rows_of = f", target {_row(problem['target'])}, draft {_row(problem['draft'])}" if "target" in problem else ""
    return (
        f"Smallest witness, `{problem['name']}` (V = {problem['vocabulary']}, gamma = {problem['gamma']}{rows_of}): "
        f"`{witness['sequence']}` is expected with probability {witness['expected']} and comes with "
        f"{witness['observed']}.\n"
    )


def _row(rows_given: Any) -> str:
    return ", ".join(rows_given) if isinstance(rows_given, list) else "by context"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        chosen = next(package for package in packages() if package.package == name)
        for one in [each for mode in chosen.modes for each in (mode, *[mode.mended] * bool(mode.edits))]:
            row = audited(chosen, one)
            with ROWS.open("a", encoding="utf-8") as file:
                file.write(msgspec.json.encode(row).decode() + "\n")
            print(row.package, row.mode, row.verdict, row.refuted, row.failure, flush=True)
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)
