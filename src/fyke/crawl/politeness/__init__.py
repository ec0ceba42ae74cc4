"""Who may be contacted, when, and by which rules: robots.txt, the gate, our own network."""
