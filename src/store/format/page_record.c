#include "store/format/page_record.h"

#include <endian.h>
#include <string.h>

#include "store/records/page_ref.h"
#include "store/records/url_parts.h"

#define HOP_MASK      0x1fu
#define MARK_CRAWLED  0x20u
#define MARK_USERINFO 0x40u
#define MARK_SAME     0x80u /* linked from the same domain */

enum { AT_HOP = 0, AT_FLAGS, AT_LEVEL, AT_TRIES, AT_STATUS, AT_SCORE = 6 };

static void page_record_put_double(double x, uint8_t *out)
{
    uint64_t bits = 0;
    memcpy(&bits, &x, sizeof bits);
    bits = htole64(bits);
    memcpy(out, &bits, sizeof bits);
}

static double page_record_get_double(const uint8_t *in)
{
    uint64_t bits = 0;
    memcpy(&bits, in, sizeof bits);
    bits = le64toh(bits);
    double x = 0;
    memcpy(&x, &bits, sizeof x);
    return x;
}

float page_record_score(const void *bytes)
{
    uint32_t bits = 0;
    memcpy(&bits, (const uint8_t *)bytes + AT_SCORE, sizeof bits);
    bits = le32toh(bits);
    float score = 0;
    memcpy(&score, &bits, sizeof score);
    return score;
}

void page_record_write_head(const PageRecord *record, uint8_t *out)
{
    unsigned hop = record->hop >= 'A' && record->hop <= 'Z' ? record->hop - 'A' + 1u : 0u;
    out[AT_HOP] =
        (uint8_t)((out[AT_HOP] & MARK_SAME) | hop | (record->crawled ? MARK_CRAWLED : 0u) |
                  (record->userinfo ? MARK_USERINFO : 0u));
    out[AT_FLAGS] = record->flags;
    out[AT_LEVEL] = record->level;
    out[AT_TRIES] = record->tries;
    int32_t status = record->status > INT16_MAX ? INT16_MAX : record->status;
    uint16_t status_bits = htole16((uint16_t)(status < INT16_MIN ? INT16_MIN : status));
    memcpy(out + AT_STATUS, &status_bits, sizeof status_bits);
    uint32_t score_bits = 0;
    memcpy(&score_bits, &record->score, sizeof score_bits);
    score_bits = htole32(score_bits);
    memcpy(out + AT_SCORE, &score_bits, sizeof score_bits);
}

size_t page_record_write(const PageRecord *record, uint64_t index, uint32_t domain, uint8_t *out)
{
    bool same = record->linked_hash >> 32 == domain;
    out[AT_HOP] = same ? (uint8_t)MARK_SAME : 0;
    page_record_write_head(record, out);
    uint8_t *p = out + PAGE_RECORD_HEAD_BYTES;
    p = varint_encode_uint64(record->host, p);
    p = varint_encode_uint64(record->depth, p);
    /* A page is never on its own path, so 0 is free to mean "none". */
    uint64_t from = record->linked_from == PAGE_DB_NO_INDEX
                        ? 0
                        : varint_sign_fold((int64_t)(index - record->linked_from));
    p = varint_encode_uint64(from, p);
    if (from != 0) {
        uint64_t hash = htole64(record->linked_hash);
        size_t bytes = same ? sizeof hash / 2 : sizeof hash;
        memcpy(p, &hash, bytes);
        p += bytes;
    }
    return (size_t)(p - out);
}

bool page_record_read(const void *bytes, size_t length, uint64_t index, uint32_t domain,
                      PageRecord *record)
{
    const uint8_t *p = bytes;
    const uint8_t *end = p + length;
    if (length < PAGE_RECORD_HEAD_BYTES) {
        return false;
    }
    unsigned hop = p[AT_HOP] & HOP_MASK;
    uint16_t status = 0;
    memcpy(&status, p + AT_STATUS, sizeof status);
    record->hop = (uint8_t)(hop == 0 ? 0 : 'A' + hop - 1);
    record->crawled = (p[AT_HOP] & MARK_CRAWLED) != 0;
    record->userinfo = (p[AT_HOP] & MARK_USERINFO) != 0;
    record->flags = p[AT_FLAGS];
    record->level = p[AT_LEVEL];
    record->tries = p[AT_TRIES];
    record->status = (int16_t)le16toh(status);
    record->score = page_record_score(bytes);
    uint64_t host = 0, from = 0;
    p = varint_read(p + PAGE_RECORD_HEAD_BYTES, end, &host);
    p = p == NULL ? NULL : varint_read(p, end, &record->depth);
    p = p == NULL ? NULL : varint_read(p, end, &from);
    if (p == NULL || host > UINT32_MAX) {
        return false;
    }
    record->host = (uint32_t)host;
    record->linked_from = from == 0 ? PAGE_DB_NO_INDEX : index - (uint64_t)varint_sign_unfold(from);
    record->linked_hash = 0;
    if (from != 0 && record->linked_from == PAGE_DB_NO_INDEX) {
        return false; /* nothing that was written: a page that is none */
    }
    if (from != 0) {
        bool same = (((const uint8_t *)bytes)[AT_HOP] & MARK_SAME) != 0;
        uint64_t hash = 0;
        size_t size = same ? sizeof hash / 2 : sizeof hash;
        if ((size_t)(end - p) < size) {
            return false;
        }
        memcpy(&hash, p, size);
        record->linked_hash = le64toh(hash) | (same ? (uint64_t)domain << 32 : 0);
        p += size;
    }
    record->head_length = (size_t)(p - (const uint8_t *)bytes);
    record->crawl = NULL;
    record->crawl_length = 0;
    if (record->crawled) {
        uint64_t crawl_length = 0;
        p = varint_read(p, end, &crawl_length);
        if (p == NULL || crawl_length > (uint64_t)(end - p)) {
            return false;
        }
        record->crawl = p;
        record->crawl_length = (size_t)crawl_length;
        p += crawl_length;
    }
    record->path = (const char *)p;
    record->path_length = (size_t)(end - p);
    return true;
}

