#!/usr/bin/env python3
"""Writes src/parse/text/entities_table.c: the named character references of the HTML standard.

usage: tools/make-entities-table.py > src/parse/text/entities_table.c

They are those of Python's html.entities.html5, which is the standard's list: with ";" behind a name
in general, and without for the old ones that browsers also recognise so. `make format` afterwards.
"""
import html.entities
import string

HEAD = '''#include "parse/text/entities_table.h"

/* Made by tools/make-entities-table.py: the named character references of the HTML standard, sorted
 * by name. "bare" ones are also recognised without their semicolon. */
const EntityRow entity_rows[ENTITY_ROWS] = {'''


def octal(text):
    """A C string of octal escapes: none can run into the next character."""
    return "".join(f"\\{byte:03o}" for byte in text.encode())


def main():
    html5 = html.entities.html5
    names = sorted(name[:-1] for name in html5 if name.endswith(";"))
    print(HEAD)
    for name in names:
        bare = "true" if name in html5 else "false"
        print(f'    {{"{name}", {len(name)}, {bare}, "{octal(html5[name + ";"])}"}},')
    print("};\n")
    letters = string.ascii_uppercase + string.ascii_lowercase
    first = [sum(name[0] < letter for name in names) for letter in letters] + [len(names)]
    print(f"const uint16_t entity_first[{len(first)}] = {{{', '.join(map(str, first))}}};")


main()
