"""Simulated crawling: an archive and its graph replayed as a web, ordered by the live crawler's own policies."""
