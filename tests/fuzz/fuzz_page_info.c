/* Input: bytes as LMDB may hold them. Decoders of page records, crawls, packs, link lists and
 * varints refuse them or give values that encode to something with the same meaning; URLs are split
 * and joined without loss. The first byte chooses the decoder, the next eight an index. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exact_copy.h"
#include "store/records/page_info.h"
#include "store/format/page_links.h"
#include "store/format/page_packs.h"
#include "store/format/page_record.h"

#define DOMAIN 0x12345678u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void join(const PageRecord *record)
{
    static const char *const origins[] = {"", "http:", "http://h", "https://h:81", "ftp"};
    for (size_t i = 0; i < sizeof origins / sizeof *origins; i++) {
        size_t origin = strlen(origins[i]);
        size_t length = page_url_length(origin, record);
        assert(length == origin + record->path_length);
        char *url = malloc(length + 1);
        assert(url != NULL);
        page_url_join(origins[i], origin, record, url);
        assert(url[length] == '\0');
        free(url);
    }
}

static bool same_score(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static void page_record(const void *bytes, size_t size, uint64_t index)
{
    PageRecord record, again;
    if (!page_record_read(bytes, size, index, DOMAIN, &record)) {
        return;
    }
    join(&record);
    uint8_t head[PAGE_RECORD_MAX_BYTES];
    size_t length = page_record_write(&record, index, DOMAIN, head);
    assert(length <= sizeof head);
    size_t rest = size - record.head_length; /* crawls and path */
    uint8_t *whole = malloc(length + rest + 1);
    assert(whole != NULL);
    memcpy(whole, head, length);
    memcpy(whole + length, (const uint8_t *)bytes + record.head_length, rest);
    assert(page_record_read(whole, length + rest, index, DOMAIN, &again));
    assert(again.head_length == length && again.crawl_length == record.crawl_length);
    assert(record.crawl_length == 0 || memcmp(again.crawl, record.crawl, record.crawl_length) == 0);
    assert(again.crawled == record.crawled && again.userinfo == record.userinfo);
    assert(again.flags == record.flags && again.level == record.level);
    assert(again.tries == record.tries && again.status == record.status);
    assert(same_score(again.score, record.score) && again.host == record.host);
    assert(again.depth == record.depth && again.linked_from == record.linked_from);
    assert(again.linked_hash == record.linked_hash);
    assert(again.path_length == record.path_length);
    assert(memcmp(again.path, record.path, record.path_length) == 0);
    assert(again.hop == record.hop || record.hop > 'Z');
    free(whole);
}

static void print_info(const PageCrawl *crawl)
{
    static const char url[] = "http://example.org/";
    char text[PAGE_INFO_PRINT_BYTES];
    PageInfo *info = page_info_allocate(sizeof url - 1, crawl->hash_length);
    assert(info != NULL);
    memcpy(info->url, url, sizeof url);
    if (crawl->hash_length > 0) {
        memcpy(info->content_hash, crawl->hash, crawl->hash_length);
    }
    info->first_crawl = crawl->first_crawl;
    info->last_crawl = crawl->last_crawl;
    info->n_changes = crawl->n_changes;
    info->n_crawls = crawl->n_crawls;
    int n = page_info_print(info, text);
    assert(n == -1 || (size_t)n == strlen(text));
    float rate = page_info_rate(info);
    assert(rate == -1.0F || rate >= 0);
    page_info_delete(info);
}

static void page_crawl(const void *bytes, size_t size)
{
    PageCrawl crawl, again;
    if (!page_crawl_read(bytes, size, &crawl)) {
        return;
    }
    print_info(&crawl);
    uint8_t head[PAGE_CRAWL_MAX_BYTES];
    size_t length = page_crawl_write(&crawl, head);
    assert(length <= sizeof head);
    assert(page_crawl_read(head, length, &again));
    assert(again.n_crawls == crawl.n_crawls && again.n_changes == crawl.n_changes);
    assert(memcmp(&again.first_crawl, &crawl.first_crawl, sizeof(double)) == 0);
    assert(memcmp(&again.last_crawl, &crawl.last_crawl, sizeof(double)) == 0);
}

static void pack(void *bytes, size_t size, uint64_t index)
{
    MDB_val value = {size, bytes};
    MDB_val record;
    size_t n = page_pack_count(&value);
    assert(n <= PAGE_PACK_RECORDS);
    for (size_t slot = 0; slot <= PAGE_PACK_RECORDS; slot++) {
        if (page_pack_record(&value, slot, &record)) {
            assert(slot < n);
            page_record(record.mv_data, record.mv_size, index + slot);
        }
    }
}

