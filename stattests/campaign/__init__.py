"""The sampling campaign: compiled or third-party sources, resumable, the same counts for any number of workers."""
