"""Compressed archives of document summaries: lengths and term counts of a web snapshot, for random access.

After Orlandi and Vigna, "Compressed Collections for Simulated Crawling", SIGIR Forum 42(1), 2008.
docs/archive-format.md draws the bytes.
"""
