"""What a site says of itself and offers: robots.txt, links, scope, traps. Bytes and URLs in, decisions out."""
