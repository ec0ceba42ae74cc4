"""What is to be visited, on disk: the queues of the tablets, and the seen-set."""
