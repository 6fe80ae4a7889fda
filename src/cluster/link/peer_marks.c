#include "cluster/link/peer_marks.h"

#include <stdio.h>

#include "base/memory/buffer.h"
#include "cluster/wire/wire.h"
#include "store/lmdb/lmdb_result.h"

#define KEY_BYTES 16u

static MDB_val peer_mark_key(uint16_t agent, char text[KEY_BYTES])
{
    int length = snprintf(text, KEY_BYTES, "peer.%u", (unsigned)agent);
    return (MDB_val){(size_t)length, text};
}

Result peer_mark_read(MDB_txn *txn, MDB_dbi crawl, uint16_t agent, PeerMark *mark)
{
    char text[KEY_BYTES];
    MDB_val key = peer_mark_key(agent, text);
    MDB_val value;
    *mark = (PeerMark){.taken = 0};
    int code = mdb_get(txn, crawl, &key, &value);
    if (code != MDB_SUCCESS) {
        return code == MDB_NOTFOUND ? RESULT_OK : lmdb_result(code, "read what a peer knows");
    }
    WireReader reader = wire_reader(value.mv_data, value.mv_size);
    mark->taken = wire_get_64(&reader);
    mark->heard = wire_get_64(&reader);
    return wire_reader_ended(&reader) ? RESULT_OK : RESULT_DAMAGED;
}

Result peer_mark_write(MDB_txn *txn, MDB_dbi crawl, uint16_t agent, const PeerMark *mark)
{
    char text[KEY_BYTES];
    Buffer bytes;
    buffer_init(&bytes, BUFFER_NO_LIMIT);
    WireWriter writer = wire_writer(&bytes);
    wire_put_64(&writer, mark->taken);
    wire_put_64(&writer, mark->heard);
    MDB_val key = peer_mark_key(agent, text);
    MDB_val value = {bytes.length, bytes.data};
    Result rc = writer.rc;
    if (rc == RESULT_OK) {
        rc = lmdb_result(mdb_put(txn, crawl, &key, &value, 0), "write what a peer knows");
    }
    buffer_destroy(&bytes);
    return rc;
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
