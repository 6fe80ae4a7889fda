#include <stdlib.h>
#include <string.h>

#include "cluster/wire/wire.h"
#include "unit.h"

typedef struct Thing {
    uint16_t number;
    uint64_t count;
    double share;
    char name[8];
    char *text;
} Thing;

static const WireField fields[] = {
    WIRE_FIELD(Thing, number, 2, UINT16_MAX), WIRE_FIELD(Thing, count, WIRE_VARINT, 1000),
    WIRE_FIELD(Thing, share, 8, UINT64_MAX), WIRE_FIELD(Thing, name, WIRE_TEXT, 0),
    WIRE_FIELD(Thing, text, WIRE_STRING, 20)};
static const WireRecord things = WIRE_RECORD(Thing, fields);

static void write_two(Buffer *out, uint64_t count)
{
    char text[] = "some text";
    Thing values[] = {
        {.number = 7, .count = count, .share = 0.25, .name = "one", .text = text},
        {.number = 65535, .count = 0, .share = -1e300, .name = "seven77", .text = text}};
    buffer_init(out, BUFFER_NO_LIMIT);
    WireWriter writer = wire_writer(out);
    wire_put_list(&writer, &things, values, 2);
    CU_ASSERT_EQUAL(wire_seal(&writer), RESULT_OK);
}

static void free_all(Thing *values, size_t n)
{
    for (size_t i = 0; values != NULL && i < n; i++) {
        free(values[i].text);
    }
    free(values);
}

static void what_was_written_is_read(void)
{
    Buffer out;
    WireReader reader;
    size_t n = 0;
    write_two(&out, 1000);
    CU_ASSERT_TRUE_FATAL(wire_open(&reader, out.data, out.length));
    Thing *read = wire_get_new_list(&reader, &things, 2, &n);
    CU_ASSERT_TRUE(wire_reader_ended(&reader));
    CU_ASSERT_PTR_NOT_NULL_FATAL(read);
    CU_ASSERT_EQUAL_FATAL(n, 2);
    CU_ASSERT_TRUE(read[0].number == 7 && read[0].count == 1000 && read[0].share == 0.25);
    CU_ASSERT_TRUE(read[1].number == 65535 && read[1].count == 0 && read[1].share == -1e300);
    CU_ASSERT_STRING_EQUAL(read[1].name, "seven77");
    CU_ASSERT_STRING_EQUAL(read[0].text, "some text");
    free_all(read, n);
    buffer_destroy(&out);
}

/* The bytes are copied, so that a sanitizer sees a read behind their end. */
static void what_is_cut_anywhere_is_bad(void)
{
    Buffer out;
    write_two(&out, 1);
    size_t whole = out.length - 4; /* without its CRC-32 */
    for (size_t length = 0; length < whole; length++) {
        char *cut = malloc(length + 1);
        size_t n = 0;
        CU_ASSERT_PTR_NOT_NULL_FATAL(cut);
        memcpy(cut, out.data, length);
        WireReader reader = wire_reader(cut, length);
        Thing *read = wire_get_new_list(&reader, &things, 2, &n);
        free_all(read, n);
        CU_ASSERT_TRUE(reader.bad);
        CU_ASSERT_EQUAL(wire_get_number(&reader, 8), 0);
        free(cut);
    }
    buffer_destroy(&out);
}

static void a_flipped_bit_is_seen(void)
{
    Buffer out;
    WireReader reader;
    write_two(&out, 1);
    for (size_t bit = 0; bit < 8 * out.length; bit++) {
        out.data[bit / 8] ^= (char)(1 << bit % 8);
        CU_ASSERT_FALSE(wire_open(&reader, out.data, out.length));
        out.data[bit / 8] ^= (char)(1 << bit % 8);
    }
    CU_ASSERT_TRUE(wire_open(&reader, out.data, out.length));
    CU_ASSERT_FALSE(wire_open(&reader, out.data, 3));
    buffer_destroy(&out);
}

static void more_than_is_allowed_is_bad(void)
{
    Buffer out;
    WireReader reader;
    size_t n = 0;
    write_two(&out, 1001); /* the first member's most is 1000 */
    CU_ASSERT_TRUE(wire_open(&reader, out.data, out.length));
    Thing *read = wire_get_new_list(&reader, &things, 2, &n);
    free_all(read, n);
    CU_ASSERT_TRUE(reader.bad);
    CU_ASSERT_TRUE(wire_open(&reader, out.data, out.length));
    CU_ASSERT_PTR_NULL(wire_get_new_list(&reader, &things, 1, &n));
    CU_ASSERT_TRUE(reader.bad);
    buffer_destroy(&out);
}

static void half_floats_come_back_as_near_as_they_can(void)
{
    for (float f = 6e-5f; f < 65504; f *= 1.37f) {
        float back = wire_float_of(wire_half_of(f));
        CU_ASSERT_TRUE(back > f * (1 - 0x1p-11f) && back < f * (1 + 0x1p-11f));
    }
    CU_ASSERT_EQUAL(wire_float_of(wire_half_of(1e9f)), 65504);
    CU_ASSERT_EQUAL(wire_float_of(wire_half_of(-1)), 0);
    for (unsigned half = 0; half <= 0x7bff; half++) {
        CU_ASSERT_EQUAL(wire_half_of(wire_float_of((uint16_t)half)), half);
    }
}

UNIT_MAIN("wire", {"what was written is read", what_was_written_is_read},
          {"what is cut anywhere is bad", what_is_cut_anywhere_is_bad},
          {"a flipped bit is seen", a_flipped_bit_is_seen},
          {"more than is allowed is bad", more_than_is_allowed_is_bad},
          {"half floats come back as near as they can", half_floats_come_back_as_near_as_they_can})
