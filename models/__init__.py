"""Problems and models that p and q come from, and the loops that drive a pair. Imports from verifiers only."""
