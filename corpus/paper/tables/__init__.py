"""The paper's tables and figures, measured on a pair of models. Needs torch and transformers."""
