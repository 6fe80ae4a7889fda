#include "store/archive/warc_metadata.h"

#include <inttypes.h>
#include <string.h>

#include "store/archive/warc_record.h"

/* Appending stopped: fields is as before. */
static Result undo(Buffer *fields, size_t before, Result rc)
{
    if (rc != RESULT_OK && fields->data != NULL) {
        fields->length = before;
        fields->data[before] = '\0';
    }
    return rc;
}

static Result add_string(Buffer *fields, const char *name, const char *value)
{
    return warc_fields_add(fields, name, value, strlen(value));
}

Result warc_metadata_discovery(Buffer *fields, const WarcDiscovery *discovery)
{
    size_t before = fields->length;
    Result rc = RESULT_OK;
    if (discovery->via.length > 0) {
        rc = warc_fields_add(fields, "via", discovery->via.bytes, discovery->via.length);
    }
    if (rc == RESULT_OK && discovery->hops != NULL && discovery->hops[0] != '\0') {
        rc = add_string(fields, "hopsFromSeed", discovery->hops);
    }
    if (rc == RESULT_OK && discovery->duration_ms >= 0) {
        rc = buffer_printf(fields, "fetchTimeMs: %" PRId64 "\r\n", discovery->duration_ms);
    }
    return undo(fields, before, rc);
}

Result warc_metadata_tls(Buffer *fields, const WarcTls *tls)
{
    size_t before = fields->length;
    char expiry[CLOCK_TEXT_BYTES];
    Result rc = add_string(fields, "tls-protocol", tls->version);
    rc = rc == RESULT_OK ? add_string(fields, "tls-verification", tls->verdict) : rc;
    if (rc == RESULT_OK && tls->expiry.us != 0) {
        rc = add_string(fields, "tls-certificate-expiry", wall_format_iso(tls->expiry, expiry));
    }
    return undo(fields, before, rc);
}

Result warc_metadata_usage(Buffer *fields, Usage usage)
{
    size_t before = fields->length;
    Result rc = RESULT_OK;
    const struct {
        const char *name;
        unsigned bits;
    } rows[] = {{"usage-denied: ", usage.denied}, {"usage-allowed: ", usage.allowed}};
    for (size_t i = 0; i < 2 && rc == RESULT_OK; i++) {
        if (rows[i].bits != 0) {
            rc = buffer_append_string(fields, rows[i].name);
            rc = rc == RESULT_OK ? usage_print(rows[i].bits, fields) : rc;
            rc = rc == RESULT_OK ? buffer_append_string(fields, "\r\n") : rc;
        }
    }
    return undo(fields, before, rc);
}

Result warc_metadata_page(Buffer *fields, const Page *page)
{
    size_t before = fields->length;
    Result rc = RESULT_OK;
    if (page->encoding != NULL) {
        rc = add_string(fields, "charsetForLinkExtraction", page->encoding);
    }
    if (rc == RESULT_OK && (page->text_digest[0] | page->text_digest[1]) != 0) {
        rc = buffer_printf(fields, "text-digest: %016" PRIx64 "%016" PRIx64 "\r\n",
                           page->text_digest[0], page->text_digest[1]);
    }
    if (rc == RESULT_OK && page->simhash != 0) {
        rc = buffer_printf(fields, "text-simhash: %016" PRIx64 "\r\n", page->simhash);
    }
    return undo(fields, before, rc);
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
    LinkKind kind = (LinkKind)link->kind;
    Result rc = buffer_printf(fields, "outlink: %.*s %c %s", (int)link->length, link->url,
                              warc_metadata_hop_of(link), link_kind_name(kind));
    if (rc == RESULT_OK && (link->flags & LINK_NOFOLLOW) != 0) {
        rc = buffer_append_string(fields, " nofollow");
    }
    if (rc == RESULT_OK && (link->flags & LINK_UGC) != 0) {
        rc = buffer_append_string(fields, " ugc");
    }
    if (rc == RESULT_OK && (link->flags & LINK_SPONSORED) != 0) {
        rc = buffer_append_string(fields, " sponsored");
    }
    rc = rc == RESULT_OK ? buffer_append_string(fields, "\r\n") : rc;
    return undo(fields, before, rc);
}

Result warc_metadata_outlinks(Buffer *fields, const Page *page)
{
    size_t before = fields->length;
    Result rc = RESULT_OK;
    const PageLink *last = NULL;
    for (size_t i = 0; i < page->n_links && rc == RESULT_OK; i++) {
        const PageLink *link = &page->links[i];
        bool again = last != NULL && last->length == link->length && last->kind == link->kind &&
                     memcmp(last->url, link->url, link->length) == 0;
        if (!again) {
            rc = warc_metadata_outlink(fields, link);
            last = link;
        }
    }
    return undo(fields, before, rc);
}
