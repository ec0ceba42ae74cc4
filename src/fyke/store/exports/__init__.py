"""What a store is exported to: a module for each family of files; ``fyke.store.exporting`` chooses."""
