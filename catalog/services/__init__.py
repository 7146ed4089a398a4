"""One module a service: what it takes, refuses and has retired, as dated data, and the rules over it.

A service that runs VM sizes has `size_problems(size, use, as_of)`, which yields what speaks against that size in that service
alone; `catalog.offers` puts what holds everywhere beside it.
"""
