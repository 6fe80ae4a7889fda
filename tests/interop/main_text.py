#!/usr/bin/env python3
"""How well `ragno check text --main` finds the main text of pages, on installed Debian documentation whose main
part is known: the benchmark of src/parse/visible/visible.h. Not part of CI: it takes minutes.

usage: main_text.py [--bin build/release/ragno] [--pages N] [--seed N] [--show N] [--only CORPUS] [--plain]

The truth of a page is the visible text of the element that its makers put the main part into (a selector for each
generator of documentation, below), without the navigation in it. Words of --main are compared with it by the
longest common subsequence (`diff -d`): precision is how many of ours are true, recall how many of the true ones
are ours, both over all words of a corpus; F1 is the mean over pages. `plain` is a copy of the same pages in which nothing says what is what:
<main>, <nav>, <header>, <footer>, <aside>, <article>, <section> are <div>, roles are gone. For comparison, what
comes of taking all visible text."""
import argparse, collections, glob, gzip, html.parser, os, random, re, subprocess, sys, tempfile

DOC = "/usr/share/doc/"
# name: files, the main element (tag, attribute, word of its value; None: any), elements in it that are no main part.
CORPORA = {
    "python (Sphinx)": (DOC + "python3.11/html/*/*.html", ("div", "class", "body"), []),
    "postgresql (DocBook)": (DOC + "postgresql-doc-15/html/*.html", ("body", None, None),
                             [("div", "class", "navheader"), ("div", "class", "navfooter")]),
    "apache2": (DOC + "apache2-doc/manual/en/**/*.html", ("div", "id", "page-content"),
                [("div", "id", "quickview"), ("div", "class", "toplang"), ("div", "class", "top"), ("div", "id", "comments_section")]),
    "debian-handbook (Publican)": (DOC + "debian-handbook/html/en-US/*.html", ("body", None, None),
                                   [("div", "id", "banner"), ("ul", "class", "docnav"), ("p", "id", "title")]),
    "openjdk (javadoc)": (DOC + "openjdk-17-jre-headless/api/java.base/**/*.html", ("main", None, None), [("nav", None, None)]),
    "rust book (mdBook)": (DOC + "rust-doc/html/book/*.html", ("main", None, None), []),
    "rust std (rustdoc)": (DOC + "rust-doc/html/std/*/*.html", ("section", "id", "main-content"), []),
    "nodejs": (DOC + "nodejs/api/*.html", ("div", "id", "apicontent"), []),
    "erlang": (DOC + "erlang-doc/**/doc/html/*.html", ("div", "id", "content"), [("div", "class", "footer")]),
    "valgrind (DocBook)": (DOC + "valgrind/html/*-manual.html", ("body", None, None), [("table", "class", "nav")]),
    "django (Sphinx, own theme)": (DOC + "python-django-doc/html/*/*.html", ("div", "id", "yui-main"), []),
    "cmake (Sphinx, classic)": (DOC + "cmake-data/html/*/*.html", ("div", "class", "body"), []),
    "policy (Sphinx, alabaster)": (DOC + "debian-policy/policy.html/*.html", ("div", "class", "body"), []),
    "git (AsciiDoc)": (DOC + "git/html/*.html", ("body", None, None), [("div", "id", "footer")]),
    "eigen (Doxygen)": (DOC + "libeigen3-dev/html/*.html", ("div", "class", "contents"), []),
    "gio (gtk-doc)": ("/usr/share/gtk-doc/html/gio/*.html", ("body", None, None),
                      [("table", "id", "top"), ("div", "class", "footer")]),
    "octave (texi2any)": (DOC + "octave/octave.html/*.html", ("body", None, None), [("div", "class", "header"), ("div", "class", "nav-panel")]),
    "sqlite": (DOC + "sqlite3/**/*.html", ("body", None, None), [("div", "class", "nosearch")]),
    "exim": (DOC + "exim4-doc-html/**/*.html", ("div", "id", "content"), []),
    "mkdocs": (DOC + "mkdocs/html/**/*.html", ("div", "role", "main"), []),
    "npm (marked-man)": ("/usr/lib/node_modules/npm/docs/output/**/*.html", ("section", "id", "content"), [("section", "id", "table_of_contents")]),
    "lintian (pod2html)": (DOC + "lintian/**/*.html", ("body", None, None), [("dl", "class", "superindex"), ("ul", "id", "index")]),
    "apt guide (debiandoc DocBook)": (DOC + "apt-doc/guide*/*.html", ("body", None, None),
                                      [("div", "class", "navheader"), ("div", "class", "navfooter")]),
    "installation guide (DocBook)": (DOC + "installation-guide-amd64/en/*.html", ("body", None, None),
                                     [("div", "class", "navheader"), ("div", "class", "navfooter")]),
    "faq (DocBook, chunks)": (DOC + "debian/FAQ/*.html", ("body", None, None),
                              [("div", "class", "navheader"), ("div", "class", "navfooter")]),
    "pydoc": ("pydoc/*.html", ("body", None, None), []),
    "groff (manual pages)": ("groff/*.html", ("body", None, None), []),
}
MODULES = "csv heapq textwrap shutil html.parser json argparse configparser tempfile gzip queue sched".split()
MANUALS = "/usr/share/man/man1/*.1.gz"
MANUAL_BYTES = range(3000, 20000)  # packed
PAGE_BYTES = range(2000, 150000)
VOID = set("area base br col embed hr img input link meta param source track wbr".split())


