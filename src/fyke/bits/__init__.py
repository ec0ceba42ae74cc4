"""Arrays in, arrays out: kernels, bit streams, codes, hashing. Knows nothing of the web."""
