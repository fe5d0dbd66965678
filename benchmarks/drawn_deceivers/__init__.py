"""Wrong verifiers drawn by program, whose refutations ``benchmarks/deceivers.py`` counts; tests refute some of them."""
