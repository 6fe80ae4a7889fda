#include "store/archive/warc_record.h"

#include <stdlib.h>
#include <string.h>
#include <inttypes.h>

#include "parse/host/ip_address.h"
#include "store/cdxj/cdxj.h"
#include "store/warc/warc_http.h"

#define MEMORY_BYTES ((size_t)1 << 30)
#define KEEP_BYTES   ((size_t)1 << 20) /* of scratch memory between pages */

struct WarcRecorder {
    WarcRecorderOptions options;
    WarcCompressor *compressor;
    WarcHasher *hasher;
    WarcIds ids;
    Buffer http;   /* the HTTP header block being stored */
    Buffer record; /* the record being made, uncompressed */
    WarcOriginal original;
};

Result warc_recorder_new(WarcRecorder **recorder, const WarcRecorderOptions *options)
{
    *recorder = NULL;
    WarcRecorder *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return RESULT_MEMORY;
    }
    r->options = *options;
    if (r->options.revisit_min_bytes == 0) {
        r->options.revisit_min_bytes = 1;
    }
    buffer_init(&r->http, MEMORY_BYTES);
    buffer_init(&r->record, MEMORY_BYTES);
    warc_original_init(&r->original);
    warc_ids_init(&r->ids);
    Result rc = warc_compressor_new(&r->compressor, r->options.compression, r->options.level);
    if (rc == RESULT_OK) {
        rc = warc_hasher_new(&r->hasher);
    }
    if (rc != RESULT_OK) {
        warc_recorder_delete(r);
        return rc;
    }
    *recorder = r;
    return RESULT_OK;
}

void warc_recorder_delete(WarcRecorder *recorder)
{
    if (recorder == NULL) {
        return;
    }
    warc_compressor_delete(recorder->compressor);
    warc_hasher_delete(recorder->hasher);
    warc_original_destroy(&recorder->original);
    buffer_destroy(&recorder->http);
    buffer_destroy(&recorder->record);
    free(recorder);
}

void warc_group_init(WarcGroup *group)
{
    *group = (WarcGroup){.type = WARC_RESPONSE};
    buffer_init(&group->members, BUFFER_NO_LIMIT);
    buffer_init(&group->index, BUFFER_NO_LIMIT);
}

void warc_group_destroy(WarcGroup *group)
{
    buffer_destroy(&group->members);
    buffer_destroy(&group->index);
}

/* Forgets the records, keeps the memory. */
static void warc_group_reset(WarcGroup *group)
{
    buffer_reset(&group->members);
    buffer_reset(&group->index);
    group->main_length = 0;
    group->n_records = 0;
    group->has_payload = false;
}

/* ---- one record ---- */

