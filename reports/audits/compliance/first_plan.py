"""A first plan, with comments: what is installed, and the verifiers and histories in a folder."""

import ast
import json
from pathlib import Path

from ....verifiers.adapters.registry import ADAPTERS, ENGINES
from ..nightly import DEFAULT_FILE
from .plan import FIELDS, SCOPE

HEAD = """# What has to be shown of a deployment, and what is to show it:
#
#     draftproof compliance run compliance.toml --out compliance
#
# Each [[part]] is run, or read, once; each [[requirement]] gets the verdict that the evidence of its parts gives. What
# the requirement names ({scope}) must be what the evidence speaks of: else
# it does not count, and the document says why. A requirement without evidence is open, never met.
#
# A finished part is kept, and valid, for the files that it names: its subject's, its problems', and files = [...], for
# what else its code imports or reads: files, folders, installed packages. What is not named can change unseen; the
# document says for which files each part is valid.
#
# Kinds of parts, and their fields:
{kinds}

[plan]
title = "{title}"
"""

LATER = """
# ---------------------------------------------------------------- for your deployment, to be filled in

# The loop that you run, on your models, as you run it:
#
# [[part]]
# id = "loop"
# kind = "e2e"
# target = "models/target"       # folders with checkpoints, or names of the Hub
# draft = "models/draft"
# verifier = "block"
# temperature = 0.7
# dtype = "bfloat16"
#
# [[requirement]]
# id = "L1"
# statement = "The emitted text follows the target's law at temperature 0.7 in bfloat16"
# claim = "lossless"
# parts = ["loop"]
# temperature = 0.7
# dtype = "bfloat16"
# detection_limit = 0.15         # samples that could not show a total variation of 0.15 leave it open
"""

CLAIMED = {
    "lossless": "The tokens that {name} emits follow the target's law{where}",
    "support": "No token that the target gives probability 0 is ever emitted by {name}{where}",
}


def first_plan(folder: Path) -> str:
    """Return a plan's text for what is installed and what a folder has. Nothing in the folder is run or imported."""
    kinds = "\n".join(f"#   {kind}: {', '.join(fields)}" for kind, fields in FIELDS.items())
    made = [HEAD.format(scope=", ".join(SCOPE), kinds=kinds, title="Speculative decoding: what was claimed and shown")]
    for number, subject in enumerate(_verifiers_in(folder), 1):
        made += [
            _part(f"own{number}", "audit", subject=subject, files=[subject.rpartition(":")[0]]),
            *_required(f"V{number}", f"own{number}", subject, ("float64",)),
        ]
    adapters = [name for name in ("transformers",) if not ADAPTERS[name].missing()]
    for name in adapters:
        made.append("\n# Without wide vocabularies, which take some minutes more; the document says so.")
        made.append(_part(name, "audit", subject=name, quick=True))
        made += _required("A", name, f"the verifier inside {name}", ("float32", "bfloat16"))
    for number, (name, engine) in enumerate(ENGINES.items(), 1):
        if not engine.missing():
            made.append(
                f"\n# {engine.source}, from outside, by samples: at best nothing is refuted, with a detection limit."
            )
            made.append(_part(f"{name}-texts", "engine", engine=name))
            statement = f"The text that {name} generates with a draft model follows the target's law, in float32"
            made.append(_requirement(f"E{number}", statement, "lossless", f"{name}-texts", dtype="float32"))
    absent = [f"{name} (draftproof[{engine.extra}])" for name, engine in ENGINES.items() if engine.missing()]
    if absent:
        made.append(f"\n# Engines that are not in this plan, since they are not installed: {', '.join(absent)}.")
    if (folder / DEFAULT_FILE).is_file():
        made.append(_part("nights", "nightly", db=DEFAULT_FILE))
        made.append(_requirement("N1", "No night of the regression raised an alarm", "lossless", "nights"))
    made.append(
        "\n# The rules that code is compared with: the proofs on record in this version (run = true: again, minutes)."
    )
    made.append(_part("rules", "proofs"))
    for number, (claim, statement) in enumerate(_RULES.items(), 1):
        made.append(_requirement(f"T{number}", statement, claim, "rules"))
    return "\n".join([*made, LATER])


_RULES = {
    "theorem-1": "The rule of block verification is lossless for every vocabulary and every length of draft",
    "theorem-2": "In one iteration no valid verifier accepts more tokens in expectation than block verification does",
}


def _required(letter: str, part: str, name: str, dtypes: tuple[str, ...]) -> list[str]:
    made = []
    for number, (claim, dtype) in enumerate(((c, d) for c in CLAIMED for d in dtypes), 1):
        statement = CLAIMED[claim].format(name=name, where=f", rows in {dtype}")
        made.append(_requirement(f"{letter}-{number}", statement, claim, part, dtype=dtype))
    return made


def _part(name: str, kind: str, **options: object) -> str:
    return _table("part", {"id": name, "kind": kind, **options})


def _requirement(name: str, statement: str, claim: str, part: str, **scope: str) -> str:
    return _table("requirement", {"id": name, "statement": statement, "claim": claim, "parts": [part], **scope})


def _table(kind: str, fields: dict[str, object]) -> str:
    """Return a table of TOML. Its texts are written as JSON writes them, which TOML reads the same way."""
    return "\n".join(
        [f"\n[[{kind}]]", *(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items())]
    )


def _verifiers_in(folder: Path) -> list[str]:
    """Return file.py:function for each function in a folder that takes the arguments of a verifier."""
    found = []
    for file in sorted(file for file in folder.glob("*.py") if file.name.isprintable()):
        try:
            body = ast.parse(file.read_text(encoding="utf-8")).body
        except (OSError, ValueError, SyntaxError, RecursionError):
            continue
        for node in body:
            if isinstance(node, ast.FunctionDef):
                names = [argument.arg for argument in node.args.args[:3]]
                if names == ["target_probs", "draft_probs", "draft_tokens"]:
                    found.append(f"{file.name}:{node.name}")
    return found
