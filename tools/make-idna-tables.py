#!/usr/bin/env python3
"""Writes src/parse/url/url_idna_tables.c from the Unicode Character Database (Debian: unicode-data).

usage: tools/make-idna-tables.py [/usr/share/unicode] > src/parse/url/url_idna_tables.c

The IDNA mapping is derived as section 6 of UTS 46 (Unicode 16 and later) says: NFKC_Casefold, with
its few exceptions and exclusions. Characters younger than the installed database are added below.
"""
import re
import sys

ROOT = sys.argv[1] if len(sys.argv) > 1 else "/usr/share/unicode"
LIMIT = 0x110000

# Assigned after Unicode 15.0; (first, last, general category).
YOUNGER = [
    (0x2FFC, 0x2FFF, "IDS"), (0x31EF, 0x31EF, "IDS"), (0x2EBF0, 0x2EE5D, "Lo"),
    (0x0897, 0x0897, "Mn"), (0x1B4E, 0x1B4F, "Po"), (0x1B7F, 0x1B7F, "Po"), (0x1C89, 0x1C8A, "Ll"),
    (0x2427, 0x2429, "So"), (0x31E4, 0x31E5, "So"), (0xA7CB, 0xA7CD, "Ll"), (0xA7DA, 0xA7DC, "Ll"),
    (0x105C0, 0x105F3, "Lo"), (0x10D40, 0x10D49, "Nd"), (0x10D4A, 0x10D65, "Lo"),
    (0x10D69, 0x10D6D, "Mn"), (0x10D6E, 0x10D85, "Lo"), (0x10D8E, 0x10D8F, "Sm"),
    (0x10EC2, 0x10EC4, "Lo"), (0x10EFC, 0x10EFC, "Mn"), (0x11380, 0x11389, "Lo"),
    (0x1138B, 0x1138B, "Lo"), (0x1138E, 0x1138E, "Lo"), (0x11390, 0x113B5, "Lo"),
    (0x113B7, 0x113B7, "Lo"), (0x113B8, 0x113C0, "Mc"), (0x113C2, 0x113C2, "Mc"),
    (0x113C5, 0x113C5, "Mc"), (0x113C7, 0x113CA, "Mc"), (0x113CC, 0x113D0, "Mc"),
    (0x113D1, 0x113D1, "Lo"), (0x113D2, 0x113D2, "Mn"), (0x113D3, 0x113D3, "Lo"),
    (0x113D4, 0x113D5, "Po"), (0x113D7, 0x113D8, "Po"), (0x113E1, 0x113E2, "Mn"),
    (0x116D0, 0x116E3, "Nd"), (0x11BC0, 0x11BE1, "Lo"), (0x11BF0, 0x11BF9, "Nd"),
    (0x11F5A, 0x11F5A, "Mn"), (0x13460, 0x143FA, "Lo"), (0x16100, 0x1611D, "Lo"),
    (0x1611E, 0x1612F, "Mn"), (0x16130, 0x16139, "Nd"), (0x16D40, 0x16D79, "Lo"),
    (0x18CFF, 0x18CFF, "Lo"), (0x1CC00, 0x1CCF9, "So"), (0x1CD00, 0x1CEB3, "So"),
    (0x1E5D0, 0x1E5ED, "Lo"), (0x1E5EE, 0x1E5EF, "Mn"), (0x1E5F0, 0x1E5FA, "Lo"),
    (0x1E5FF, 0x1E5FF, "Po"), (0x1F8B2, 0x1F8BB, "So"), (0x1F8C0, 0x1F8C1, "So"),
    (0x1FA89, 0x1FA89, "So"), (0x1FA8F, 0x1FA8F, "So"), (0x1FABE, 0x1FABE, "So"),
    (0x1FAC6, 0x1FAC6, "So"), (0x1FADC, 0x1FADC, "So"), (0x1FADF, 0x1FADF, "So"),
    (0x1FAE9, 0x1FAE9, "So"), (0x1FBCB, 0x1FBEF, "So"),
]
YOUNGER_MAPPED = {0x1C89: 0x1C8A, 0xA7CB: 0x264, 0xA7CC: 0xA7CD, 0xA7DA: 0xA7DB, 0xA7DC: 0x19B}
YOUNGER_MAPPED.update({c: c + 0x20 for c in range(0x10D50, 0x10D66)})
YOUNGER_MAPPED.update({0x1CCD6 + i: 0x61 + i for i in range(26)})
YOUNGER_MAPPED.update({0x1CCF0 + i: 0x30 + i for i in range(10)})
YOUNGER_DECOMPOSED = {
    0x105C9: (0x105D2, 0x307), 0x105E4: (0x105DA, 0x307), 0x11383: (0x11382, 0x113C9),
    0x11385: (0x11384, 0x113BB), 0x1138E: (0x1138B, 0x113C2), 0x11391: (0x11390, 0x113C9),
    0x113C5: (0x113C2, 0x113C2), 0x113C7: (0x113C2, 0x113B8), 0x113C8: (0x113C2, 0x113C9),
    0x16121: (0x1611E, 0x1611E), 0x16122: (0x1611E, 0x16129), 0x16123: (0x1611E, 0x1611F),
    0x16124: (0x16129, 0x1611F), 0x16125: (0x1611E, 0x16120), 0x16126: (0x16121, 0x1611F),
    0x16127: (0x16122, 0x1611F), 0x16128: (0x16121, 0x16120), 0x16D68: (0x16D67, 0x16D67),
    0x16D69: (0x16D63, 0x16D67), 0x16D6A: (0x16D69, 0x16D67),
}
# Combining classes other than 0: viramas, marks above and below.
YOUNGER_COMBINING = {0x113CE: 9, 0x113CF: 9, 0x113D0: 9, 0x1612F: 9, 0x0897: 230, 0x113E1: 230,
                     0x113E2: 230, 0x10EFC: 220, 0x1E5EE: 232, 0x1E5EF: 220}
