"""Signs of crawler traps: paths that repeat, and patterns of URLs that bring nothing new."""
import harness
from sites import Sites, log_lines, page

A = "http://a.test"
LISTS = 18  # list pages in a row, each with 20 items


def shop(same):
    """Lists of items; with same, all items have one content."""
    answers = {A + "/": page("/list-a")}
    for i in range(LISTS):
        name = chr(ord("a") + i)
        items = [f"/item?id={20 * i + j}" for j in range(20)]
        following = [f"/list-{chr(ord('a') + i + 1)}"] if i + 1 < LISTS else []
        answers[f"{A}/list-{name}"] = page(*following, *items, text=name)
        for item in items:
            answers[A + item] = page(text="sold out" if same else item)
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
    report.same_set("what is refused is in skipped.log", skipped,
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
        sites.crawl(path + "/same", A + "/")
        report.same_set("and the next run fetches it, and nothing else", sites.asked(), skipped)
    with Sites(path, shop(same=False)) as sites:
        sites.crawl(path + "/other", A + "/")
        report.same_set("a pattern that brings new content is not", sites.asked(), set(shop(False)))
    with Sites(path, answers) as sites:
        sites.crawl(path + "/off", "--set", "limits.trap_fetches=0", A + "/")
        report.same_set("limits.trap_fetches = 0 turns it off", sites.asked(), set(answers))


def throttled(report, path):
    """What a throttled pattern leads to is fetched behind the rest of the host."""
    answers = {A + "/": page(*(f"/lot?id={i}" for i in range(30)), "/more")}
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
        sites.crawl(path + "/limits", "--set", "limits.path_segments=4", "--set",
                    "limits.query_parameters=2", "--set", "limits.repeated_segments=2", A + "/")
        report.same_set("limits of segments, repetitions and parameters", sites.asked(), {A + "/"})


if __name__ == "__main__":
    harness.main(patterns, throttled, paths)
