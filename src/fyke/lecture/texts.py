"""The texts of the worked examples, as the notes print them; tests take them from here too."""

from __future__ import annotations

CROFT_ROBOTS = """User-agent: *
Disallow: /private/
Disallow: /confidential/
Disallow: /other/
Allow: /other/public/

User-agent: FavoredCrawler
Disallow:

Sitemap: http://mysite.com/sitemap.xml.gz
"""

MANNING_ROBOTS = "User-agent: *\nDisallow: /yoursite/temp/\n\nUser-agent: searchengine\nDisallow:\n"

HEAD_ANSWER = (
    b"HTTP/1.1 200 OK\r\nDate: Thu, 03 Apr 2008 05:17:54 GMT\r\nServer: Apache/2.0.52 (CentOS)\r\n"
    b'Last-Modified: Fri, 04 Jan 2008 15:28:39 GMT\r\nETag: "239c33-2576-2a2837c0"\r\nAccept-Ranges: bytes\r\n'
    b"Content-Length: 9590\r\nConnection: close\r\nContent-Type: text/html; charset=ISO-8859-1\r\n\r\n"
)

SITEMAP = b"""<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
  <url>
    <loc>http://www.company.com/</loc>
    <lastmod>2008-01-15</lastmod>
    <changefreq>monthly</changefreq>
    <priority>0.7</priority>
  </url>
  <url>
    <loc>http://www.company.com/items?item=truck</loc>
    <changefreq>weekly</changefreq>
  </url>
  <url>
    <loc>http://www.company.com/items?item=bicycle</loc>
    <changefreq>daily</changefreq>
  </url>
</urlset>
"""

FEED = """<?xml version="1.0"?>
<rss version="2.0">
  <channel>
    <title>Search Engine News</title>
    <link>http://www.search-engine-news.org/</link>
    <description>News about search engines.</description>
    <language>en-us</language>
    <pubDate>Tue, 19 Jun 2008 05:17:00 GMT</pubDate>
    <ttl>60</ttl>

    <item>
      <title>Upcoming SIGIR Conference</title>
      <link>http://www.sigir.org/conference</link>
      <description>The annual SIGIR conference is coming!
        Mark your calendars and check for cheap
        flights.</description>
      <pubDate>Tue, 05 Jun 2008 09:50:11 GMT</pubDate>
      <guid>http://search-engine-news.org#500</guid>
    </item>
    <item>
      <title>New Search Engine Textbook</title>
      <link>http://www.cs.umass.edu/search-book</link>
      <description>A new textbook about search engines
        will be published soon.</description>
      <pubDate>Tue, 05 Jun 2008 09:33:01 GMT</pubDate>
      <guid>http://search-engine-news.org#499</guid>
    </item>
  </channel>
</rss>
"""

TREC = b"""\
<DOC>
<DOCNO>WTX001-B01-10</DOCNO>
<DOCHDR>
http://www.example.com/test.html 204.244.59.33 19970101013145 text/html 440
HTTP/1.0 200 OK
Date: Wed, 01 Jan 1997 01:21:13 GMT
Server: Apache/1.0.3
Content-type: text/html
Content-length: 270
Last-modified: Mon, 25 Nov 1996 05:31:24 GMT
</DOCHDR>
<HTML>
<TITLE>Tropical Fish Store</TITLE>
Coming soon!
</HTML>
</DOC>
<DOC>
<DOCNO>WTX001-B01-109</DOCNO>
<DOCHDR>
http://www.example.com/fish.html 204.244.59.33 19970101013149 text/html 440
HTTP/1.0 200 OK
Date: Wed, 01 Jan 1997 01:21:19 GMT
Server: Apache/1.0.3
Content-type: text/html
Content-length: 270
Last-modified: Mon, 25 Nov 1996 05:31:24 GMT
</DOCHDR>
<HTML>
<TITLE>Fish Information</TITLE>
This page will soon contain interesting
information about tropical fish.
</HTML>
</DOC>
"""

SENTENCE = (
    "Tropical fish include fish found in tropical environments around the world, including both freshwater and "
    "salt water species."
)
SENTENCE_HASHES = [938, 664, 463, 822, 492, 798, 78, 969, 143, 236, 913, 908, 694, 553, 870, 779]
"""Of its sixteen 3-grams."""

WORD_HASHES = {
    "tropical": "01100001", "fish": "10101011", "include": "11100110", "found": "00011110",
    "environments": "00101101", "around": "10001011", "world": "00101010", "including": "11000000",
    "both": "10101110", "freshwater": "00111111", "salt": "10110101", "water": "00100101", "species": "11101110",
}  # fmt: skip
"""The words of the sentence without stopwords; the first two stand there twice."""

ROSE = "a rose is a rose is a rose"

COLUMNS = ([0, 1, 1, 0, 1, 0], [1, 0, 1, 0, 1, 1])
"""C₁ and C₂ of the matrix whose Jaccard coefficient is 2/5."""

PAGE = (
    b"<html><body><ul><li><a>Home</a></li><li><a>News</a></li></ul>"
    b"<p>The whale sharks were flown to <b>Atlanta</b> by air where they will live in a large tank of salt water</p>"
    b"<div><a>About</a></div><div><a>Terms</a></div></body></html>"
)
"""A page of ours in the manner of the notes' example: furniture, a paragraph, furniture."""

FILES: dict[str, bytes] = {
    "robots.txt": CROFT_ROBOTS.encode(),
    "sitemap.xml": SITEMAP,
    "feed.xml": FEED.encode(),
    "fish.trec": TREC,
    "fish.txt": SENTENCE.encode(),
    "page.html": PAGE,
}
"""The examples that are files, as ``fyke lecture --write`` names them."""
