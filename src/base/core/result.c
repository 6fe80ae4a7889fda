#include "base/core/result.h"

#include <errno.h>

const char *result_name(Result result)
{
    static const char *const names[] = {
        [RESULT_OK] = "ok",
        [RESULT_MEMORY] = "out of memory",
        [RESULT_LIMIT] = "limit reached",
        [RESULT_INVALID] = "invalid",
        [RESULT_NOT_FOUND] = "not found",
        [RESULT_EXISTS] = "exists already",
        [RESULT_IO] = "input/output error",
        [RESULT_FULL] = "full",
        [RESULT_CLOSED] = "closed",
        [RESULT_TIMEOUT] = "timed out",
        [RESULT_DAMAGED] = "damaged",
        [RESULT_VERSION] = "unknown format version",
        [RESULT_LOCKED] = "locked by another process",
        [RESULT_INTERNAL] = "internal error",
    };
    unsigned i = (unsigned)result;
    return i < sizeof names / sizeof *names ? names[i] : "unknown";
}

Result result_of_errno(int error)
{
    switch (error) {
    case 0:
        return RESULT_OK;
    case ENOMEM:
        return RESULT_MEMORY;
    case ENOENT:
    case ENOTDIR:
        return RESULT_NOT_FOUND;
    case EEXIST:
        return RESULT_EXISTS;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return RESULT_FULL;
    case EINVAL:
        return RESULT_INVALID;
    case ETIMEDOUT:
        return RESULT_TIMEOUT;
    default:
        return RESULT_IO;
    }
}
