"""What papers and public code claim of their rules, each claim judged exactly: corpus/site/literature.md shows it.

In the clone and the source distribution, and no part of the wheel.
"""
