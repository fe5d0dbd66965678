"""The files of a compliance run: a first plan, the page and its PDF, the folder and its attestation, and its check."""
