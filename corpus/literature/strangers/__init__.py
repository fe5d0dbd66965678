"""Rules after public code, one file each, judged as a stranger's: ``python -m draftproof audit MODULE:verify``."""
