"""Pages that no author would write on purpose, by category: (category, Content-Type, bytes). What they link
to is what a browser says (browser_links.py); nothing here knows the answers."""
T = "text/html"


def both(text):
    return text.encode() if isinstance(text, str) else text


def pages():
    for category, content_type, cases in CATEGORIES:
        for case in cases:
            yield category, content_type, both(case)
    yield from encodings()
    yield from combined()


UNCLOSED = [
    "<a href=1>x<a href=2>y<p><a href='3", "<a href=1", '<a href="1>x</a><a href=2>y</a>', "<a href=1><b><i><a href=2></a>",
    "<table><a href=1><tr><td><a href=2></table><a href=3>", "<a href=1 <a href=2>", "<a href='1'href='2'id=x>",
    '<a href="1"b"c"href=2>', "<a/href=1/>x", "<a / href=1>", "<a\nhref\n=\n1\n>", "<a href>x</a><a href=>y</a>", "<a =href=1>",
    "<a href==1>", "<a href=1\t\f\r\ntitle=x>", '<a "href=1>', "<a href='a\nb'>", "<a href='a\tb'>", "< a href=1>", "<a\0href=1>",
    "</a href=1><a href=2>", "<a href=1></a/><a href=2/>", "<A HREF=1><a HrEf=2>", "<ahref=1><a:b href=2><a-b href=3>",
    "<a href=`1`>", "<a href=1`2>", "<a href=a<b>", "<a href='1' href>", "<a x=y href='1'", "<p<a href=1>", "<<a href=1>>",
    "<!a href=1><a href=2>", "<?a href=1><a href=2>", "</ a href=1><a href=2>", "</><a href=1>", "<a href=1><", "<a href=1></",
    "<a href=1><!", "<a href=1><!-", "<a href=1><!--", "<a href=1></a", "<a href='1' /", "<a href='1'/ >", "<br/><a/><a href=1>",
    "<area href=1><area shape=poly href=' 2 '>", "<a href=1></p><a href=2></br><a href=3>", "<isindex><a href=1>",
    "<select><a href=1><option><a href=2></select><a href=3>", "<select><select><a href=1>", "<option><a href=1><optgroup><a href=2>",
    "<button><a href=1><button><a href=2>", "<nobr><a href=1><nobr><a href=2>", "<form><a href=1><form><a href=2></form><a href=3>",
    "<dd><a href=1><dt><a href=2><li><a href=3>", "<a href=1><a href=2><a href=3></a></a></a>", "<h1><a href=1><h2><a href=2></h1>",
    "<caption><a href=1><col><a href=2>", "<table><caption><a href=1><tbody><a href=2><tr><a href=3><td><a href=4>",
    "<body><a href=1></body><a href=2></html><a href=3><!-- --><a href=4>", "<html><head><a href=1><head><a href=2><body background=3><a href=4>",
]
NUL = [
    b"<a href=1\0002>", b"<a\0 href=1><a href=2>", b"<a hr\0ef=1><a href=2>", b"\0<a href=1>", b"<a href='\0'>", b"<title>\0</title><a href=1>",
    b"<script>\0</script><a href=1>", b"<svg>\0<a href=1></svg>", b"<textarea>\0</textarea\0><a href=1></textarea><a href=2>", b"<!--\0--><a href=1>",
    b"<a href=1>\0</a\0><a href=2>", b"<plaintext\0><a href=1>", b"<a href=\0>", b"<a href=a&\0amp;b>", b"<table>\0<a href=1></table>", b"<frameset>\0<frame src=1></frameset>",
]
DEEP = [
    "<div>" * 600 + "<a href=1>", "<b>" * 700 + "<a href=1>", "<a href=1>" + "<font>" * 300 + "<p><a href=2>", "<svg>" * 200 + "<a href=1>",
    "<table>" * 100 + "<a href=1>", "<table><tr><td>" * 80 + "<a href=1>", "<template>" * 50 + "<a href=1>" + "</template>" * 50 + "<a href=2>",
    "<ul><li>" * 300 + "<a href=1>", "<math><mi>" * 50 + "<a href=1>", "<svg><foreignObject>" * 60 + "<a href=1>", "<object>" * 200 + "<a href=1>",
    "<p>" * 2000 + "<a href=1>", "<select>" * 99 + "<a href=1>", "<a href=1>" * 500, "</p>" * 500 + "<a href=1>", "<span>" * 511 + "<a href=1>", "<i>" * 513 + "<a href=1><svg><a href=2>",
]
RAW = [
    "<script><a href=1></script><a href=2>", "<script><!--<a href=1></script><a href=2>", "<script><!--<script><a href=1></script><a href=2></script><a href=3>",
    "<script><!--<script></script>--><a href=1></script><a href=2>", "<script><!--<script </script><a href=1>--></script><a href=2>",
    "<script><!-- --!><a href=1></script><a href=2>", "<script></scripty></script/><a href=1>", "<script></script\n><a href=1>", "<script></ script></script x=y><a href=1>",
    "<script>x</script", "<script src=1><script src=2></script><script src=3>", "<style><a href=1></style><a href=2>", "<style><!--</style><a href=1>--></style><a href=2>",
    "<style></style/><a href=1>", "<style></STYLE ><a href=1>", "<textarea><a href=1></textarea><a href=2>", "<textarea></textareas></textarea><a href=1>",
    "<textarea><!--</textarea>--><a href=1>", "<title><a href=1></title><a href=2>", "<title><!--</title><a href=1>", "<title>x<title><a href=1></title><a href=2>",
    "<xmp><a href=1></xmp><a href=2>", "<xmp><xmp></xmp><a href=1></xmp><a href=2>", "<noframes><a href=1></noframes><a href=2>", "<noembed><a href=1></noembed><a href=2>",
    "<iframe src=1><a href=2></iframe><a href=3>", "<iframe src=1/><a href=2>", "<plaintext><a href=1></plaintext><a href=2>", "<a href=0><plaintext><a href=1>",
    "<noscript><a href=1></noscript><a href=2>", "<head><noscript><link href=1><a href=2></noscript><a href=3>", "<noscript><!--</noscript><a href=1>--><a href=2>",
    "<noscript><style></noscript><a href=1></style><a href=2>", "<listing><a href=1></listing>", "<pre>\n<a href=1></pre>", "<template><a href=1></template><a href=2>",
    "<template><script></template></script><a href=1></template><a href=2>", "<template></div></table><a href=1></template><a href=2>", "<table><template><a href=1></template><a href=2></table>",
    "<head><template><base href=/t/></template><base href=/b/></head><a href=1>", "<template><svg><template></template><a href=1></template><a href=2>",
    "<div><template><td></div><a href=1></template><a href=2>", "<frameset><noframes><a href=1></noframes></frameset>", "<select><script></select></script><a href=1>",
    "<svg><script><a href=1></script></svg><a href=2>", "<svg><style><a href=1></style></svg><a href=2>", "<svg><title><a href=1></title></svg><a href=2>", "<math><script><a href=1></script><a href=2>",
    "<svg><textarea><a href=1></textarea></svg><a href=2>", "<svg><xmp><a href=1></xmp><a href=2>", "<svg><plaintext><a href=1>", "<svg><iframe src=1><a href=2></iframe></svg><a href=3>",
]
COMMENTS = [
    "<!--><a href=1>--><a href=2>", "<!---><a href=1>--><a href=2>", "<!--a--!><a href=1>--><a href=2>", "<!--a-- ><a href=1>--><a href=2>", "<!--a--->b<a href=1>-->",
    "<!-- <!-- --><a href=1>--><a href=2>", "<!--<!--><a href=1>-->", "<!-- a -- b --><a href=1>", "<![CDATA[<a href=1>]]><a href=2>", "<svg><![CDATA[<a href=1>]]><a href=2>",
    "<svg><![CDATA[<a href=1>]]]]><a href=2>", "<svg><desc><![CDATA[<a href=1>]]><a href=2>", "<!DOCTYPE html><a href=1><!DOCTYPE x><a href=2>", "<!DOCTYPE 'a>b'><a href=1>",
    "<!DOCTYPE html PUBLIC \"a>b\" ><a href=1>", "<!ELEMENT a (b)><a href=1>", "<?php echo '>' ?><a href=1>", "<?xml version='1.0'?><a href=1>", "<!--\n--\n><a href=1>\n-->", "<!-- -><a href=1>-->",
    "<!--[if IE]><a href=1><![endif]--><a href=2>", "<![if !IE]><a href=1><![endif]>", "<math><mtext><![CDATA[<a href=1>]]><a href=2>", "<!--a--!", "<svg><![CDATA[<a href=1>",
]
FOREIGN = [
    "<svg><a href=1></a></svg><a href=2>", "<svg><a xlink:href=1></a><a href=2 xlink:href=3>", "<svg><image href=1 /><image xlink:href=2 /><use href=3 /><use href=#x />", "<svg><A HREF=1>",
    "<svg><foreignObject><a href=1></foreignObject><a href=2></svg>", "<svg><desc><a href=1></desc></svg>", "<svg><title><img src=1></title></svg>", "<svg><p><a href=1>", "<svg><div><a href=1></div></svg>",
    "<svg><font color=red><a href=1>", "<svg><font><a href=1></font></svg>", "<math><a href=1></math><a href=2>", "<math><mi><a href=1></mi><a href=2></math>", "<math><annotation-xml><a href=1>",
    "<math><annotation-xml encoding=text/html><a href=1>", "<math><annotation-xml encoding='application/xhtml+xml'><img src=1>", "<math><annotation-xml encoding=TEXT/HTML><svg><a href=1>",
    "<math><annotation-xml><svg><a href=1></svg><a href=2>", "<math><mglyph><a href=1>", "<math><mi><mglyph><a href=1>", "<svg><svg:a href=1><a href=2>", "<svg></p><a href=1>", "<svg></br><a href=1>",
    "<svg><g></svg><a href=1>", "<svg><path></g></path></svg></svg><a href=1>", "<svg/><a href=1>", "<svg /><img src=1>", "<svg><script href=1></script><script xlink:href=2 />", "<svg><img src=1><a href=2>",
    "<svg><foreignobject><p><svg><a href=1></p><a href=2>", "<table><svg><a href=1></svg><tr><td><math><a href=2>", "<svg><table><a href=1>", "<p><svg></p><a href=1>", "<svg><a><a href=1><p><a href=2>",
    "<svg><image src=1></svg><image src=2>", "<image src=1 href=2>", "<svg><style>@import 'x';<a href=1></style><a href=2>", "<svg><use xlink:href='http://h/x.svg#y'/>", "<math xlink:href=1><mi xlink:href=2>", "<math href=1>",
    "<svg><feImage href=1/><pattern href=2/>", "<svg><a xLink:href=1>", "<svg><a href=''><a href='#'>", "<svg><view><a href=1></view>", "<svg><select><a href=1></select>", "<select><svg><a href=1></select><a href=2>",
]
BASES = [
    "<base href=/b/><a href=1>", "<a href=1><base href=/b/><a href=2>", "<base><base href=/b/><a href=1>", "<base target=x><base href=/b/><base href=/c/><a href=1>", "<base href=''><a href=1>",
    "<base href='http://other.test/x/'><a href=1><a href=?q><a href=//y><a href=/z>", "<base href=mailto:x><a href=1>", "<base href=data:text/plain,><a href=1>", "<base href='javascript:1'><a href=1>", "<base href='about:blank'><a href=1>",
    "<base href='http://[x'><a href=1>", "<base href='http://[x'><base href=/c/><a href=1>", "<body><p><base href=/b/><a href=1>", "<svg><base href=/b/></svg><a href=1>", "<table><base href=/b/></table><a href=1>", "<template><base href=/b/></template><a href=1>",
    "<noscript><base href=/b/></noscript><a href=1>", "<title><base href=/b/></title><a href=1>", "<textarea><base href=/b/></textarea><a href=1>", "<!--<base href=/b/>--><a href=1>", "<frameset><base href=/b/><frame src=1></frameset>", "<base href=' /b/ '><a href=1>",
    "<base href='/b/\n'><a href=1>", "<base href='//x.test'><a href=1><a href=..>", "<base href=b><a href=1><a href=../2>", "<base href='?x'><a href=1><a href=''>", "<base href='#x'><a href=1>", "<base href='HTTP:b/'><a href=1>", "<base href='https:b/'><a href=1>", "<base href='ftp://f.test/'><a href=1>",
    "<select><base href=/b/></select><a href=1>", "<svg><foreignObject><base href=/b/></foreignObject></svg><a href=1>", "<base href='blob:x'><a href=1>", "<base href='file:///x/'><a href=1>", "<meta charset=koi8-r><base href='/\xd0\xb6/'><a href=?\xd0\xb6>",
]
ENTITIES = [
    "<a href=a&amp;b><a href=a&ampb><a href=a&amp=b><a href=a&amp><a href=a&AMPb>", "<a href=a&copy><a href=a&copy=1><a href=a&copyx><a href='a&copy;'><a href='a&copy '>", "<a href=a&notit;b><a href=a&notin;b><a href=a&not>", "<a href=a&lt><a href=a&lt=><a href=a&ltx><a href='&lt;'>",
    "<a href=a&#65><a href=a&#65b><a href=a&#x41;><a href=a&#X41g><a href=a&#><a href=a&#x><a href=a&#;>", "<a href=a&#0;><a href=a&#128;><a href=a&#150><a href=a&#xD800;><a href=a&#x110000;><a href=a&#99999999999;>", "<a href=a&#x80;b><a href='a&#10;b'><a href='a&#9;b'><a href='&#32;1'>", "<a href=?a=1&region=2&copy=3&para=4&sect=5&times=6>",
    "<a href=?x&lang=1><a href=?x&lang;1>", "<a href=&#106avascript:1><a href=&#x68ttp://x/>", "<a href=a&&amp;><a href=&><a href=&amp>", "<a href=a&NotEqualTilde;><a href=a&bne;><a href=a&nvlt;>", "<a href='a&Aacute'><a href='a&Aacuteb'><a href='a&aacute='>", "<a href=&Tab;1><a href=&NewLine;2>", "<a &#104;ref=1><a href=2>",
    "<a href=a&CounterClockwiseContourIntegral;b><a href=a&CounterClockwiseContourIntegra;>", "<a href=a&ThickSpace;><a href=a&ZeroWidthSpace;>", "<svg><a href=a&amp;b xlink:href=c&ampd></svg>", "<a href='&quot;&apos;&lsquo;'>", "<a href=&sol;x><a href=&colon;><a href=http&colon;&sol;&sol;e.test&sol;>",
]
URLS = [
    "<a href=' 1 '><a href='\t2\n'><a href='\f3\r'><a href='\v4'><a href='\xa05'>", "<a href='h\nttp://x.test/'><a href='http://x.\ttest/'>", "<a href='\\a\\b'><a href='http:\\\\x.test\\y'><a href='http:/x.test/'><a href='http:x'>", "<a href='//x.test:80/'><a href='//x.test:443/'><a href='//x.test:0'><a href='//x.test:65536'>",
    "<a href='//1.2.3/'><a href='//0x7f.1/'><a href='//256.256.256.256/'><a href='//1.2.3.4.5/'>", "<a href='//[::1]/'><a href='//[::1%25x]/'><a href='//[1:2:3:4:5:6:7:8]:81'>", "<a href='//EXAMPLE.test/%41%5a%zz'><a href='//ex%41mple.test'><a href='//a b.test'><a href='//a%20b.test'>", "<a href='//b\u00fccher.test/'><a href='//xn--bcher-kva.test/'><a href='//\uff45x.test'><a href='//xn--a'>",
    "<a href='//user:pw@x.test/'><a href='//u@v@x.test/'><a href='//:@x.test/'>", "<a href='?a b\"c<d>e`f{g}|h^i'><a href='a b\"c<d>e`f{g}|h^i'>", "<a href='../../../../x'><a href='./././y'><a href='a/../b/./c/..'><a href='%2e%2e/x'><a href='.%2E/y'>", "<a href='?'><a href='#'><a href='?#'><a href='.'><a href='..'><a href=';x=y'>",
    "<a href='javascript:x'><a href='mailto:a@b'><a href='tel:1'><a href='data:,x'><a href='ftp://x/'><a href='HTTPS://X/'>", "<a href='ht tp://x/'><a href='1http://x/'><a href='-x:y'><a href='x:y'><a href='c:/d'>", "<a href='\u00e9?\u00e9'><a href='\U0001f4a9'>", "<a href='http://'><a href='http:///x'><a href='http:////x.test'><a href='http://?x'>",
    "<a href='///x.test/y'><a href='////x.test'><a href='/\\\\x.test'><a href='\\\\\\x.test'>", "<a href='//x.test.'><a href='//x..test'><a href='//.test'><a href='//x_y.test'><a href='//x.test%'>", "<a href='" + "a/" * 400 + "'><a href='?" + "b" * 900 + "'>", "<a href='//x.test\u3002y/'><a href='//\u00df.test'><a href='//\u0130.test'>",
]
REFRESH = ["<meta http-equiv=refresh content='%s'>" % c for c in (
    "0;url=1", "0;URL=1", "0; url = 1", "0;url='1'", '0;url="1"', "0;1", "0,1", "0 1", "0 url=1", "0", "", ";url=1", "url=1", "-1;url=1", "+1;url=1", "1.5;url=1", ".5;url=1", "1..5;url=1", "5x;url=1", "0;url=", "0;url", "0;urll=1", "0;ur=1",
    " 0 ; url=1", "0;;url=1", "0,;url=1", "0;,url=1", "0;url=&quot;1", "0;url=&quot;1&quot;2", "0;url= 1 ", "0\n;\nurl\n=\n1", "0;url=1;2", "0;url=&#39;1", "99999999999999;url=1", "0;\tUrL\f=1", "0;url==1", "0; http://x.test/", "0;u=1", "0url=1", "0 ;url='1\"2'", "0;'1'", "0;'1")] + [
    "<meta http-equiv=' refresh' content='0;url=1'>", "<meta http-equiv=REFRESH CONTENT='0;url=1'>", "<body><p><meta http-equiv=refresh content='0;url=1'>", "<meta name=refresh content='0;url=1'>", "<meta content='0;url=1' http-equiv=refresh><base href=/b/>",
    "<noscript><meta http-equiv=refresh content='0;url=1'></noscript>", "<svg><meta http-equiv=refresh content='0;url=1'></svg>", "<template><meta http-equiv=refresh content='0;url=1'></template>",
]
SRCSETS = ["<img srcset='%s'>" % s for s in (
    "1", "1 1x, 2 2x", "1 1x,2 2x", "1,2", "1, 2", ",1,,2", "1,", "1,,", ",", "", " 1 ", "1 100w, 2 (a,b) 3", "1 (a, 2 3x", "1 1x 2x, 2", "1 -1x, 2", "1 1.5x, 2 1e3x", "1 1X, 2", "data:,x 1x, 2", "1\n1x\n,\n2", "1 w, 2", "1 1w 1h, 2", "1 1x,2 1x", "1\t,2", "a,b 1x", "a,b, c", "1 x,,2", "http://x.test/?a,b 1x, 3")] + [
    "<picture><source srcset='1 1x' src=2><img src=3 srcset=4></picture>", "<source srcset=1>", "<link rel=preload imagesrcset='1 1x, 2 2x' href=3>", "<img src='' srcset=1>", "<img src=' '>", "<img src=1 src=2>", "<video srcset=1 src=2 poster=3>", "<input type=image src=1><input type=IMAGE src=2><input src=3><input type=' image' src=4>",
    "<audio src=1><track src=2><embed src=3><object data=4><param value=5>", "<video><source src=1><source src=2>x</video>", "<body background=1>", "<table background=1><tr><td background=2>", "<link href=1><link rel=x><link href=''>", "<iframe src=''><iframe src=1></iframe>", "<frameset><frame src=1><frame src=2><frameset><frame src=3>",
    "<p><frameset><frame src=1></frameset>", "<a href=1><frameset><frame src=2></frameset>", "<a href=1>x<frameset><frame src=2></frameset>", "<div><frameset><frame src=1>", "<br><frameset><frame src=1>", "<input type=hidden><frameset><frame src=1>", "<script src=''></script><script src=1 src=2>", "<embed src=1><frameset><frame src=2>",
]
XHTML = ['<html xmlns="http://www.w3.org/1999/xhtml">%s</html>' % b for b in (
    "<body><a href='1'/><a href='2'></a></body>", "<body><script><a href='1'/></script></body>", "<body><a href='1'>x</body>", "<body><![CDATA[<a href='1'/>]]><a href='2'/></body>", "<body><A HREF='1'/><a HREF='2'/><a href='3'/></body>", "<head><base href='/b/'/></head><body><a href='1'/></body>",
    "<body><a href='a&amp;b'/><a href='c&#38;d'/></body>", "<body><svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink'><a href='1'/><a xlink:href='2'/></svg></body>", "<body><textarea><a href='1'/></textarea></body>", "<body><noscript><a href='1'/></noscript></body>",
    "<body><template><a href='1'/></template><a href='2'/></body>", "<body><x:a xmlns:x='http://www.w3.org/1999/xhtml' href='1'/></body>", "<body><a xmlns='urn:x' href='1'/><a href='2'/></body>",
)]
CATEGORIES = [
    ("unclosed", T, UNCLOSED), ("nul", T, NUL), ("deep", T, DEEP), ("raw", T, RAW), ("comments", T, COMMENTS), ("foreign", T, FOREIGN),
    ("base", T, BASES), ("entities", T, ENTITIES), ("urls", T + "; charset=utf-8", URLS), ("refresh", T, REFRESH), ("media", T, SRCSETS),
    ("xhtml", "application/xhtml+xml", XHTML),
]
TEXT = "<title>x</title><a href='\u0436?\u0436'>\u0436</a><a href='plain'>y</a>"
WORDS = "<a href='\u00e9?\u00e9&\u20ac'>"


