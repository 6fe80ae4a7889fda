"""Signs of crawler traps: paths that repeat, and patterns of URLs that bring nothing new."""
import calendar
import hashlib
import urllib.parse

import harness
from sites import Sites, log_lines, page

A = "http://a.test"
MOST = 500  # pages of an endless site that are fetched at most
LISTS = 18  # list pages in a row, each with 20 items


class Endless(dict):
    """Answers that a function makes up: path and query (a dictionary) -> answer or None."""

    def __init__(self, make):
        super().__init__({A + "/": None})
        self.make = make

    def get(self, url, default=None):
        parts = urllib.parse.urlsplit(url)
        return self.make(parts.path, dict(urllib.parse.parse_qsl(parts.query))) or default


def facets(path, query):
    """A list of ten articles under any combination of filters; each page links to more of them."""
    if path == "/":
        return page("/list?a=1", text="home")
    if path.startswith("/article/"):
        return page(text=f"the article about {words(path)}")
    if path != "/list":
        return None
    filters = [urllib.parse.urlencode({**query, f"f{i}": (int(query.get(f"f{i}", 0)) + 1) % 5})
               for i in range(6)]
    return page(*(f"/list?{f}" for f in filters), *(f"?{f}" for f in filters),
                *(f"/article/{chr(97 + i)}" for i in range(10)), text="all articles")


def months(path, query):
    """A calendar without an end and without events, a page for each month and each day."""
    parts = [int(p) for p in path.split("/") if p.isdigit()]
    if path == "/":
        return page("/cal/2026/05", text="home")
    if not path.startswith("/cal/") or len(parts) not in (2, 3):
        return None
    year, month = parts[:2]
    if len(parts) == 3:
        return page(f"/cal/{year}/{month:02d}",
                    text=f"No events on {calendar.month_name[month]} {parts[2]}, {year}")
    following = f"/cal/{year + month // 12}/{month % 12 + 1:02d}"
    rows = "".join("<tr>" + "".join(
        f'<td><a href="/cal/{year}/{month:02d}/{day}">{day}</a></td>' if day else "<td></td>"
        for day in week) + "</tr>" for week in calendar.monthcalendar(year, month))
    return page(following, text=f"<h1>{calendar.month_name[month]} {year}</h1><table>{rows}</table>")


def months_by_query(path, query):
    if path == "/":
        return page("/cal?month=5&amp;year=2026", text="home")
    if path != "/cal":
        return None
    year, month = int(query["year"]), int(query["month"])
    other = [f'<a href="?month={(m - 1) % 12 + 1}&amp;year={year + (m - 1) // 12}">'
             f'{calendar.month_abbr[(m - 1) % 12 + 1]}</a>' for m in (month - 1, month + 1)]
    return page(text=f"{other[0]} {calendar.month_name[month]} {year} {other[1]} no events")


def sessions(path, query):
    """Two pages, each under another session whenever it is asked for."""
    parts = path.split("/")
    session = hashlib.md5(path.encode()).hexdigest()
    if path == "/":
        return page(f"/s/{session}/news", text="home")
    if len(parts) == 4 and parts[1] == "s":
        return page(f"/s/{session}/news", f"/s/{session}/about",
                    text="news" if parts[3] == "news" else "about us")
    return None


def words(seed):
    """A sentence that no other seed has."""
    digest = hashlib.md5(seed.encode()).digest()
    return " ".join(("amber", "birch", "cloud", "delta", "ember", "fjord", "grove", "heath",
                     "inlet", "jetty", "knoll", "ledge", "marsh", "night", "ocean", "plain")[b % 16]
                    for b in digest)