void page_url_split(const char *url, size_t length, PageUrl *parts)
{
    UrlParts at;
    if (!url_parts(url, length, &at)) {
        at = (UrlParts){0, 0, 0, 0};
    }
    *parts = (PageUrl){.scheme = url,
                       .scheme_length = at.authority_start,
                       .authority = url + at.host_start,
                       .authority_length = at.authority_end - at.host_start,
                       .userinfo = url + at.authority_start,
                       .userinfo_length = at.host_start - at.authority_start,
                       .path = url + at.authority_end,
                       .path_length = length - at.authority_end};
}

size_t page_url_length(size_t origin_length, const PageRecord *record)
{
    return origin_length + record->path_length;
}

static size_t userinfo_length(const PageRecord *record)
{
    size_t length = 0;
    for (size_t i = 0; i < record->path_length; i++) {
        char c = record->path[i];
        if (c == '/' || c == '?' || c == '#' || c == '\\') {
            break;
        }
        if (c == '@') {
            length = i + 1;
        }
    }
    return length;
}

void page_url_join(const char *origin, size_t origin_length, const PageRecord *record, char *out)
{
    if (!record->userinfo) {
        memcpy(out, origin, origin_length);
        memcpy(out + origin_length, record->path, record->path_length);
    } else {
        /* "http://" | user@ | host:port | path */
        size_t scheme = origin_length > 4 && origin[4] == 's' ? 8 : 7;
        scheme = scheme > origin_length ? origin_length : scheme;
        size_t user = userinfo_length(record);
        char *p = mempcpy(out, origin, scheme);
        p = mempcpy(p, record->path, user);
        p = mempcpy(p, origin + scheme, origin_length - scheme);
        memcpy(p, record->path + user, record->path_length - user);
    }
    out[origin_length + record->path_length] = '\0';
}

size_t page_crawl_write(const PageCrawl *crawl, uint8_t *out)
{
    uint8_t *p = varint_encode_uint64(crawl->n_crawls, out);
    page_record_put_double(crawl->first_crawl, p);
    p += sizeof(double);
    if (crawl->n_crawls > 1) {
        page_record_put_double(crawl->last_crawl, p);
        p = varint_encode_uint64(crawl->n_changes, p + sizeof(double));
    }
    return (size_t)(p - out);
}

bool page_crawl_read(const void *bytes, size_t length, PageCrawl *crawl)
{
    const uint8_t *p = bytes;
    const uint8_t *end = p + length;
    p = varint_read(p, end, &crawl->n_crawls);
    if (p == NULL || (size_t)(end - p) < sizeof(double)) {
        return false;
    }
    crawl->first_crawl = page_record_get_double(p);
    crawl->last_crawl = crawl->first_crawl;
    crawl->n_changes = 0;
    p += sizeof(double);
    if (crawl->n_crawls > 1) {
        if ((size_t)(end - p) < sizeof(double)) {
            return false;
        }
        crawl->last_crawl = page_record_get_double(p);
        p = varint_read(p + sizeof(double), end, &crawl->n_changes);
        if (p == NULL) {
            return false;
        }
    }
    crawl->hash = (const char *)p;
    crawl->hash_length = (size_t)(end - p);
    return true;
}

Result page_crawl_append(const PageCrawl *crawl, Buffer *record)
{
    uint8_t bytes[PAGE_CRAWL_MAX_BYTES];
    uint8_t head[MAX_VARINT_SIZE];
    size_t length = page_crawl_write(crawl, bytes);
    uint8_t *end = varint_encode_uint64(length + crawl->hash_length, head);
    Result rc = buffer_append(record, head, (size_t)(end - head));
    if (rc == RESULT_OK) {
        rc = buffer_append(record, bytes, length);
    }
    return rc == RESULT_OK ? buffer_append(record, crawl->hash, crawl->hash_length) : rc;
}
