"""The main content of a page: its blocks, what each of them is, and how much it matters."""
