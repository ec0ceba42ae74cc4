"""The dashboard: pages on 127.0.0.1 that show a crawl and every document in all its versions (docs/dashboard.md)."""