def real_sites():
    """Sites with very many pages of one pattern, all of which are worth having."""
    answers = {}
    for i in range(1, 201):
        answers[f"{A}/blog/2026/{i}"] = page(f"/blog/2026/{i + 1}", text=words(f"blog {i}"))
        answers[f"{A}/forum?t={i}&p=1"] = page(f"/forum?t={i}&p=2", f"/forum?t={i + 1}&p=1",
                                               text=f"Thread {i}: {words(f'thread {i}')}")
        answers[f"{A}/forum?t={i}&p=2"] = page(f"/forum?t={i}&p=1", text=words(f"answers to {i}"))
        title = hashlib.md5(str(i).encode()).hexdigest()[:6]
        following = hashlib.md5(str(i + 1).encode()).hexdigest()[:6] if i < 200 else "T0"
        answers[f"{A}/index.php?title={title}"] = page(
            f"/index.php?title={following}", f"/index.php?title={title}&action=none",
            text=words(title))
        # nothing but its picture tells it from the others
        answers[f"{A}/shots?id={i}"] = (200, {"Content-Type": "text/html"},
                                        f'<a href="?id={i + 1}"><img src="/shot{i}.jpg"></a>')
        # nothing but its numbers
        table = "".join(f"<td>{(i * i * k) % 1009}</td>" for k in range(1, 13))
        answers[f"{A}/data?year={1799 + i}"] = page(f"/data?year={1800 + i}",
                                                    text=f"Rain in {1799 + i}: <tr>{table}</tr>")
        cells = "".join(f"<td>{(i * k * k + i // 7) % 9 + 1}</td>" for k in range(81))
        answers[f"{A}/puzzle/1/{i}"] = page(f"/puzzle/1/{i + 1}", text=f"<tr>{cells}</tr>")
    first = hashlib.md5(b"1").hexdigest()[:6]
    answers[A + "/index.php?title=T0"] = page(f"/index.php?title={first}", text="main page")
    answers[A + "/"] = page(*(url[len(A):].replace("&", "&amp;") for url in answers), text="home")
    return answers


def shop(same):
    """Lists of items; with same, all items have one content."""
    answers = {A + "/": page("/list-a")}
    for i in range(LISTS):
        name = chr(ord("a") + i)
        items = [f"/item?id={20 * i + j}" for j in range(20)]
        following = [f"/list-{chr(ord('a') + i + 1)}"] if i + 1 < LISTS else []
        answers[f"{A}/list-{name}"] = page(*following, *items, text=name)
        for item in items:
            answers[A + item] = page(text="sold out" if same else words(item))
    return answers


def patterns(report, path):
    answers = shop(same=True)
    with Sites(path, answers) as sites:
        result = sites.crawl(path + "/same", "-j", "1", A + "/")
        asked = sites.asked()
    items = {u for u in asked if "/item" in u}
    report.check("the crawl ends", result.returncode == 0, result.stderr[-300:])
    report.check("a pattern that brings nothing new is parked", 50 <= len(items) < 200,
                 f"{len(items)} items")
    report.same_set("everything else is fetched", asked - items,
                    {u for u in answers if "/item" not in u})
    skipped = {w[0] for w in log_lines(path + "/same", "skipped.log") if w[1:3] == ["-10006", "trap"]}
    skipped |= {w[3] for w in log_lines(path + "/same") if w[1] == "-10006"}
    report.same_set("what is refused is in skipped.log, or in crawl.log", skipped,
                    {u for u in answers if "/item" in u} - items)
    with open(path + "/same/ragno.log") as log:
        lines = log.readlines()
    rows = [line for line in lines if "parked" in line]
    report.check("the pattern is in ragno.log, once", len(rows) == 1 and
                 f"pattern={A}/item?id=" in rows[0], f"{rows}")
    report.check("and before that it was throttled", any("throttled" in line for line in lines),
                 "".join(lines)[-500:])
    result = harness.run([f"{harness.OUT}/ragno", "schedule", path + "/same", "refused", "--only",
                          "URLContainsOneOf(/item) and DepthAtMost(50)"])
    report.check("what was refused can be scheduled", result.returncode == 0 and
                 f"{len(skipped)} pages are scheduled" in result.stderr, result.stderr)
    verify = harness.run([f"{harness.OUT}/ragno", "verify", path + "/same"])
    report.check("ragno verify agrees", verify.returncode == 0, verify.stdout[-500:])
    with Sites(path, answers) as sites:
        sites.crawl(path + "/same", "--set", "limits.trap_fetches=0", A + "/")
        report.same_set("and the next run fetches it, and nothing else", sites.asked(), skipped)
    with Sites(path, shop(same=False)) as sites:
        sites.crawl(path + "/other", A + "/")
        report.same_set("a pattern that brings new content is not", sites.asked(), set(shop(False)))
    with Sites(path, answers) as sites:
        sites.crawl(path + "/off", "--set", "limits.trap_fetches=0", A + "/")
        report.same_set("limits.trap_fetches = 0 turns it off", sites.asked(), set(answers))


