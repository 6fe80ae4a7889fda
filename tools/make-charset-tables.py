#!/usr/bin/env python3
"""Writes src/parse/charset/charset_tables.c: the encodings with one byte a character.

usage: tools/make-charset-tables.py > src/parse/charset/charset_tables.c

They are Python's codecs, brought to the indexes of the WHATWG Encoding standard: the standard gives
the bytes 0x80-0x9F that Windows leaves unassigned to the C1 controls, and has the letters below.
`make format` afterwards.
"""
# Name in the standard: name in Python.
CODECS = {
    "IBM866": "cp866", "ISO-8859-10": "iso8859_10", "ISO-8859-13": "iso8859_13",
    "ISO-8859-14": "iso8859_14", "ISO-8859-15": "iso8859_15", "ISO-8859-16": "iso8859_16",
    "ISO-8859-2": "iso8859_2", "ISO-8859-3": "iso8859_3", "ISO-8859-4": "iso8859_4",
    "ISO-8859-5": "iso8859_5", "ISO-8859-6": "iso8859_6", "ISO-8859-7": "iso8859_7",
    "ISO-8859-8": "iso8859_8", "KOI8-R": "koi8_r", "KOI8-U": "koi8_u", "macintosh": "mac_roman",
    "windows-1250": "cp1250", "windows-1251": "cp1251", "windows-1252": "cp1252",
    "windows-1253": "cp1253", "windows-1254": "cp1254", "windows-1255": "cp1255",
    "windows-1256": "cp1256", "windows-1257": "cp1257", "windows-1258": "cp1258",
    "windows-874": "cp874", "x-mac-cyrillic": "mac_cyrillic",
}
# KOI8-U has the Belarusian letters of KOI8-RU; 0xCA of windows-1255 is HEBREW POINT HOLAM HASER.
OTHERWISE = {("KOI8-U", 0xAE): 0x045E, ("KOI8-U", 0xBE): 0x040E, ("windows-1255", 0xCA): 0x05BA}

HEAD = '''#include "parse/charset/charset_tables.h"

#include <string.h>

/* Made by tools/make-charset-tables.py: code points of the bytes 0x80-0xFF; 0 = unassigned. */
static const struct SingleByte {
    const char *name;
    uint16_t high[128];
} tables[] = {'''

TAIL = '''};

const uint16_t *charset_single_byte_table(const char *name)
{
    if (strcmp(name, "ISO-8859-8-I") == 0) {
        name = "ISO-8859-8";
    }
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (strcmp(tables[i].name, name) == 0) {
            return tables[i].high;
        }
    }
    return NULL;
}'''


def point(name, byte):
    if (name, byte) in OTHERWISE:
        return OTHERWISE[name, byte]
    try:
        return ord(bytes([byte]).decode(CODECS[name]))
    except UnicodeDecodeError:
        return byte if name.startswith("windows-") and byte < 0xA0 else 0


def main():
    print(HEAD)
    for name in sorted(CODECS):
        codes = (point(name, byte) for byte in range(0x80, 0x100))
        points = ", ".join(f"0x{code:04X}" if code else "0" for code in codes)
        print(f'    {{"{name}", {{{points}}}}},')
    print(TAIL)


main()
