#include "documentation_page.h"

#define PAGE_ANCHORS 107
#define PAGE_BYTES   26000

void documentation_page(Buffer *page)
{
    static const char *const words[] = {"index", "table",   "server",        "value",   "of",
                                        "the",   "and",     "configuration", "to",      "function",
                                        "a",     "returns", "directory",     "example", "with",
                                        "is",    "12",      "queries"};
    const size_t n_words = sizeof words / sizeof *words;
    (void)buffer_append_string(
        page, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>7.3. "
              "Functions &#8212; Manual</title>\n<link rel=\"stylesheet\" href=\"../style.css\" "
              "type=\"text/css\">\n<script src=\"../search.js\"></script>\n</head>\n<body>\n");
    unsigned seed = 1;
    unsigned anchors = 0;
    while (page->length < PAGE_BYTES) {
        (void)buffer_append_string(page, "<p class=\"simpara\" id=\"par\">");
        for (unsigned i = 0; i < 40; i++) {
            seed = seed * 1103515245u + 12345u;
            unsigned pick = seed >> 16;
            if (i % 16 == 3 && anchors < PAGE_ANCHORS &&
                (size_t)anchors * PAGE_BYTES <= page->length * (size_t)PAGE_ANCHORS) {
                (void)buffer_printf(page,
                                    pick % 3 == 0
                                        ? "<a class=\"xref\" href=\"#section-%u\" title=\"x\">"
                                        : "<a class=\"xref\" href=\"functions-%u.html\">",
                                    anchors++);
                (void)buffer_printf(page, "%s</a> ", words[pick % n_words]);
            } else if (i % 11 == 7) {
                (void)buffer_printf(page, "<code class=\"literal\">%s</code> ",
                                    words[pick % n_words]);
            } else {
                (void)buffer_printf(page, "%s ", words[pick % n_words]);
            }
        }
        (void)buffer_append_string(page, "&quot;end&quot;.</p>\n");
    }
    (void)buffer_append_string(page, "</body>\n</html>\n");
}
