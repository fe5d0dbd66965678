"""Fresh seeds of the servers' rows on the page of engines: server_seeds.py SEEDS.JSONL. Goes on where it was ended.

Each seed forges another pair, starts the server on it, and audits it with that seed.
"""

import random
import sys
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from draftproof.corpus.site.kept_rows import made_rows
from draftproof.corpus.site.survey import WHAT, seed_row
from draftproof.models.digests import EXAMINING, code_digest
from draftproof.models.forge import forge
from draftproof.models.problem import Problem, problem_from
from draftproof.models.store import Store
from draftproof.reports.audits.servers.audit import audit_server
from draftproof.reports.audits.servers.settings import ServerSettings
from draftproof.tests.reports.audits.servers.test_real_servers import LLAMA, SERVERS, started

TEXTS = {"llama.cpp-server-xllamacpp-2026.10.11549": 2_000, "mlx-lm-server-0.32.2": 150}
"""Of each kind of request; mlx-lm's server writes some twenty a second."""

SEEDS = 20


def pair_of(seed: int) -> Problem:
    """Four tokens, one of them impossible after one of the others, and two drafted ones."""
    draw = random.Random(f"server/{seed}")
    rows = [[draw.randint(2, 9) for _ in range(4)] for _ in range(6)]
    draft, start, *after = rows
    after[draw.randrange(4)][draw.randrange(4)] = 0
    start, draft, *after = ([f"{weight}/{sum(row)}" for weight in row] for row in (start, draft, *after))
    target = {"start": start, "after": {str(token): row for token, row in enumerate(after)}}
    return problem_from({"name": f"server-pair-{seed}", "vocabulary": 4, "gamma": 2, "target": target, "draft": draft})


def examined(name: str, seed: int) -> dict[str, Any]:
    """One row. Raises: RuntimeError if not all texts came, since they then show little."""
    with TemporaryDirectory() as folder:
        made = forge(pair_of(seed), Path(folder) / "pair", gguf=True)
        if name.startswith("llama.cpp"):  # drafts are kept where they equal what is sampled, or by their probability
            target, draft = (made.target.parent / f"{model}.gguf" for model in ("target", "draft"))
            mode = "matching" if seed % 2 else "probabilistic"
            words = [SERVERS / "llama" / "bin" / "python", LLAMA, target, draft, "PORT", "2", mode]
        else:
            target = made.target
            words = [SERVERS / "mlx" / "bin" / "mlx_lm.server", "--model", target, "--draft-model", made.draft,
                     "--num-draft-tokens", "2", "--host", "127.0.0.1", "--port", "PORT"]  # fmt: skip
        with started(words, Path(folder)) as url:
            report = audit_server(url, str(target), ServerSettings(samples=TEXTS[name]), seed)
    if report.failure:
        raise RuntimeError(f"{name}, seed {seed}: {report.failure['message']}")
    return seed_row(report)


if __name__ == "__main__":
    with Store(sys.argv[1], WHAT, valid_for=code_digest(EXAMINING)) as store:
        for (name, seed), row in made_rows(store, [(name, s) for s in range(1, SEEDS) for name in TEXTS], examined):
            print(f"{datetime.now():%H:%M} {name}, seed {seed}: {row['verdict']}, {row['limits']}", flush=True)
