"""What `draftproof prove` runs: the proofs by each method, one entry for a claim, an object and a size."""
