/* ragno verify: links that wait in the bucket files of the sieve. */
#include <inttypes.h>

#include "frontier/sieve/sieve.h"
#include "command/verify/verify_parts.h"

Result verify_sieve(Verify *verify, MDB_txn *txn, uint8_t *waiting, uint64_t n_pages)
{
    Buffer path;
    SieveState state;
    DrumRecovery found = {.generations = 0};
    MDB_dbi crawl = 0;
    if (mdb_dbi_open(txn, "crawl", 0, &crawl) != MDB_SUCCESS) {
        return RESULT_OK; /* PageDB alone: never had a sieve */
    }
    Result rc = sieve_state_read(txn, crawl, &state);
    buffer_init(&path, BUFFER_NO_LIMIT);
    if (rc == RESULT_OK) {
        rc = buffer_printf(&path, "%s/" SIEVE_DIRECTORY, verify->options->directory);
    }
    if (rc == RESULT_OK) {
        rc = sieve_walk(buffer_string(&path), &state, waiting, n_pages, &found);
        rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
        if (rc != RESULT_OK) {
            verify_problem(verify, SIEVE_DIRECTORY, "bucket files could not be read: %s",
                           result_name(rc));
        }
    }
    if (found.damaged_bytes > 0) {
        verify_problem(verify, SIEVE_DIRECTORY,
                       "%" PRIu64 " bytes of bucket files cannot be read, %" PRIu64
                       " links or more; %" PRIu64 " wait",
                       found.damaged_bytes, found.damaged_elements, found.elements);
    }
    buffer_destroy(&path);
    return rc;
}
