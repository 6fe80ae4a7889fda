/* What a page says of its language. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse/text/language_tag.h"
#include "unit.h"

#define LONGEST "abcdefgh-abcdefgh-abcdefgh-abcdefgh" /* 35 bytes */

static void tags_are_made_comparable(void)
{
    static const struct {
        const char *text;
        const char *tag; /* NULL: none */
    } rows[] = {{"en", "en"},
                {" de-AT\n", "de-at"},
                {"zh-Hans-CN", "zh-hans-cn"},
                {"x", NULL},
                {"", NULL},
                {"  ", NULL},
                {"en, de", NULL},
                {"en de", NULL},
                {"en_US", NULL},
                {"1a", NULL},
                {"-en", NULL},
                {"\xC3\xA9n", NULL},
                {LONGEST, LONGEST},
                {LONGEST "x", NULL},
                {LONGEST " ", LONGEST}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char tag[LANGUAGE_TAG_BYTES] = "?";
        size_t length = strlen(rows[i].text);
        char *copy = malloc(length + (length == 0)); /* a read behind it is seen */
        memcpy(copy, rows[i].text, length);
        CU_ASSERT_EQUAL(language_tag_read(copy, length, tag), rows[i].tag != NULL);
        CU_ASSERT_STRING_EQUAL(tag, rows[i].tag == NULL ? "" : rows[i].tag);
        free(copy);
    }
}

UNIT_MAIN("language_tag", {"tags are made comparable", tags_are_made_comparable})
