#include "cluster/link/kept.h"

#include <stdio.h>
#include <string.h>

#include "store/lmdb/lmdb_result.h"

#define KEY_BYTES 16u

Result kept_find(MDB_txn *txn, MDB_dbi crawl, const char *key, MDB_val *value)
{
    return lmdb_get(txn, crawl, lmdb_bytes(key, strlen(key)), value, key);
}

Result kept_put(MDB_txn *txn, MDB_dbi crawl, const char *key, const void *bytes, size_t length)
{
    return lmdb_put(txn, crawl, lmdb_bytes(key, strlen(key)), lmdb_bytes(bytes, length), key);
}

Result kept_get_record(MDB_txn *txn, MDB_dbi crawl, const char *key, const WireRecord *record,
                       void *value)
{
    MDB_val found;
    Result rc = kept_find(txn, crawl, key, &found);
    if (rc != RESULT_OK) {
        return rc;
    }
    WireReader reader = wire_reader(found.mv_data, found.mv_size);
    wire_get(&reader, record, value);
    return wire_reader_ended(&reader) ? RESULT_OK : RESULT_DAMAGED;
}

Result kept_put_record(MDB_txn *txn, MDB_dbi crawl, const char *key, const WireRecord *record,
                       const void *value)
{
    Buffer bytes = {.limit = BUFFER_NO_LIMIT};
    WireWriter writer = wire_writer(&bytes);
    wire_put(&writer, record, value);
    Result rc = writer.rc;
    if (rc == RESULT_OK) {
        rc = kept_put(txn, crawl, key, bytes.data, bytes.length);
    }
    buffer_destroy(&bytes);
    return rc;
}

/* ---- peer marks ---- */

static const WireField mark_fields[] = {WIRE_FIELD(PeerMark, taken, 8, UINT64_MAX),
                                        WIRE_FIELD(PeerMark, heard, 8, UINT64_MAX)};
static const WireRecord peer_mark = WIRE_RECORD(PeerMark, mark_fields);

static const char *peer_mark_key(uint16_t agent, char key[KEY_BYTES])
{
    (void)snprintf(key, KEY_BYTES, "peer.%u", (unsigned)agent);
    return key;
}

Result peer_mark_read(MDB_txn *txn, MDB_dbi crawl, uint16_t agent, PeerMark *mark)
{
    char key[KEY_BYTES];
    *mark = (PeerMark){.taken = 0};
    Result rc = kept_get_record(txn, crawl, peer_mark_key(agent, key), &peer_mark, mark);
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

Result peer_mark_write(MDB_txn *txn, MDB_dbi crawl, uint16_t agent, const PeerMark *mark)
{
    char key[KEY_BYTES];
    return kept_put_record(txn, crawl, peer_mark_key(agent, key), &peer_mark, mark);
}

Result peer_mark_take(MDB_txn *txn, MDB_dbi crawl, uint16_t agent, uint64_t *taken)
{
    PeerMark mark;
    Result rc = peer_mark_read(txn, crawl, agent, &mark);
    if (rc != RESULT_OK) {
        return rc;
    }
    *taken = ++mark.taken;
    return peer_mark_write(txn, crawl, agent, &mark);
}

Result peer_mark_hear(MDB_txn *txn, MDB_dbi crawl, uint16_t agent, uint64_t taken)
{
    PeerMark mark;
    Result rc = peer_mark_read(txn, crawl, agent, &mark);
    if (rc != RESULT_OK || mark.heard >= taken) {
        return rc;
    }
    mark.heard = taken;
    return peer_mark_write(txn, crawl, agent, &mark);
}