def encodings():
    c = "encodings"
    for label, codec in (("utf-8", "utf-8"), ("windows-1251", "cp1251"), ("koi8-r", "koi8-r"), ("koi8-u", "koi8-u"), ("iso-8859-5", "iso8859-5"), ("ibm866", "cp866"),
                         ("x-mac-cyrillic", "mac-cyrillic"), ("gb18030", "gb18030"), ("gbk", "gbk"), ("big5", "big5"), ("euc-jp", "euc-jp"), ("shift_jis", "shift_jis"),
                         ("iso-2022-jp", "iso2022_jp"), ("euc-kr", "euc-kr")):
        body = TEXT.encode(codec)
        yield c, T + "; charset=" + label, body
        yield c, T, b"<meta charset=" + label.encode() + b">" + body
        yield c, T, b"<meta http-equiv=content-type content='text/html; charset=" + label.encode() + b"'>" + body + b"\xff<a href=\x81\x30?\xfe\x80x>"
        yield c, T + "; charset=utf-8", b"<meta charset=" + label.encode() + b">" + body
    for bom, codec in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"), (b"\xef\xbb\xbf", "utf-8")):
        yield c, T, bom + TEXT.encode(codec)
        yield c, T + "; charset=koi8-r", bom + TEXT.encode(codec)
        yield c, T, bom + TEXT.encode(codec) + b"\x00"
    for codec in ("utf-16-le", "utf-16-be"):
        yield c, T, TEXT.encode(codec)
        yield c, T + "; charset=" + codec[:-3] + codec[-2:], TEXT.encode(codec)
        yield c, T + "; charset=utf-16", TEXT.encode(codec)
        yield c, T, ("<meta charset=utf-16>" + TEXT).encode(codec)
        yield c, T, ("<?xml version='1.0' encoding='utf-16'?>" + TEXT).encode(codec)
        yield c, T + "; charset=utf-16", TEXT.encode(codec)[:-1] + b"\xd8" + b"<\0a\0>"
    late = b"<!--" + b"x" * 1010 + b"-->"
    western = WORDS.encode("cp1252")
    for head in (b"<meta charset=utf-16>", b"<meta charset='x-user-defined'>", b"<meta charset=bogus>", b"<meta charset=bogus><meta charset=koi8-r>", b"<meta charset='utf-8", b"<!-- <meta charset=koi8-r> -->", b"<!--><meta charset=koi8-r>",
                 b"<script><meta charset=koi8-r></script>", b"<title><meta charset=koi8-r></title>", b"<meta charset = koi8-r>", b"<META CHARSET=KOI8-R>", b"<meta\x0ccharset=koi8-r>", b"<meta/charset=koi8-r>", b"<meta x=y charset='koi8-r'/>", b"<meta http-equiv=content-type content=charset=koi8-r>",
                 b"<meta http-equiv=content-type content='text/html; charset = \"koi8-r\"'>", b"<meta content='x;charset=koi8-r' http-equiv=Content-Type>", b"<meta name=x content='text/html;charset=koi8-r'>", b"<meta http-equiv=content-type content='charset charset=koi8-r;x'>", b"<meta charset=koi8-r charset=utf-8>",
                 b"<?xml version='1.0' encoding='koi8-r'?>", b"<?xml encoding='koi8-r'", b" <?xml version='1.0' encoding='koi8-r'?>", b"<a title='<meta charset=koi8-r>'>", b"<a b='<meta charset=koi8-r>", b"</meta charset=koi8-r>", b"<!meta charset=koi8-r>", b"<metas charset=koi8-r>", b"<meta charset=iso-8859-1>", b"<meta charset=ascii>",
                 b"<meta charset=utf-7>", b"<meta charset=iso-2022-kr>", b"<meta charset=hz-gb-2312>", b"<meta charset=replacement>", b"<meta charset=unicode>", late + b"<meta charset=koi8-r>", late[:-40] + b"--><meta charset=koi8-r>", b"<body><p>x<meta charset=koi8-r>", b"<noscript><meta charset=koi8-r></noscript>", b"<template><meta charset=koi8-r></template>", b"<svg><meta charset=koi8-r></svg>"):
        yield c, T, head + western
    for value in ("; charset=koi8-r", ";charset=\"koi8-r\"", "; charset='koi8-r'", "; charset = koi8-r", "; x=y; CHARSET=KOI8-R; charset=utf-8", "; charset=", "; charset=bogus", "; charset=\" koi8-r \"", "; charset=koi8-r,x", "; charset=utf-16le", "; charset=latin1", "; charset=x-user-defined", "; charset=x-mac-roman", "; charset=iso-8859-8-i", "; charset=\"koi8\\-r\"", "; charset=windows-874"):
        yield c, T + value, western
    for raw in (b"\xc3", b"\xc3\x28", b"\xe2\x82", b"\xf0\x9f\x92", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf8\x88\x80\x80\x80", b"\x80", b"\xff\xfe", b"\xef\xbf\xbe", b"\xf4\x90\x80\x80"):
        yield c, T + "; charset=utf-8", b"<a href='" + raw + b"?" + raw + b"'><a href=2>" + raw
    for raw in (b"\x81", b"\x81<", b"\x81'", b"\x81\x40", b"\xfe\xfe", b"\x8f\xa1\xa1", b"\x8e\xa1", b"\x84\x31\xa4\x37", b"\x81\x30\x81", b"\xa1\x40", b"\xc7\xd1", b"\x1b$B%=\x1b(B", b"\x1b$B<a href=9>", b"\x1b(J\\\x1b(B", b"\x80", b"\xff"):
        for label in ("gb18030", "big5", "euc-jp", "shift_jis", "iso-2022-jp", "euc-kr"):
            yield c, T + "; charset=" + label, b"<a href='x" + raw + b"y?" + raw + b"z'><a href=2>"


def combined():
    """Each piece of one list inside a piece of another."""
    shells = ["<table><tr><td>%s</table>", "<svg><foreignObject>%s</foreignObject></svg>", "<noscript>%s</noscript>", "<p title='<a href=x>'>%s", "<math><mtext>%s</math>", "<button>%s</button>", "<li>%s<li>", "<frameset>%s", "<!--x-->%s<!--"]
    for i, shell in enumerate(shells):
        for piece in (UNCLOSED + FOREIGN + RAW)[i::9]:
            yield "combined", T, (shell % piece + "<a href=last>").encode()
