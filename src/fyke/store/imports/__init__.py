"""What is imported into a store: a module for each family of files; ``fyke.store.importing`` chooses and puts."""
