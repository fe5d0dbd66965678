"""llama.cpp's own server, as xllamacpp ships it: llama_server.py TARGET DRAFT PORT GAMMA [MODE [SLOTS]]. Run by its own
Python. MODE: matching or probabilistic."""

import sys
import time

import xllamacpp  # pyright: ignore[reportMissingImports]

target, draft, port, gamma, *mode = sys.argv[1:]
asked = xllamacpp.CommonParams()
slots = int(mode[1]) if mode[1:] else 4
asked.model.path, asked.port, asked.n_ctx, asked.n_parallel = target, int(port), 1024 * slots, slots
asked.cpuparams.n_threads = asked.cpuparams_batch.n_threads = 1
asked.warmup = asked.fit_params = False
if draft != "-":
    asked.speculative.types = [xllamacpp.common_speculative_type.COMMON_SPECULATIVE_TYPE_DRAFT_SIMPLE]
    drafting = asked.speculative.draft
    drafting.mparams.path, drafting.n_max, drafting.p_min = draft, int(gamma), 0.0
    drafting.probabilistic = mode[:1] == ["probabilistic"]
    drafting.cpuparams.n_threads = 1
server = xllamacpp.Server(asked)
while True:
    time.sleep(60)
