"""Many machines as one crawl: who has which tablet, and for how long. Fencing is the depot's (fyke.store.depot)."""
