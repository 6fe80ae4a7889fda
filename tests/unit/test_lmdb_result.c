#include "store/lmdb/lmdb_result.h"

#include <string.h>

#include "unit.h"

#define WORDS 40u

static size_t packed_bytes(const uint32_t row[WORDS], uint8_t *packed)
{
    uint32_t back[WORDS];
    memset(back, 0xff, sizeof back);
    size_t n = lmdb_pack(row, sizeof back, packed);
    MDB_val value = lmdb_bytes(packed, n);
    CU_ASSERT_TRUE(n <= LMDB_PACKED_BYTES(sizeof back));
    CU_ASSERT_TRUE(lmdb_unpack(&value, back, sizeof back));
    CU_ASSERT_EQUAL(memcmp(back, row, sizeof back), 0);
    return n;
}

static void a_struct_comes_back_as_it_was(void)
{
    uint8_t packed[LMDB_PACKED_BYTES(WORDS * sizeof(uint32_t))];
    uint32_t row[WORDS] = {0};
    CU_ASSERT_EQUAL(packed_bytes(row, packed), 0);
    row[0] = 1;
    CU_ASSERT_EQUAL(packed_bytes(row, packed), 1);
    row[WORDS - 1] = UINT32_MAX;
    CU_ASSERT_EQUAL(packed_bytes(row, packed), 1 + 2 + 5);
    row[7] = 128;
    CU_ASSERT_EQUAL(packed_bytes(row, packed), 1 + 2 + 2 + 2 + 5);
    memset(row, 0xff, sizeof row);
    CU_ASSERT_EQUAL(packed_bytes(row, packed), sizeof packed);
    for (unsigned i = 0; i < WORDS; i += 2) { /* the most zeros that stand alone */
        row[i] = 0;
    }
    CU_ASSERT_EQUAL(packed_bytes(row, packed), WORDS / 2 * (2 + 5));
}

static void a_row_of_fewer_words_has_zeros_behind_it(void)
{
    const uint8_t packed[] = {5, 0, 1, 7};
    const uint32_t expected[WORDS] = {5, 0, 7};
    uint32_t row[WORDS];
    MDB_val value = lmdb_bytes(packed, sizeof packed);
    CU_ASSERT_TRUE(lmdb_unpack(&value, row, sizeof row));
    CU_ASSERT_EQUAL(memcmp(row, expected, sizeof row), 0);
}

static bool is_refused(const char *bytes, size_t n)
{
    uint32_t row[3];
    MDB_val value = lmdb_bytes(bytes, n);
    return !lmdb_unpack(&value, row, sizeof row);
}

static void what_is_no_packed_row_is_refused(void)
{
    CU_ASSERT_FALSE(is_refused("\x01\x02\x03", 3));
    CU_ASSERT_TRUE(is_refused("\x01\x02\x03\x04", 4));     /* a word too many */
    CU_ASSERT_TRUE(is_refused("\x01\x00\x03", 3));         /* too many zeros */
    CU_ASSERT_TRUE(is_refused("\x00\x00", 2));             /* none of them */
    CU_ASSERT_TRUE(is_refused("\x01\x00", 2));             /* how many? */
    CU_ASSERT_TRUE(is_refused("\x80", 1));                 /* a number without an end */
    CU_ASSERT_TRUE(is_refused("\x80\x80\x80\x80\x10", 5)); /* of 33 bits */
    CU_ASSERT_TRUE(is_refused("\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11));
}

UNIT_MAIN("lmdb_result", {"a struct comes back as it was", a_struct_comes_back_as_it_was},
          {"a row of fewer words has zeros behind it", a_row_of_fewer_words_has_zeros_behind_it},
          {"what is no packed row is refused", what_is_no_packed_row_is_refused})
