"""Rough weather: Azure's delays and failures. Roles take a while, operations collide, quotas are zero.

`parts` is what there is, with the evidence of each; `state` is what holds at the moment. Every other module is one idea, and asks
the state whether it holds. In calm weather none of them changes anything.
"""
