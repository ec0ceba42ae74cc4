"""When again: what is learnt of changes, the budget of visits, and how fresh the collection is."""
