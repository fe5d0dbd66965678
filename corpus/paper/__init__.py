"""The paper's tables on pairs trained, distilled or downloaded, and what trains them."""
