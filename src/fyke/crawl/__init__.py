"""The crawl: where the rooms are joined into the loop of the textbook, one agent per core."""
