"""Bytes to structures and back, with no policy: HTTP heads, HTML, XML, WARC, TREC and what else comes."""
