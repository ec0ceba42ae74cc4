"""From tablet to tablet: letters in outboxes, their delivery within an agent and between agents; anchor texts."""
