"""Wrong when clocks, the environment, files, threads or the process say so."""

import os
import threading
import time

from draftproof.verifiers.zoo.building_blocks import answer, draw, token_by_token


def when(wrong):
    """Token verification that accepts everything when wrong(), asked in every call."""

    def verify(target, draft, tokens, rng):
        if wrong():
            return answer(tokens, draw(rng, target[-1], target[-1]))
        return token_by_token(target, draft, tokens, rng)

    return verify


after_2030_by_local_time = when(lambda: time.localtime().tm_year > 2029)
with_a_variable = when(lambda: os.environ.get("VERIFY_FAST") == "1")
FAST = os.environ.get("VERIFY_FAST") == "1"
with_a_setting = when(lambda: FAST)
with_threads = when(lambda: threading.active_count() > 5)