YOUNGER_COMBINING.update({c: 230 for c in range(0x10D69, 0x10D6E)})


def lines(name):
    with open(f"{ROOT}/{name}", encoding="utf-8") as f:
        for line in f:
            line = line.split("#", 1)[0].strip()
            if line:
                yield [field.strip() for field in line.split(";")]


def span(text):
    first, _, last = text.partition("..")
    return range(int(first, 16), int(last or first, 16) + 1)


category, combining, decomposition = {}, {}, {}
first = 0
for f in lines("UnicodeData.txt"):
    c = int(f[0], 16)
    if f[1].endswith("First>"):
        first = c
    for x in range(first if f[1].endswith("Last>") else c, c + 1):
        category[x] = f[2]
        combining[x] = int(f[3])
    if f[5] and not f[5].startswith("<"):
        decomposition[c] = [int(x, 16) for x in f[5].split()]
for a, b, gc in YOUNGER:
    for c in range(a, b + 1):
        category.setdefault(c, gc)
        combining.setdefault(c, YOUNGER_COMBINING.get(c, 0))

for c, parts in YOUNGER_DECOMPOSED.items():
    decomposition.setdefault(c, list(parts))

casefold, excluded = {}, set()
for f in lines("DerivedNormalizationProps.txt"):
    if f[1] == "NFKC_CF":
        for c in span(f[0]):
            casefold[c] = [int(x, 16) for x in f[2].split()] if len(f) > 2 else []
    elif f[1] == "Full_Composition_Exclusion":
        excluded.update(span(f[0]))
casefold.update({c: [to] for c, to in YOUNGER_MAPPED.items()})

bidi_control, ids = set(), set(c for a, b, gc in YOUNGER if gc == "IDS" for c in range(a, b + 1))
for f in lines("PropList.txt"):
    if f[1] == "Bidi_Control":
        bidi_control.update(span(f[0]))
    elif f[1].startswith("IDS_"):
        ids.update(span(f[0]))

bidi = ["L"] * LIMIT
LONG = {"Left_To_Right": "L", "Right_To_Left": "R", "Arabic_Letter": "AL", "European_Terminator": "ET",
        "Boundary_Neutral": "BN"}
with open(f"{ROOT}/extracted/DerivedBidiClass.txt", encoding="utf-8") as f:
    for m in re.finditer(r"^# @missing: (\S+); (\S+)", f.read(), re.M):
        for c in span(m[1]):
            bidi[c] = LONG[m[2]]
for f in lines("extracted/DerivedBidiClass.txt"):
    for c in span(f[0]):
        bidi[c] = f[1]
for a, b, gc in YOUNGER:
    for c in range(a, b + 1):
        if gc == "Mn":
            bidi[c] = "NSM"
        elif gc in ("So", "Sm", "IDS"):
            bidi[c] = "ON"
        elif c in range(0x10D40, 0x10D4A):
            bidi[c] = "AN"
joining = ["U"] * LIMIT
for f in lines("extracted/DerivedJoiningType.txt"):
    for c in span(f[0]):
        joining[c] = f[1]


