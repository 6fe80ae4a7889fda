#include "page.h"

#include <string.h>

#define FRAME_BYTES 200 /* header, title and end of a page, roughly */
#define LINK_BYTES  60  /* of markup, roughly */
#define LEAST_TEXT  40

static void add_slice(PageWriter *page, size_t bytes)
{
    TextSlice slice = text_slice(page->text, random_next(page->random), bytes);
    reply_append_static(page->reply, slice.bytes, slice.length);
}

void page_begin(PageWriter *page, uint64_t number, size_t page_bytes, uint32_t n_links)
{
    /* Half to one and a half times the mean, so that sizes differ. */
    double size = (double)page_bytes * (0.5 + random_unit(page->random));
    double text = size - FRAME_BYTES - (double)n_links * LINK_BYTES;
    double per_link = text / (n_links + 1);
    page->bytes_per_link = per_link > LEAST_TEXT ? (size_t)per_link - LEAST_TEXT : 0;
    char name[TEXT_NAME_BYTES];
    text_name(number, name);
    reply_printf(page->reply,
                 "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                 "<title>About %s</title>\n</head>\n<body>\n<h1>About %s</h1>\n<p>",
                 name, name);
}

void page_link(PageWriter *page, const char *href)
{
    static const char before[] = "<a href=\"";
    static const char after[] = "\">more of it</a></p>\n<p>";
    add_slice(page, page->bytes_per_link);
    reply_append(page->reply, before, sizeof before - 1);
    reply_append_string(page->reply, href);
    reply_append(page->reply, after, sizeof after - 1);
}

void page_end(PageWriter *page)
{
    page_end_with(page, "");
}

void page_end_with(PageWriter *page, const char *extra)
{
    static const char end[] = "</p>\n</body>\n</html>\n";
    add_slice(page, page->bytes_per_link);
    reply_append_static(page->reply, end, sizeof end - 1);
    reply_finish(page->reply, 200, "text/html; charset=utf-8", extra);
}
