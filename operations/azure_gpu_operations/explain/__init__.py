"""`explain`: the cause of a failure. Facts are read once; rules find the cause in them."""
