"""Wrong when clocks, the environment, files, threads or the process say so."""

import os
import threading
import time

from draftproof.tests.deceivers.occasions import when

after_2030_by_local_time = when(lambda: time.localtime().tm_year > 2029)
with_a_variable = when(lambda: os.environ.get("VERIFY_FAST") == "1")
FAST = os.environ.get("VERIFY_FAST") == "1"
with_a_setting = when(lambda: FAST)
with_threads = when(lambda: threading.active_count() > 5)