static void link_list(const uint8_t *bytes, size_t size, uint64_t index)
{
    size_t n_diff = 0, n = 0, only = 0, n_only = 0;
    uint64_t *to = malloc(page_links_bound(size) * sizeof *to);
    uint64_t *part = malloc(page_links_bound(size) * sizeof *part);
    assert(to != NULL && part != NULL);
    bool whole = page_links_decode(index, bytes, size, false, to, &n_diff, &n);
    bool partly = page_links_decode(index, bytes, size, true, part, &only, &n_only);
    assert(partly || !whole);
    if (whole) {
        assert(n_diff <= n && n <= size && only == n_diff);
        assert(memcmp(to, part, n_diff * sizeof *to) == 0);
        uint8_t *list = malloc((n + 3) * MAX_VARINT_SIZE);
        uint64_t *again = malloc(page_links_bound((n + 3) * MAX_VARINT_SIZE) * sizeof *again);
        assert(list != NULL && again != NULL);
        size_t length = page_links_encode(index, to, n_diff, n, false, list);
        assert(length <= (n + 3) * MAX_VARINT_SIZE);
        assert(page_links_decode(index, list, length, false, again, &only, &n_only));
        assert(only == n_diff && n_only == n && memcmp(again, to, n * sizeof *to) == 0);
        free(list);
        free(again);
    }
    free(to);
    free(part);
}

static void link_record(void *bytes, size_t size, uint64_t key)
{
    PageLinksReader reader;
    MDB_val record = {size, bytes};
    const uint8_t *list = NULL;
    uint64_t index = 0;
    size_t length = 0;
    page_links_reader_init(&reader, key, &record);
    while (page_links_reader_next(&reader, &index, &list, &length) == 1) {
        link_list(list, length, index);
    }
}

static void split_and_join(const char *bytes, size_t size)
{
    PageUrl parts;
    page_url_split(bytes, size, &parts);
    assert(parts.scheme_length + parts.userinfo_length + parts.authority_length +
               parts.path_length ==
           size);
    size_t origin = parts.scheme_length + parts.authority_length;
    char *string = malloc(origin + 1);
    char *path = malloc(parts.userinfo_length + parts.path_length + 1);
    char *url = malloc(size + 1);
    assert(string != NULL && path != NULL && url != NULL);
    memcpy(string, parts.scheme, parts.scheme_length);
    memcpy(string + parts.scheme_length, parts.authority, parts.authority_length);
    memcpy(path, parts.userinfo, parts.userinfo_length);
    memcpy(path + parts.userinfo_length, parts.path, parts.path_length);
    PageRecord record = {.userinfo = parts.userinfo_length > 0,
                         .path = path,
                         .path_length = parts.userinfo_length + parts.path_length};
    page_url_join(string, origin, &record, url);
    assert(memcmp(url, bytes, size) == 0 && url[size] == '\0');
    free(string);
    free(path);
    free(url);
}

static void varints(const uint8_t *bytes, size_t size)
{
    uint64_t n = 0;
    uint8_t out[MAX_VARINT_SIZE];
    const uint8_t *end = varint_read(bytes, bytes + size, &n);
    if (end != NULL) {
        uint8_t read = 0;
        uint8_t *stop = varint_encode_uint64(n, out);
        assert(stop - out <= end - bytes);
        assert(varint_decode_uint64(out, &read) == n && read == stop - out);
        /* INT64_MIN is 1, and 1 is INT64_MIN. */
        assert(varint_sign_fold(varint_sign_unfold(n)) == n);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t index = 0;
    if (size < 1 + sizeof index) {
        return 0;
    }
    memcpy(&index, data + 1, sizeof index);
    size_t length = size - 1 - sizeof index;
    void *bytes = exact_copy(data + 1 + sizeof index, length);
    switch (data[0] % 7) {
    case 0:
        page_record(bytes, length, index);
        break;
    case 1:
        page_crawl(bytes, length);
        break;
    case 2:
        pack(bytes, length, index);
        break;
    case 3:
        link_list(bytes, length, index);
        break;
    case 4:
        link_record(bytes, length, index);
        break;
    case 5:
        split_and_join(bytes, length);
        break;
    default:
        varints(bytes, length);
        break;
    }
    free(bytes);
    return 0;
}
