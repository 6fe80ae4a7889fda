#include "store/zip/zip_reader.h"

#include <string.h>

#define END_BYTES       22u
#define END_COMMENT     65535u /* behind it, at most */
#define END64_BYTES     56u
#define LOCATOR64_BYTES 20u
#define CENTRAL_BYTES   46u
#define LOCAL_BYTES     30u
#define EXTRA_ZIP64     1u
#define IN_EXTRA        UINT32_MAX /* a number that is in the zip64 field */

/* A little-endian number of up to 8 bytes. */
static uint64_t zip_number(const char *at, size_t width)
{
    uint64_t number = 0;
    for (size_t i = width; i-- > 0;) {
        number = number << 8 | (uint8_t)at[i];
    }
    return number;
}

static bool zip_has(const char *bytes, uint64_t length, uint64_t at, uint64_t need,
                    const char *sign)
{
    return at <= length && length - at >= need && memcmp(bytes + at, sign, 4) == 0;
}

/* Where the list of entries is, and how many it has. */
static bool zip_find_list(const char *bytes, uint64_t length, uint64_t *at, uint64_t *entries)
{
    uint64_t lowest = length > END_BYTES + END_COMMENT ? length - END_BYTES - END_COMMENT : 0;
    for (uint64_t end = length >= END_BYTES ? length - END_BYTES + 1 : 0; end-- > lowest;) {
        if (!zip_has(bytes, length, end, END_BYTES, "PK\5\6")) {
            continue;
        }
        *entries = zip_number(bytes + end + 10, 2);
        *at = zip_number(bytes + end + 16, 4);
        if (end < LOCATOR64_BYTES ||
            !zip_has(bytes, length, end - LOCATOR64_BYTES, LOCATOR64_BYTES, "PK\6\7")) {
            return true;
        }
        uint64_t end64 = zip_number(bytes + end - LOCATOR64_BYTES + 8, 8);
        if (!zip_has(bytes, length, end64, END64_BYTES, "PK\6\6")) {
            return false;
        }
        *entries = zip_number(bytes + end64 + 32, 8);
        *at = zip_number(bytes + end64 + 48, 8);
        return true;
    }
    return false;
}

/* Replaces the numbers that are too large for 4 bytes by those of the zip64 field. */
static void zip_take_extra(const char *at, const char *end, uint64_t *numbers[3])
{
    while (end - at >= 4) {
        size_t n = (size_t)zip_number(at + 2, 2);
        const char *value = at + 4;
        if (n > (size_t)(end - value)) {
            return;
        }
        for (size_t i = 0; zip_number(at, 2) == EXTRA_ZIP64 && i < 3; i++) {
            if (*numbers[i] == IN_EXTRA && n >= 8) {
                *numbers[i] = zip_number(value, 8);
                value += 8;
                n -= 8;
            }
        }
        at = value + n;
    }
}

Result zip_members_walk(const char *bytes, uint64_t length,
                        Result (*found)(void *context, const ZipMember *member), void *context)
{
    uint64_t at = 0;
    uint64_t entries = 0;
    Result rc = zip_find_list(bytes, length, &at, &entries) ? RESULT_OK : RESULT_INVALID;
    for (uint64_t i = 0; rc == RESULT_OK && i < entries; i++) {
        if (!zip_has(bytes, length, at, CENTRAL_BYTES, "PK\1\2")) {
            return RESULT_INVALID;
        }
        const char *head = bytes + at;
        size_t name = (size_t)zip_number(head + 28, 2);
        size_t extra = (size_t)zip_number(head + 30, 2);
        uint64_t whole = zip_number(head + 24, 4);
        uint64_t local = zip_number(head + 42, 4);
        ZipMember member = {.name = head + CENTRAL_BYTES,
                            .name_length = name,
                            .is_stored = zip_number(head + 10, 2) == 0 && (head[8] & 1) == 0,
                            .size = zip_number(head + 20, 4)};
        at += CENTRAL_BYTES + name + extra + zip_number(head + 32, 2);
        if (at > length) {
            return RESULT_INVALID;
        }
        zip_take_extra(member.name + name, member.name + name + extra,
                       (uint64_t *[]){&whole, &member.size, &local});
        if (!zip_has(bytes, length, local, LOCAL_BYTES, "PK\3\4")) {
            return RESULT_INVALID;
        }
        member.offset = local + LOCAL_BYTES + zip_number(bytes + local + 26, 2) +
                        zip_number(bytes + local + 28, 2);
        if (member.offset > length || member.size > length - member.offset) {
            return RESULT_INVALID;
        }
        rc = found(context, &member);
    }
    return rc;
}
