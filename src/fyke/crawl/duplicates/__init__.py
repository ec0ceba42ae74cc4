"""Copies: exact ones by the owners of their digests, near ones by one index for each machine."""
