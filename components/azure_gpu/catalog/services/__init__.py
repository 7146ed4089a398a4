"""What each service offers, rejects and has retired, as dated data, and the rules over it. One module or package per service.

A service that runs VM sizes has `size_problems(size, use, as_of)`, which yields the problems of that size in that service;
`catalog.offers` adds the general rules. Facts that no rule depends on are in `facts.csv` and `docs/facts.csv`.
"""
