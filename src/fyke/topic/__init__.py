"""Which page first: topics, a page and a link classifier, OPIC's cash, and the quality formula."""
