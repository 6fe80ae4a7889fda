/* Tables of encodings with one byte a character: of no two bytes the same character. */
#include <stdbool.h>
#include <string.h>

#include "parse/charset/charset.h"
#include "parse/charset/charset_tables.h"
#include "unit.h"

static const char *const names[] = {
    "IBM866",       "ISO-8859-2",   "ISO-8859-3",    "ISO-8859-4",   "ISO-8859-5",   "ISO-8859-6",
    "ISO-8859-7",   "ISO-8859-8",   "ISO-8859-10",   "ISO-8859-13",  "ISO-8859-14",  "ISO-8859-15",
    "ISO-8859-16",  "KOI8-R",       "KOI8-U",        "macintosh",    "windows-874",  "windows-1250",
    "windows-1251", "windows-1252", "windows-1253",  "windows-1254", "windows-1255", "windows-1256",
    "windows-1257", "windows-1258", "x-mac-cyrillic"};

static void every_encoding_has_a_table_in_which_no_character_is_twice(void)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const uint16_t *table = charset_single_byte_table(names[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(table);
        static bool seen[65536];
        memset(seen, 0, sizeof seen);
        for (size_t b = 0; b < 128; b++) {
            uint16_t c = table[b];
            CU_ASSERT_TRUE(c == 0 || (c >= 0x80 && !seen[c] && (c < 0xD800 || c > 0xDFFF)));
            seen[c] = true;
        }
        CU_ASSERT_STRING_EQUAL(charset_of_label(names[i], strlen(names[i])), names[i]);
    }
    CU_ASSERT_PTR_EQUAL(charset_single_byte_table("ISO-8859-8-I"),
                        charset_single_byte_table("ISO-8859-8"));
    static const char *const others[] = {"", "UTF-8", "Big5", "koi8-r", "x-user-defined"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        CU_ASSERT_PTR_NULL(charset_single_byte_table(others[i]));
    }
}

static void some_bytes_are_what_everybody_knows(void)
{
    static const struct {
        const char *name;
        unsigned byte;
        uint16_t point;
    } rows[] = {{"windows-1252", 0x80, 0x20AC}, {"windows-1252", 0xE4, 0xE4},
                {"ISO-8859-15", 0xA4, 0x20AC},  {"ISO-8859-2", 0xB1, 0x105},
                {"KOI8-R", 0xC1, 0x430},        {"windows-1251", 0xE0, 0x430},
                {"ISO-8859-7", 0xE1, 0x3B1},    {"windows-874", 0xFF, 0},
                {"macintosh", 0xDB, 0x20AC},    {"ISO-8859-6", 0xC7, 0x627}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CU_ASSERT_EQUAL(charset_single_byte_table(rows[i].name)[rows[i].byte - 0x80],
                        rows[i].point);
    }
}

UNIT_MAIN("charset_tables",
          {"every encoding has a table in which no character is twice",
           every_encoding_has_a_table_in_which_no_character_is_twice},
          {"some bytes are what everybody knows", some_bytes_are_what_everybody_knows})
