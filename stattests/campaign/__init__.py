"""The sampling campaign: compiled or foreign sources, in parallel, resumable, the same counts for any number of workers."""
