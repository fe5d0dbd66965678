"""Token, block and greedy block verification on tensors, a batch at a time, on CPU and CUDA. Needs torch."""
