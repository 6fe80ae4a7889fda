#include "base/core/result.h"

#include <errno.h>

const char *result_name(Result result)
{
    static const char *const names[] = {WORDS_NAMES(RESULT_WORDS)};
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
