/* Sitemaps as programs write them that leave stripping to their readers. */
#include <string.h>

#include "trick.h"

static bool is_path(const TrickCall *call, const char *path)
{
    return call->path_length == (int)strlen(path) &&
           memcmp(call->path, path, (size_t)call->path_length) == 0;
}

/* One entry: U+00A0 and U+3000 before the address; U+2028, a line break and U+FEFF behind it. */
static void add_entry(const TrickCall *call, Reply *reply, const char *element, const char *path)
{
    reply_printf(
        reply, "<%s><loc>\xc2\xa0\xe3\x80\x80http://%.*s/%s\xe2\x80\xa8\n\xef\xbb\xbf</loc></%s>\n",
        element, call->host_length, call->host, path, element);
}

void trick_sitemap_blanks(const TrickCall *call, Reply *reply)
{
    static const char begin[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    static const char space[] = "xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"";
    if (is_path(call, "/robots.txt")) {
        reply_printf(reply, "User-agent: *\nSitemap: http://%.*s/index.xml\n", call->host_length,
                     call->host);
        reply_finish(reply, 200, "text/plain", "");
    } else if (is_path(call, "/index.xml")) {
        reply_printf(reply, "%s<sitemapindex %s>\n", begin, space);
        add_entry(call, reply, "sitemap", "part.xml");
        reply_append_string(reply, "</sitemapindex>\n");
        reply_finish(reply, 200, "application/xml", "");
    } else if (is_path(call, "/part.xml")) {
        reply_printf(reply, "%s<urlset %s>\n", begin, space);
        for (const char *digit = "123456789"; *digit != '\0'; digit++) {
            add_entry(call, reply, "url", (char[]){*digit, '.', 'h', 't', 'm', 'l', '\0'});
        }
        reply_append_string(reply, "</urlset>\n");
        reply_finish(reply, 200, "application/xml", "");
    } else if (call->path_length == 1) {
        reply_finish_status(reply, 404, "");
    } else {
        reply_printf(reply, "<!DOCTYPE html>\n<title>%.*s</title>\n<p>%.*s</p>\n",
                     call->path_length, call->path, call->host_length, call->host);
        reply_finish(reply, 200, "text/html; charset=utf-8", "");
    }
}
