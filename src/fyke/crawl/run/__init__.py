"""The processes of a crawl: settings and plan, agents under a supervisor, signs of life, why it ended."""
