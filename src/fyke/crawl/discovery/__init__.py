"""Pages that somebody lists or pushes: sitemaps, feeds, WebSub."""
