"""The sampling campaign: compiled or third-party sources, in parallel, resumable, the same counts for any number of workers."""
