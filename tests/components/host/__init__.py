"""Tests of the provider host: the components as programs in other languages get them."""
