"""The sampling campaign: chunks of samples, resumable, the same counts for any number of workers."""