def endless(report, path):
    """Sites that make up pages for ever."""
    kinds = {"filters of a list": facets, "months of a calendar": months,
             "months in the query": months_by_query, "sessions in the path": sessions}
    for number, (name, make) in enumerate(kinds.items()):
        directory = f"{path}/{number}"
        with Sites(path, Endless(make)) as sites:
            result = sites.crawl(directory, "-j", "1", "--set", "scope.depth=1000000", A + "/")
            asked = sites.asked()
        with open(directory + "/ragno.log") as log:
            parked = [line for line in log if "parked" in line]
        report.check(f"{name}: the crawl ends", result.returncode == 0, result.stderr[-300:])
        report.check(f"{name}: after a few hundred fetches", 50 <= len(asked) <= MOST,
                     f"{len(asked)} fetches")
        report.check(f"{name}: the pattern is in ragno.log", len(parked) >= 1, f"{parked}")
        if make is facets:
            report.same_set("what the list leads to is fetched",
                            {u for u in asked if "/article/" in u},
                            {f"{A}/article/{chr(97 + i)}" for i in range(10)})
            held_back(report, path, directory, asked)


def held_back(report, path, directory, asked):
    """What was scheduled before its pattern was parked is refused in its turn, and can be had."""
    rows = {w[3] for w in log_lines(directory) if w[1] == "-10006"}
    report.check("scheduled URLs of a parked pattern are not asked for",
                 len(rows) > 20 and not rows & asked, f"{len(rows)} rows")
    verify = harness.run([f"{harness.OUT}/ragno", "verify", directory])
    report.check("ragno verify agrees", verify.returncode == 0, verify.stdout[-500:])
    result = harness.run([f"{harness.OUT}/ragno", "schedule", directory, "refused"])
    report.check("they can be scheduled again", result.returncode == 0 and
                 int(result.stderr.split()[0]) >= len(rows), result.stderr)
    verify = harness.run([f"{harness.OUT}/ragno", "verify", directory])
    report.check("ragno verify agrees again", verify.returncode == 0, verify.stdout[-500:])
    with Sites(path, Endless(facets)) as sites:
        sites.crawl(directory, "-j", "1", "--set", "limits.trap_fetches=0", "--set",
                    "crawl.max_pages=2500", A + "/")
        report.check("and are fetched", not rows - sites.asked(),
                     f"{len(rows - sites.asked())} of {len(rows)} are not")


def real(report, path):
    answers = real_sites()
    with Sites(path, answers) as sites:
        result = sites.crawl(path + "/crawl", "-j", "4", "--set", "scope.depth=1000000", A + "/")
        report.check("the crawl ends", result.returncode == 0, result.stderr[-300:])
        report.same_set("no page of a real site is missed", set(answers) - sites.asked(), set())


def throttled(report, path):
    """What a throttled pattern leads to is fetched behind the rest of the host."""
    answers = {A + "/": page(*(f"/lot?id={i}" for i in range(30)), "/then")}
    answers[A + "/then"] = page("/more", text="then")  # committed before /more is known
    for i in range(30):
        answers[f"{A}/lot?id={i}"] = page(text="sold out")
    answers[A + "/more"] = page(*(f"/lot?id={i}" for i in range(100, 110)),
                                *(f"/news-{chr(ord('a') + i)}" for i in range(10)), text="more")
    for i in range(10):
        answers[f"{A}/lot?id={100 + i}"] = page(text="sold out")
        answers[f"{A}/news-{chr(ord('a') + i)}"] = page(text=f"news {i}")
    with Sites(path, answers) as sites:
        sites.crawl(path + "/crawl", "-j", "1", A + "/")
        late = [r.path for r in sites.requests if r.path.startswith(("/lot?id=10", "/news")) and
                len(r.path) != len("/lot?id=10")]
    report.equal("all are fetched, the throttled ones last",
                 [p.startswith("/news") for p in late], [True] * 10 + [False] * 10)


def paths(report, path):
    answers = {A + "/": page("/a/b/a/b/c", "/x/x/x/y", "/1/2/3/4/5", "/q?a=1&b=2&c=3")}
    for found in ("/a/b/a/b/c", "/x/x/x/y", "/1/2/3/4/5", "/q?a=1&b=2&c=3"):
        answers[A + found] = page()
    with Sites(path, answers) as sites:
        sites.crawl(path + "/standard", A + "/")
        report.same_set("three times the same segments are a trap", sites.asked(),
                        set(answers) - {A + "/x/x/x/y"})
    with Sites(path, answers) as sites:
        sites.crawl(path + "/limits", "--set", "limits.repeated_segments=2", "--set",
                    "filter.schedule=PathDepthLessThan(5) and ParametersLessThan(3)", A + "/")
        report.same_set("a limit of repetitions, filters of segments and parameters", sites.asked(), {A + "/"})


if __name__ == "__main__":
    harness.main(patterns, endless, real, throttled, paths)
