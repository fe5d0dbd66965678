"""Limits on z3 by processor time, so that a busy machine never turns a proof into no evidence."""

import threading
import time

import z3


def check(solver: z3.Solver, seconds: float) -> z3.CheckSatResult:
    """The solver's answer; ``z3.unknown`` once this process has used that many seconds of processor time on it."""
    end, answered = time.process_time() + seconds, threading.Event()

    def interrupt_in_time() -> None:
        # A solver is one thread, so what is left of its processor time passes no sooner by the clock.
        while not answered.wait(max(end - time.process_time(), 0.01)):
            if time.process_time() >= end:
                solver.ctx.interrupt()

    watcher = threading.Thread(target=interrupt_in_time, daemon=True)
    watcher.start()
    try:
        return solver.check()
    finally:
        answered.set()
        watcher.join()
