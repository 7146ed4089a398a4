"""States as the engine keeps them, recorded once: today's program has to plan nothing over any of them."""
