"""`explain`: why a container group or a job failed. Facts are fetched once, rules over them name the cause."""
