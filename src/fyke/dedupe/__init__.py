"""Copies: exact, by fingerprints, by simhash, by MinHash; one page at a time, or all pairs of a collection."""
