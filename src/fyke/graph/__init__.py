"""Web graphs in WebGraph's BV form: read, written byte for byte, ranked and searched while compressed.

After Boldi and Vigna, "The WebGraph framework I: compression techniques", WWW 2004.
"""
