#include "parse/text/language_tag.h"

#include "parse/text/skim_scan.h"

/* 0: no such character is in a tag. */
static char tag_char(char c)
{
    if ((scan_class(c) & SCAN_LETTER) != 0) {
        return (char)(c | 0x20);
    }
    return (c >= '0' && c <= '9') || c == '-' ? c : '\0';
}

bool language_tag_read(const char *text, size_t length, char tag[LANGUAGE_TAG_BYTES])
{
    const char *p = skip_class(text, text + length, SCAN_SPACE);
    const char *end = text + length;
    size_t n = 0;
    tag[0] = '\0';
    while (p < end && n < LANGUAGE_TAG_BYTES - 1 && tag_char(*p) != '\0') {
        tag[n++] = tag_char(*p++);
    }
    if (n < 2 || (scan_class(tag[0]) & SCAN_LETTER) == 0 || skip_class(p, end, SCAN_SPACE) != end) {
        tag[0] = '\0';
        return false;
    }
    tag[n] = '\0';
    return true;
}