class Ranges(html.parser.HTMLParser):
    """Where the elements begin and end that a selector names."""

    def __init__(self, text, selectors):
        super().__init__(convert_charrefs=False)
        self.lines = [0]
        for line in text.split("\n"):
            self.lines.append(self.lines[-1] + len(line) + 1)
        self.selectors, self.open, self.found, self.text = selectors, [], collections.defaultdict(list), text
        self.feed(text)

    def place(self):
        line, column = self.getpos()
        return self.lines[line - 1] + column

    def handle_starttag(self, tag, attributes):
        if tag in VOID:
            return
        attributes = dict(attributes)
        hits = [s for s in self.selectors if s[0] == tag and (s[1] is None or s[2] in (attributes.get(s[1]) or "").split())]
        self.open.append((tag, hits, self.place()))

    def handle_endtag(self, tag):
        for i in range(len(self.open) - 1, -1, -1):
            if self.open[i][0] == tag:
                end = self.text.index(">", self.place()) + 1
                for name, hits, start in self.open[i:]:
                    for hit in hits:
                        self.found[hit].append((start, end))
                del self.open[i:]
                return


def make_pages(folder):
    """Pages of generators whose output no package brings."""
    for name in ("pydoc", "groff"):
        os.mkdir(f"{folder}/{name}")
    subprocess.run([sys.executable, "-m", "pydoc", "-w", *MODULES], cwd=folder + "/pydoc", stdout=subprocess.DEVNULL, check=True)
    manuals = sorted(p for p in glob.glob(MANUALS) if os.path.getsize(p) in MANUAL_BYTES)
    for path in random.Random(1).sample(manuals, min(12, len(manuals))):
        with gzip.open(path) as file:
            made = subprocess.run(["groff", "-mandoc", "-Thtml", "-k", "-P-l"], input=file.read(), cwd=folder + "/groff", capture_output=True)
        if made.returncode == 0:
            with open(f"{folder}/groff/{os.path.basename(path)}.html", "wb") as file:
                file.write(made.stdout)


def truth_of(text, main, without):
    """The page reduced to its main part, or None."""
    ranges = Ranges(text, [main] + without)
    if not ranges.found[main]:
        return None
    start, end = max(ranges.found[main], key=lambda r: r[1] - r[0])
    cuts = sorted(r for selector in without for r in ranges.found[selector] if start <= r[0] and r[1] <= end)
    kept, at = [], start
    for a, b in cuts:
        if a >= at:
            kept.append(text[at:a])
            at = b
    return "".join(kept) + text[at:end]