/* Appends one compressed record to out. On failure out is as before. */
static Result append_record(WarcRecorder *recorder, const WarcHead *head, Buffer *out)
{
    Buffer *record = &recorder->record;
    WarcDigest block = {{0}};
    Result rc = RESULT_OK;
    if (head->block != NULL) {
        block = *head->block;
    } else {
        rc = warc_hasher_digest(recorder->hasher, head->block_head, head->block_tail, &block);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    buffer_trim(record, KEEP_BYTES);
    warc_head_put(record, head, &block);
    buffer_append(record, head->block_head.bytes, head->block_head.length);
    buffer_append(record, head->block_tail.bytes, head->block_tail.length);
    buffer_append(record, "\r\n\r\n", 4);
    rc = buffer_end(record, 0);
    return rc == RESULT_OK
               ? warc_compressor_append(recorder->compressor, record->data, record->length, out)
               : rc;
}

/* ---- groups ---- */

static bool is_target(WarcBytes uri)
{
    for (size_t i = 0; i < uri.length; i++) {
        unsigned char c = (unsigned char)uri.bytes[i];
        if (c <= 0x20 || c >= 0x7f) {
            return false;
        }
    }
    return uri.length > 0 && memchr(uri.bytes, ':', uri.length) != NULL;
}

/* The address when readers will take it, else NULL. */
static const char *valid_ip(const char *ip)
{
    IpAddress address;
    bool valid =
        ip != NULL && *ip != '[' && ip_address_parse(ip, strlen(ip), &address) == RESULT_OK;
    return valid ? ip : NULL;
}

/* Makes the main record a revisit when the payload is known. */
static void warc_record_look_up(WarcRecorder *recorder, const WarcFetch *fetch,
                                const WarcGroup *group, WarcHead *head)
{
    const WarcRecorderOptions *options = &recorder->options;
    /* A truncated payload's digest names bytes that the server never meant to be a whole. */
    if (options->find == NULL || fetch->body.length < options->revisit_min_bytes ||
        fetch->truncated != WARC_WHOLE) {
        return;
    }
    buffer_reset(&recorder->original.uri);
    if (options->find(options->find_context, &group->payload, &recorder->original) == RESULT_OK) {
        head->type = WARC_REVISIT;
        head->profile = WARC_PROFILE_IDENTICAL;
        head->refers_to = &recorder->original;
        head->block = NULL;
        head->block_tail = warc_bytes("", 0);
    }
}

static Result index_main(const WarcHead *head, unsigned status, WarcBytes mime, WarcGroup *group)
{
    CdxjFacts facts = {.url = head->uri,
                       .date = head->date,
                       .type = head->type,
                       .status = status,
                       .mime = mime,
                       .usage = head->usage == NULL ? warc_bytes("", 0)
                                                    : warc_bytes(head->usage, strlen(head->usage)),
                       .digest = group->has_payload ? &group->payload : NULL};
    return cdxj_append_facts(&group->index, &facts);
}

/* The header block as it is stored, in recorder->http. */
static Result make_header(WarcRecorder *recorder, const WarcFetch *fetch, WarcTruncation truncated,
                          WarcHttp *http)
{
    buffer_trim(&recorder->http, KEEP_BYTES);
    Result rc = warc_http_response(fetch->header, fetch->body, truncated, &recorder->http);
    return rc == RESULT_OK ? warc_http_parse_response(
                                 warc_bytes(recorder->http.data, recorder->http.length), http)
                           : rc;
}

/* A 304 that answers a condition: it stands for a capture that may be known. */
static bool warc_record_is_confirmation(const WarcFetch *fetch, const WarcHttp *http)
{
    return http->status == 304 &&
           (fetch->not_modified != NULL || warc_http_is_conditional(fetch->request));
}

static void make_confirmation(const WarcFetch *fetch, WarcGroup *group, WarcHead *head)
{
    head->type = WARC_REVISIT;
    head->profile = WARC_PROFILE_NOT_MODIFIED;
    head->refers_to = fetch->not_modified;
    head->block_tail = warc_bytes("", 0);
    if (fetch->not_modified_payload != NULL) {
        group->payload = *fetch->not_modified_payload;
        group->has_payload = true;
        head->payload = &group->payload;
    }
}

static Result add_main(WarcRecorder *recorder, const WarcFetch *fetch, WarcGroup *group)
{
    WarcHttp http;
    WarcDigest block;
    Result rc = make_header(recorder, fetch, fetch->truncated, &http);
    bool confirms = rc == RESULT_OK && warc_record_is_confirmation(fetch, &http);
    if (confirms) {
        /* No body, nothing to contradict: the length it names is that of the earlier capture. */
        rc = make_header(recorder, fetch, WARC_TRUNCATED_UNSPECIFIED, &http);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    WarcBytes header = warc_bytes(recorder->http.data, recorder->http.length);
    WarcHead head = {.type = WARC_RESPONSE,
                     .date = fetch->started,
                     .uri = fetch->url,
                     .ip = valid_ip(fetch->ip),
                     .content_type = "application/http; msgtype=response",
                     .protocol = fetch->protocol,
                     .tls = fetch->tls,
                     .cipher = fetch->cipher,
                     .usage = fetch->usage,
                     .truncated = warc_truncation_name(fetch->truncated),
                     .id = &group->id,
                     .block_head = header,
                     .block_tail = fetch->body};
    if (confirms) {
        make_confirmation(fetch, group, &head);
    } else {
        rc = warc_hasher_pair(recorder->hasher, header, fetch->body, &block, &group->payload);
        group->has_payload = true;
        head.block = &block;
        head.payload = &group->payload;
        warc_record_look_up(recorder, fetch, group, &head);
    }
    group->type = head.type;
    group->whole = fetch->truncated == WARC_WHOLE;
    if (rc == RESULT_OK) {
        rc = append_record(recorder, &head, &group->members);
    }
    return rc == RESULT_OK ? index_main(&head, http.status, http.content_type, group) : rc;
}

static Result add_request(WarcRecorder *recorder, const WarcFetch *fetch, WarcGroup *group)
{
    WarcId id = group->id;
    bool is_alone = group->n_records == 0;
    buffer_trim(&recorder->http, KEEP_BYTES);
    Result rc = warc_http_request(fetch->request, &recorder->http);
    if (rc == RESULT_OK && !is_alone) {
        rc = warc_ids_next(&recorder->ids, &id);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    WarcHead head = {.type = WARC_REQUEST,
                     .date = fetch->started,
                     .uri = fetch->url,
                     .ip = valid_ip(fetch->ip),
                     .content_type = "application/http; msgtype=request",
                     .protocol = fetch->protocol,
                     .tls = fetch->tls,
                     .cipher = fetch->cipher,
                     .id = &id,
                     .concurrent_to = is_alone ? NULL : &group->id,
                     .block_head = warc_bytes(recorder->http.data, recorder->http.length),
                     .block_tail = warc_bytes("", 0)};
    group->n_records++;
    group->type = is_alone ? WARC_REQUEST : group->type;
    rc = append_record(recorder, &head, &group->members);
    group->main_length = is_alone ? group->members.length : group->main_length;
    return rc;
}

Result warc_record_fetch(WarcRecorder *recorder, const WarcFetch *fetch, WarcGroup *group)
{
    warc_group_reset(group);
    group->date = fetch->started;
    Result rc = is_target(fetch->url) ? warc_ids_next(&recorder->ids, &group->id) : RESULT_INVALID;
    bool is_alone = fetch->header.length == 0 && fetch->body.length == 0;
    if (rc == RESULT_OK && !is_alone) {
        rc = add_main(recorder, fetch, group);
        group->main_length = group->members.length;
        group->n_records = 1;
    }
    if (rc == RESULT_OK && fetch->request.length > 0) {
        rc = add_request(recorder, fetch, group);
    } else if (is_alone) {
        rc = RESULT_INVALID;
    }
    buffer_fit(&group->members); /* it waits for its commit, with thousands of others */
    if (rc != RESULT_OK) {
        warc_group_reset(group);
    }
    return rc;
}

Result warc_record_resource(WarcRecorder *recorder, const WarcResource *resource, WarcGroup *group)
{
    warc_group_reset(group);
    group->date = resource->started;
    group->type = resource->converts == NULL ? WARC_RESOURCE : WARC_CONVERSION;
    group->whole = true;
    Result rc =
        is_target(resource->uri) ? warc_ids_next(&recorder->ids, &group->id) : RESULT_INVALID;
    if (rc == RESULT_OK) {
        rc = warc_hasher_digest(recorder->hasher, resource->block, warc_bytes("", 0),
                                &group->payload);
    }
    if (rc == RESULT_OK) {
        WarcHead head = {.type = group->type,
                         .date = resource->started,
                         .uri = resource->uri,
                         .converts = resource->converts,
                         .ip = valid_ip(resource->ip),
                         .content_type = resource->content_type,
                         .id = &group->id,
                         .payload = &group->payload,
                         .block_head = resource->block,
                         .block_tail = warc_bytes("", 0)};
        group->has_payload = true;
        group->n_records = 1;
        rc = append_record(recorder, &head, &group->members);
        group->main_length = group->members.length;
        if (rc == RESULT_OK) {
            const char *type = resource->content_type;
            rc = index_main(&head, 0, warc_bytes(type, strcspn(type, "; \t")), group);
        }
    }
    if (rc != RESULT_OK) {
        warc_group_reset(group);
    }
    return rc;
}

Result warc_record_metadata(WarcRecorder *recorder, WarcBytes uri, WarcBytes fields,
                            WarcGroup *group)
{
    WarcId id;
    if (fields.length == 0) {
        return RESULT_OK;
    }
    Result rc = warc_ids_next(&recorder->ids, &id);
    if (rc != RESULT_OK) {
        return rc;
    }
    WarcHead head = {.type = WARC_METADATA,
                     .date = group->date,
                     .uri = uri,
                     .content_type = "application/warc-fields",
                     .id = &id,
                     .concurrent_to = &group->id,
                     .block_head = fields,
                     .block_tail = warc_bytes("", 0)};
    rc = append_record(recorder, &head, &group->members);
    group->n_records += rc == RESULT_OK ? 1 : 0;
    return rc;
}

Result warc_record_info(WarcRecorder *recorder, WallTime date, const char *filename,
                        WarcBytes fields, Buffer *out)
{
    WarcId id;
    Result rc = warc_ids_next(&recorder->ids, &id);
    if (rc != RESULT_OK) {
        return rc;
    }
    WarcHead head = {.type = WARC_WARCINFO,
                     .date = date,
                     .uri = {.bytes = NULL},
                     .filename = filename,
                     .content_type = "application/warc-fields",
                     .id = &id,
                     .block_head = fields,
                     .block_tail = warc_bytes("", 0)};
    return append_record(recorder, &head, out);
}

Result warc_fields_add(Buffer *fields, const char *name, const char *value, size_t length)
{
    size_t before = fields->length;
    buffer_printf(fields, "%s: ", name);
    size_t start = fields->length;
    buffer_append(fields, value, length);
    for (size_t i = start; i < fields->length; i++) {
        unsigned char c = (unsigned char)fields->data[i];
        fields->data[i] = c < 0x20 || c == 0x7f ? ' ' : (char)c;
    }
    buffer_append(fields, "\r\n", 2);
    return buffer_end(fields, before);
}

/* ---- warc metadata ---- */

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
