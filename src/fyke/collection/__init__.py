"""Collections: an archive of summaries and its web graph in one folder, from stores, WARC or JSON lines."""
