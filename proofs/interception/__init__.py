"""The exact law of an unmodified Python function, by standing between it and its random numbers.

What a law rests on. What remains is no part of a claim; where it has a size, that is in ``resolution`` (the bound that
stands in the evidence is the rule for rounding plus it, ``rounding_rule``), or in the report beside the verdict.

| assumption | what checks it | what remains |
|---|---|---|
| a function behaves with followed numbers as with plain ones | each path is walked again with plain numbers: in the middle of what it allows, at both ends, and at three scattered points; 2,000 real calls on three problems follow the measured law, or all laws are withdrawn | another behaviour on a share s of a path's numbers is missed by four points inside with probability (1 - s)^4 a path; by the real calls below their detection limit (``real_calls`` in the evidence) |
| a chain of operations is monotone | steps are admitted by name, and each threshold is checked at some 20 points, even ones and near both ends; whole numbers that wrap around are gone through one by one | a stretch that turns back within less than a twelfth of what was still possible, between the points |
| a threshold found once holds again | its key has the operations, every constant to the bit, type and shape; constants of unknown types are never alike | none known |
| a uniform is k / 2^bits, each k equally likely | the generators' code; a million draws of each type of torch, in the tests | the generator's own quality: period, correlation of draws |
| exponential noise is continuous, rounded to its type | bisection goes through the rounding | the generator's own steps: 2^-53, in single precision 2^-24 for each number, in the resolution; noise that is 0 |
| an argmax of scores is decided by their levels (``hazards``) | the point at which each score passes a level, on levels over the whole range, no gap above 1/32; gaps are halved where the odds change | that odds do not change within gaps whose halves agree: at most 1/64 in all for scores built against one race, whose levels other races move |
| the winner of two is again in proportion (a scan for the best) | the change of odds over all levels | that change, in the resolution; above 1e-3 there is no law |
| a score is undefined at an end of the noise only (0 / 0 at u = 0) | bisection from both ends, 13 points between | such a point is a path where NaN decides; where code raises its probability is in the resolution |
| whole weights are drawn as they are: torch.multinomial, random and NumPy multinomial, binomial | nothing: the weights are read as rationals | rounding in the library's kernel: V 2^-52 a draw in double precision; torch races p / Exp in the type of the weights, epsilon (1 - sum p^2), the share that the rule for rounding keeps for the last draw |
| choice(p=) of NumPy, random.choices | their own look-up is followed: rounded sums, 53 bits | none |
| a whole number (randint) is one of n, each equally likely | a path for each interval that decisions cut | generators that reject to be even are taken to be even |
| the values of a group of whole numbers are treated alike where code has them as plain ones, int(k) or an index (``groups``) | each path followed again with both ends and one more value of each group, the first with all of up to 128 (up to 4,096 for the first 20,000 calls) or with 64; the rehearsals; no structure: a path for each of up to 4,096 values | a share s of a larger group's values that is treated otherwise is missed with probability (1 - s)^64 a draft block; one that matters after further draws alone by the fewer points of later paths |
| a loop without a bound goes on as on the paths walked | nothing is assumed: the likeliest paths are walked until those left have less than 2^-46 | their probability, in the resolution; if it does not become small within 1,000 paths there is no law. On such code ``support`` speaks of the paths walked |
| a law is known well enough for a claim | its resolution: at most 9e-13 in float64, else 16 epsilon | above that there is no law, and the function is sampled |
| nothing else draws or decides: clocks, state, other generators | fingerprints of the global generators, repeated paths, the watch of a call (``watch``), what changes with each repetition (``kept``), the same calls on twins and in other surroundings, the real calls | randomness from elsewhere that moves a law by less than the real calls' limit |
"""
