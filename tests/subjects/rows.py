"""A row of a survey, and the process that made it; new processes import it by name."""

import os


def made(name, seed):
    if seed < 0:
        os._exit(1)
    return {"product": name * seed, "process": os.getpid()}
