#include "frontier/sieve/sieve_state.h"

#include <endian.h>
#include <string.h>

#include "store/lmdb/lmdb_result.h"

#define STATE_VERSION UINT64_C(1)
#define STATE_WORDS   6

Result sieve_state_read(MDB_txn *txn, MDB_dbi crawl, SieveState *state)
{
    char name[] = SIEVE_STATE_KEY;
    uint64_t words[STATE_WORDS];
    MDB_val key = {sizeof name - 1, name};
    MDB_val value = {0, NULL};
    *state = (SieveState){.lists = 0};
    int rc = mdb_get(txn, crawl, &key, &value);
    if (rc == MDB_NOTFOUND) {
        return RESULT_OK;
    }
    if (rc != 0) {
        return lmdb_result(rc, "get the sieve's state");
    }
    if (value.mv_size != sizeof words) {
        return RESULT_DAMAGED;
    }
    memcpy(words, value.mv_data, sizeof words);
    if (le64toh(words[0]) != STATE_VERSION) {
        return RESULT_VERSION;
    }
    state->position.generation = le64toh(words[1]);
    state->position.bytes = le64toh(words[2]);
    state->progress.generation = le64toh(words[3]);
    state->progress.bucket = (uint32_t)le64toh(words[4]);
    state->lists = le64toh(words[5]);
    return RESULT_OK;
}

Result sieve_state_write(MDB_txn *txn, MDB_dbi crawl, const SieveState *state)
{
    char name[] = SIEVE_STATE_KEY;
    uint64_t words[STATE_WORDS] = {htole64(STATE_VERSION),
                                   htole64(state->position.generation),
                                   htole64(state->position.bytes),
                                   htole64(state->progress.generation),
                                   htole64((uint64_t)state->progress.bucket),
                                   htole64(state->lists)};
    MDB_val key = {sizeof name - 1, name};
    MDB_val value = {sizeof words, words};
    return lmdb_result(mdb_put(txn, crawl, &key, &value, 0), "put the sieve's state");
}