def plain(text):
    text = re.sub(r"<(/?)(main|nav|header|footer|aside|article|section|search)\b", r"<\1div", text, flags=re.I)
    return re.sub(r"""\srole\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)""", "", text, flags=re.I)


def words_of(program, text, folder, *options):
    with open(folder + "/page", "w", encoding="utf-8") as file:
        file.write(text)
    done = subprocess.run([program, "check", "text", folder + "/page", "--content-type", "text/html; charset=utf-8", *options], capture_output=True)
    if done.returncode != 0:
        sys.exit(done.stderr.decode())
    return done.stdout.decode().split()


def common(ours, theirs, folder):
    for name, items in (("ours", ours), ("theirs", theirs)):
        with open(folder + "/" + name, "w", encoding="utf-8") as file:
            file.writelines(item + "\n" for item in items)
    done = subprocess.run(["diff", "-d", "--unchanged-line-format==", "--old-line-format=", "--new-line-format=",
                           folder + "/ours", folder + "/theirs"], capture_output=True)
    return len(done.stdout)


def kinds_of(text, only_plain):
    kinds = [("plain", plain(text), ["--main"])]
    return kinds if only_plain else [("as it is", text, ["--main"]), *kinds, ("all", text, [])]


def figures(counts):
    ours, theirs, both, f1, n = counts
    return f"{100 * both / max(1, ours):6.2f} {100 * both / max(1, theirs):6.2f} {100 * f1 / max(1, n):6.2f}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default="build/release/ragno")
    parser.add_argument("--pages", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--plain", action="store_true", help="only these")
    args = parser.parse_args()
    print(f"{'':28} pages   main words         as it is              plain           all text\n{'':51} prec. recall     F1 "
          f"  prec. recall     F1   prec. recall     F1")
    total, means = collections.defaultdict(lambda: [0, 0, 0, 0, 0]), []
    with tempfile.TemporaryDirectory() as folder:
        make_pages(folder)
        for name, (pattern, selector, without) in CORPORA.items():
            if args.only not in name:
                continue
            found = glob.glob(os.path.join(folder, pattern), recursive=True)
            paths = sorted({os.path.realpath(p) for p in found if os.path.isfile(p) and os.path.getsize(p) in PAGE_BYTES})
            random.Random(args.seed).shuffle(paths)
            sums, n, shown = collections.defaultdict(lambda: [0, 0, 0, 0, 0]), 0, 0
            for path in paths:
                with open(path, encoding="utf-8", errors="replace") as file:
                    text = file.read()
                truth = truth_of(text, selector, without)
                if truth is None or n == args.pages:
                    continue
                want = words_of(args.bin, truth, folder)
                if len(want) < 50:
                    continue
                n += 1
                for kind, page, options in kinds_of(text, args.plain):
                    ours = words_of(args.bin, page, folder, *options)
                    both = common(ours, want, folder)
                    counts = (len(ours), len(want), both, 2 * both / (len(ours) + len(want)), 1)
                    for sum_ in (sums[kind], total[kind]):
                        for i, more in enumerate(counts):
                            sum_[i] += more
                    if kind == "plain" and shown < args.show and counts[2] < 0.9 * max(counts[:2]):
                        shown += 1
                        print(f"  {path}: {counts[0]} words, {counts[1]} true, {counts[2]} in common")
            if n:
                means.append(sums["plain"][3] / sums["plain"][4])
                print(f"{name:28} {n:5} {sums['plain'][1]:12}    " + "   ".join(figures(sums[k]) for k in ("as it is", "plain", "all")), flush=True)
    print(f"{'all words':46}    " + "   ".join(figures(total[k]) for k in ("as it is", "plain", "all")))
    print(f"plain, mean of F1 over {len(means)} generators: {sum(means) / max(1, len(means)):.4f}")


if __name__ == "__main__":
    main()
