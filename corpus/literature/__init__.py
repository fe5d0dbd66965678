"""What papers and public code claim of their rules, each claim judged exactly: what corpus/site/literature.md is made of.

In the clone and the source distribution, and no part of the wheel.
"""
