#include "store/page_batch/page_node.h"

#include <errno.h>
#include <string.h>

#include "store/page_tables/page_hosts.h"

void page_node_set_path(PageNode *node, const PageSource *from, uint8_t hop)
{
    node->linked_from = from->index;
    node->linked_hash = from->hash;
    node->depth = from->depth;
    node->hop = hop;
}

void page_node_take(PageNode *node, const PageRecord *record)
{
    if (!node->moved) {
        node->depth = record->depth;
        node->linked_from = record->linked_from;
        node->linked_hash = record->linked_hash;
        node->hop = record->hop;
    }
    node->host = record->host;
    node->score = record->score;
    node->status = record->status;
    node->level = record->level;
    node->tries = record->tries;
    node->flags = record->flags;
    node->was_crawled = record->crawled;
    node->loaded = true;
}

PageRef page_node_ref(const PageNode *node, const PageCrawl *crawl)
{
    PageRef ref = {.index = node->index,
                   .hash = node->key.hash,
                   .host = node->host,
                   .url = node->url,
                   .url_length = node->length,
                   .score = node->score,
                   .depth = node->depth,
                   .linked_from = node->linked_from,
                   .status = node->status,
                   .level = node->level,
                   .tries = node->tries,
                   .hop = node->hop,
                   .flags = node->flags};
    if (crawl != NULL) {
        ref.n_crawls = crawl->n_crawls;
        ref.first_crawl = crawl->first_crawl;
        ref.last_crawl = crawl->last_crawl;
        ref.n_changes = crawl->n_changes;
        size_t length = crawl->hash_length < sizeof ref.content_hash64 ? crawl->hash_length
                                                                       : sizeof ref.content_hash64;
        if (length > 0) {
            memcpy(&ref.content_hash64, crawl->hash, length);
        }
    }
    return ref;
}

int page_node_find_host(PageNode *node, PageDBStore *store, MDB_txn *txn, Arena *arena)
{
    PageUrl parts;
    page_url_split(node->url, node->length, &parts);
    const char *origin = parts.scheme;
    size_t length = parts.scheme_length + parts.authority_length;
    if (parts.userinfo_length > 0) {
        char *joined = arena_alloc_bytes(arena, length + 1);
        if (joined == NULL) {
            return ENOMEM;
        }
        memcpy(joined, parts.scheme, parts.scheme_length);
        memcpy(joined + parts.scheme_length, parts.authority, parts.authority_length);
        origin = joined;
    }
    return page_hosts_add(store, txn, origin, length, &node->host);
}

static PageRecord record_of(const PageNode *node)
{
    return (PageRecord){.hop = node->hop,
                        .crawled = node->crawl != PAGE_NODE_NO_CRAWL || node->was_crawled,
                        .flags = node->flags,
                        .level = node->level,
                        .tries = node->tries,
                        .status = node->status,
                        .score = node->score,
                        .host = node->host,
                        .depth = node->depth,
                        .linked_from = node->linked_from,
                        .linked_hash = node->linked_hash};
}

int page_node_append(const PageNode *node, const PageCrawl *crawl, PagePackEditor *infos,
                     Buffer *scratch)
{
    PageUrl parts;
    page_url_split(node->url, node->length, &parts);
    PageRecord record = record_of(node);
    record.userinfo = parts.userinfo_length > 0;
    uint8_t head[PAGE_RECORD_MAX_BYTES];
    size_t length = page_record_write(&record, node->index, page_node_domain(node), head);
    buffer_reset(scratch);
    if (buffer_append(scratch, head, length) != RESULT_OK ||
        (record.crawled && page_crawl_append(crawl, scratch) != RESULT_OK) ||
        buffer_append(scratch, parts.userinfo, parts.userinfo_length) != RESULT_OK ||
        buffer_append(scratch, parts.path, parts.path_length) != RESULT_OK) {
        return ENOMEM;
    }
    MDB_val value = {scratch->length, scratch->data};
    return page_pack_editor_set(infos, node->index, &value);
}

/* What is behind the head of a record: crawls, of which crawl are newer, and the path. */
static Result page_node_append_rest(Buffer *out, const MDB_val *record, const PageRecord *old,
                                    const PageCrawl *crawl)
{
    const char *rest = (const char *)record->mv_data + old->head_length;
    if (crawl == NULL) {
        return buffer_append(out, rest, record->mv_size - old->head_length);
    }
    Result rc = page_crawl_append(crawl, out);
    return rc == RESULT_OK ? buffer_append(out, old->path, old->path_length) : rc;
}

int page_node_rewrite(PageNode *node, const PageCrawl *crawl, PagePackEditor *infos,
                      Buffer *scratch)
{
    MDB_val value;
    PageRecord old;
    int rc = page_pack_editor_get(infos, node->index, &value);
    if (rc != 0) {
        return rc == MDB_NOTFOUND ? MDB_CORRUPTED : rc;
    }
    if (!page_record_read(value.mv_data, value.mv_size, node->index, page_node_domain(node),
                          &old)) {
        return MDB_CORRUPTED;
    }
    if (!node->loaded) {
        page_node_take(node, &old);
    }
    PageRecord record = record_of(node);
    record.userinfo = old.userinfo;
    buffer_reset(scratch);
    uint8_t head[PAGE_RECORD_MAX_BYTES];
    size_t length = page_record_write(&record, node->index, page_node_domain(node), head);
    if (buffer_append(scratch, head, length) != RESULT_OK ||
        page_node_append_rest(scratch, &value, &old, crawl) != RESULT_OK) {
        return ENOMEM;
    }
    value = (MDB_val){scratch->length, scratch->data};
    return page_pack_editor_set(infos, node->index, &value);
}

static PageEntry page_node_entry_of(const PageNode *node)
{
    return (PageEntry){.url_hash = (uint32_t)node->key.hash,
                       .print = node->key.print,
                       .depth = node->depth < PAGE_MAX_DEPTH8 ? (uint8_t)node->depth
                                                              : (uint8_t)PAGE_MAX_DEPTH8,
                       .index = node->index};
}

bool page_node_has_new_entry(const PageNode *node)
{
    return !node->known || (node->moved && node->stored_depth != page_node_entry_of(node).depth);
}

int page_node_store_entry(MDB_cursor *cursor, const PageNode *node)
{
    uint32_t domain = page_node_domain(node);
    uint8_t bytes[PAGE_ENTRY_BYTES];
    MDB_val key = {sizeof domain, &domain};
    MDB_val value = {sizeof bytes, bytes};
    PageEntry entry = page_node_entry_of(node);
    if (node->known) {
        /* The depth is part of the entry's place: take the old one out. */
        PageEntry old = entry;
        old.depth = node->stored_depth;
        page_entry_write(&old, bytes);
        int rc = mdb_cursor_get(cursor, &key, &value, MDB_GET_BOTH);
        if (rc == 0) {
            rc = mdb_cursor_del(cursor, 0);
        }
        if (rc != 0) {
            return rc == MDB_NOTFOUND ? MDB_CORRUPTED : rc;
        }
        value = (MDB_val){sizeof bytes, bytes};
    }
    page_entry_write(&entry, bytes);
    return mdb_cursor_put(cursor, &key, &value, 0);
}