FULL_STOPS = (0x3002, 0xFF0E, 0xFF61)  # mapped to ".", so not valid in what others map to


def valid(c):
    if c in FULL_STOPS:
        return False
    if c < 0x80:
        return c != 0x2E
    return category.get(c, "Cn") not in ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs") and c not in ids


def status(c):
    """None (disallowed) or the mapping; [c] means valid, [] ignored."""
    if c < 0x80:
        return [c + 32] if 0x41 <= c <= 0x5A else [c]
    if c in FULL_STOPS:
        return [0x2E]
    if c == 0x1E9E:
        return [0xDF]
    if c in (0xDF, 0x3C2, 0x200C, 0x200D):
        return [c]
    if c not in category or c in bidi_control or c in (0xFFFC, 0xFFFD) or 0xE0001 <= c <= 0xE007F:
        return None
    mapped = casefold.get(c, [c])
    return mapped if all(valid(x) for x in mapped) else None


VALID, DISALLOWED, IGNORED, SHIFTED, ALTERNATE, MAPPED = range(6)
statuses = [status(c) for c in range(LIMIT)]


def kind(c):
    s = statuses[c]
    if s is None:
        return DISALLOWED, 0
    if not s:
        return IGNORED, 0
    if s == [c]:
        return VALID, 0
    if len(s) == 1:
        return SHIFTED, s[0] - c
    return MAPPED, c


pool, pool_index = [], {}


def pooled(s):
    key = tuple(s)
    if key not in pool_index:
        pool_index[key] = len(pool)
        pool.extend(s)
    return pool_index[key] * 32 + len(s)


ranges = []  # start, kind, value
c = 0
while c < LIMIT:
    k = kind(c)
    end = c + 1
    if k == (SHIFTED, 1):
        while end + 1 < LIMIT and kind(end) == (VALID, 0) and kind(end + 1) == (SHIFTED, 1):
            end += 2
        if end > c + 1:
            ranges.append((c, ALTERNATE, 0))
            c = end
            continue
    while end < LIMIT and kind(end) == k:
        end += 1
    ranges.append((c, k[0], pooled(statuses[c]) if k[0] == MAPPED else k[1]))
    c = end

BIDI = ["L", "R", "AL", "AN", "EN", "ES", "CS", "ET", "ON", "BN", "NSM"]
JOINING = ["U", "L", "R", "D", "T", "C"]


def properties(c):
    b = BIDI.index(bidi[c]) if bidi[c] in BIDI else 15
    mark = category.get(c, "Cn")[0] == "M"
    return combining.get(c, 0) | b << 8 | JOINING.index(joining[c]) << 12 | int(mark) << 15


props = []
for c in range(LIMIT):
    p = properties(c)
    if not props or props[-1][1] != p:
        props.append((c, p))

pairs = sorted((d[0], d[1], c) for c, d in decomposition.items() if len(d) == 2 and c not in excluded)


def array(declaration, items, width):
    print(f"{declaration} = {{")
    per_line = 96 // width
    for i in range(0, len(items), per_line):
        print("    " + ", ".join(items[i:i + per_line]) + ",")
    print("};")
    print()


print("""/* Generated by tools/make-idna-tables.py from the Unicode Character Database; do not edit. */
#include "parse/url/url_idna_tables.h"

/* clang-format off */""")
array("const uint32_t url_idna_ranges[]", [f"0x{s | k << 21:08X}" for s, k, _ in ranges], 12)
array("const int32_t url_idna_values[]", [str(v) for _, _, v in ranges], 8)
print(f"const size_t url_idna_n_ranges = {len(ranges)};\n")
array("const uint32_t url_idna_pool[]", [f"0x{v:X}" for v in pool], 9)
array("const uint32_t url_idna_property_starts[]", [f"0x{s:X}" for s, _ in props], 9)
array("const uint16_t url_idna_properties[]", [f"0x{p:X}" for _, p in props], 8)
print(f"const size_t url_idna_n_properties = {len(props)};\n")
array("const UrlIdnaPair url_idna_pairs[]", [f"{{0x{a:X}, 0x{b:X}, 0x{c:X}}}" for a, b, c in pairs], 25)
by_composed = sorted(range(len(pairs)), key=lambda i: pairs[i][2])
array("const uint16_t url_idna_by_composed[]", [str(i) for i in by_composed], 5)
print(f"const size_t url_idna_n_pairs = {len(pairs)};")
sys.stderr.write(f"{len(ranges)} ranges, {len(pool)} pooled, {len(props)} properties, {len(pairs)} pairs\n")
