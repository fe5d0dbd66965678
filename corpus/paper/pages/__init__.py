"""The paper's tables and figures with the measured numbers beside the paper's."""
