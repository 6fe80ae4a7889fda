#include "store/archive/warc_metadata.h"

#include <inttypes.h>
#include <string.h>

#include "store/archive/warc_record.h"

static void warc_metadata_add(Buffer *fields, const char *name, const char *value, size_t length)
{
    Result rc = warc_fields_add(fields, name, value, length);
    fields->failed = rc == RESULT_OK ? fields->failed : rc;
}

Result warc_metadata_discovery(Buffer *fields, const WarcDiscovery *discovery)
{
    size_t before = fields->length;
    if (discovery->via.length > 0) {
        warc_metadata_add(fields, "via", discovery->via.bytes, discovery->via.length);
    }
    if (discovery->hops != NULL && discovery->hops[0] != '\0') {
        warc_metadata_add(fields, "hopsFromSeed", discovery->hops, strlen(discovery->hops));
    }
    if (discovery->duration_ms >= 0) {
        buffer_printf(fields, "fetchTimeMs: %" PRId64 "\r\n", discovery->duration_ms);
    }
    return buffer_end(fields, before);
}

Result warc_metadata_tls(Buffer *fields, const WarcTls *tls)
{
    size_t before = fields->length;
    char expiry[CLOCK_TEXT_BYTES];
    warc_metadata_add(fields, "tls-protocol", tls->version, strlen(tls->version));
    warc_metadata_add(fields, "tls-verification", tls->verdict, strlen(tls->verdict));
    if (tls->expiry.us != 0) {
        (void)wall_format_iso(tls->expiry, expiry);
        warc_metadata_add(fields, "tls-certificate-expiry", expiry, strlen(expiry));
    }
    return buffer_end(fields, before);
}

static void warc_metadata_add_usage(Buffer *fields, const char *name, unsigned bits)
{
    if (bits != 0) {
        buffer_append_string(fields, name);
        (void)usage_print(bits, fields);
        buffer_append_string(fields, "\r\n");
    }
}

Result warc_metadata_usage(Buffer *fields, Usage usage)
{
    size_t before = fields->length;
    warc_metadata_add_usage(fields, "usage-denied: ", usage.denied);
    warc_metadata_add_usage(fields, "usage-allowed: ", usage.allowed);
    return buffer_end(fields, before);
}

Result warc_metadata_page(Buffer *fields, const Page *page)
{
    size_t before = fields->length;
    if (page->encoding != NULL) {
        warc_metadata_add(fields, "charsetForLinkExtraction", page->encoding,
                          strlen(page->encoding));
    }
    if ((page->text_digest[0] | page->text_digest[1]) != 0) {
        buffer_printf(fields, "text-digest: %016" PRIx64 "%016" PRIx64 "\r\n", page->text_digest[0],
                      page->text_digest[1]);
    }
    if (page->simhash != 0) {
        buffer_printf(fields, "text-simhash: %016" PRIx64 "\r\n", page->simhash);
    }
    return buffer_end(fields, before);
}

/* Heritrix's letters: L a link to follow, E something the page embeds, R a redirect. */
static char warc_metadata_hop_of(const PageLink *link)
{
    switch ((LinkKind)link->kind) {
    case LINK_FRAME:
    case LINK_IFRAME:
    case LINK_IMG:
    case LINK_SCRIPT:
    case LINK_MEDIA:
    case LINK_EMBED:
    case LINK_OBJECT:
    case LINK_INPUT:
    case LINK_BODY:
    case LINK_STYLE:
        return 'E';
    case LINK_LINK:
        return (link->flags & LINK_PAGE) != 0 ? 'L' : 'E';
    case LINK_META:
    case LINK_REDIRECT:
        return 'R';
    case LINK_A:
    case LINK_AREA:
    case LINK_FORM:
    case LINK_HEADER:
    case LINK_SITEMAP:
    case LINK_FEED:
    case LINK_RENDERED:
    case LINK_KINDS:
        break;
    }
    return 'L';
}

Result warc_metadata_outlink(Buffer *fields, const PageLink *link)
{
    size_t before = fields->length;
    buffer_printf(fields, "outlink: %.*s %c %s", (int)link->length, link->url,
                  warc_metadata_hop_of(link), link_kind_name((LinkKind)link->kind));
    if ((link->flags & LINK_NOFOLLOW) != 0) {
        buffer_append_string(fields, " nofollow");
    }
    if ((link->flags & LINK_UGC) != 0) {
        buffer_append_string(fields, " ugc");
    }
    if ((link->flags & LINK_SPONSORED) != 0) {
        buffer_append_string(fields, " sponsored");
    }
    buffer_append_string(fields, "\r\n");
    return buffer_end(fields, before);
}

Result warc_metadata_outlinks(Buffer *fields, const Page *page)
{
    size_t before = fields->length;
    const PageLink *last = NULL;
    for (size_t i = 0; i < page->n_links; i++) {
        const PageLink *link = &page->links[i];
        bool again = last != NULL && last->length == link->length && last->kind == link->kind &&
                     memcmp(last->url, link->url, link->length) == 0;
        Result rc = again ? RESULT_OK : warc_metadata_outlink(fields, link);
        if (rc != RESULT_OK) {
            fields->failed = rc;
            break;
        }
        last = link;
    }
    return buffer_end(fields, before);
}
