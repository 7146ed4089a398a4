"""What each service takes, refuses and has retired, as dated data, and the rules over it. One module or folder a service.

A service that runs VM sizes has `size_problems(size, use, as_of)`, which yields what speaks against that size in that service
alone; `catalog.offers` puts what holds everywhere beside it. Facts that no rule decides by are in `facts.csv`.
"""
