/* Files of score that flows between agents: what is written is read, what is damaged is as none. */
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster/mass/mass_file.h"
#include "dice.h"
#include "folder_fixture.h"

#define SEED    20261128u
#define RECORDS 3000u /* more than are kept back before a write */
#define AGENT   7u

static MassRecord draw_record(Dice *dice)
{
    return (MassRecord){.hash = dice_next(dice),
                        .print = dice_next(dice) >> 24, /* five bytes are written */
                        .mass = (float)dice_below(dice, 1000000) / 7};
}

static const MassHead a_head = {.round = 3,
                                .time_s = UINT64_MAX,
                                .pages = 12,
                                .sum = 1.5,
                                .jump = 0x1p-60,
                                .inflow = 9e29,
                                .outflow = 0.1};

static void path_of(const char *dir, const char *name, char path[FOLDER_BYTES + 32])
{
    (void)snprintf(path, FOLDER_BYTES + 32, "%s/mass/%s", dir, name);
}

static bool is_there(const char *dir, const char *name)
{
    char path[FOLDER_BYTES + 32];
    path_of(dir, name, path);
    return access(path, F_OK) == 0;
}

static void put_file(const char *dir, bool incoming, size_t n, uint64_t seed)
{
    MassWriter writer;
    Dice dice = {seed};
    mass_writer_init(&writer, dir, incoming, AGENT);
    for (size_t i = 0; i < n; i++) {
        MassRecord record = draw_record(&dice);
        CU_ASSERT_EQUAL_FATAL(mass_writer_add(&writer, &record), RESULT_OK);
    }
    MassHead head = a_head;
    head.records = writer.records;
    head.crc = writer.crc;
    CU_ASSERT_EQUAL(writer.records, n);
    CU_ASSERT_EQUAL(mass_writer_finish(&writer, &head), RESULT_OK);
    mass_writer_destroy(&writer);
}

static void check_file(const char *dir, bool incoming, size_t n, uint64_t seed)
{
    MassFile file;
    Dice dice = {seed};
    CU_ASSERT_EQUAL_FATAL(mass_file_open(&file, dir, incoming, AGENT), RESULT_OK);
    CU_ASSERT_TRUE(file.head.records == n && file.head.round == 3 && file.head.pages == 12 &&
                   file.head.time_s == UINT64_MAX && file.head.sum == 1.5 &&
                   file.head.jump == 0x1p-60 && file.head.inflow == 9e29 &&
                   file.head.outflow == 0.1);
    CU_ASSERT_EQUAL(file.length, n * MASS_RECORD_BYTES + MASS_HEAD_BYTES);
    CU_ASSERT_TRUE(mass_file_is_whole(&file));
    for (size_t i = 0; i < n; i++) {
        MassRecord record;
        MassRecord expected = draw_record(&dice);
        mass_record_read(file.records + i * MASS_RECORD_BYTES, &record);
        CU_ASSERT_TRUE(record.hash == expected.hash && record.print == expected.print &&
                       record.mass == expected.mass);
    }
    mass_file_close(&file);
}

static void what_is_written_is_read_and_takes_the_place_of_the_one_before(void)
{
    static const size_t sizes[] = {0, 1, RECORDS, 2};
    char dir[FOLDER_BYTES];
    MassFile file;
    folder_make(dir);
    CU_ASSERT_EQUAL(mass_file_open(&file, dir, true, AGENT), RESULT_NOT_FOUND);
    mass_file_close(&file);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        put_file(dir, true, sizes[i], SEED + i);
        check_file(dir, true, sizes[i], SEED + i);
        CU_ASSERT_FALSE(is_there(dir, "from-7.part"));
    }
    put_file(dir, false, 5, SEED);
    check_file(dir, false, 5, SEED);
    check_file(dir, true, 2, SEED + 3); /* the other direction is another file */
    folder_remove(dir);
}

static void records_are_copied_in_pieces_as_they_stand(void)
{
    char dir[FOLDER_BYTES];
    MassFile from;
    MassWriter writer;
    Dice dice = {SEED};
    folder_make(dir);
    put_file(dir, false, RECORDS, SEED);
    CU_ASSERT_EQUAL_FATAL(mass_file_open(&from, dir, false, AGENT), RESULT_OK);
    mass_writer_init(&writer, dir, true, AGENT);
    for (size_t at = 0; at < RECORDS;) {
        size_t n = dice_below(&dice, 200);
        n = n < RECORDS - at ? n : RECORDS - at;
        CU_ASSERT_EQUAL(
            mass_writer_copy(&writer, from.records + at * MASS_RECORD_BYTES, n * MASS_RECORD_BYTES),
            RESULT_OK);
        at += n;
    }
    CU_ASSERT_TRUE(writer.records == from.head.records && writer.crc == from.head.crc);
    CU_ASSERT_EQUAL(mass_writer_finish(&writer, &from.head), RESULT_OK);
    mass_writer_destroy(&writer);
    mass_file_close(&from);
    check_file(dir, true, RECORDS, SEED);
    folder_remove(dir);
}

static void what_is_not_finished_is_removed_and_the_file_before_stays(void)
{
    char dir[FOLDER_BYTES];
    MassWriter writer;
    Dice dice = {SEED};
    folder_make(dir);
    put_file(dir, true, 3, SEED);
    folder_put(dir, "mass/from-7.part", "left by one that was killed", 27);
    put_file(dir, true, 3, SEED);
    mass_writer_init(&writer, dir, true, AGENT);
    for (size_t i = 0; i < RECORDS; i++) {
        MassRecord record = draw_record(&dice);
        CU_ASSERT_EQUAL(mass_writer_add(&writer, &record), RESULT_OK);
    }
    CU_ASSERT_TRUE(is_there(dir, "from-7.part"));
    mass_writer_destroy(&writer);
    CU_ASSERT_FALSE(is_there(dir, "from-7.part"));
    check_file(dir, true, 3, SEED);
    folder_remove(dir);
}

static void a_folder_that_is_gone_is_an_error(void)
{
    char dir[FOLDER_BYTES];
    char mass[FOLDER_BYTES + 32];
    MassWriter writer;
    folder_make(dir);
    mass_writer_init(&writer, dir, true, AGENT);
    path_of(dir, "", mass);
    CU_ASSERT_EQUAL(rmdir(mass), 0);
    CU_ASSERT_NOT_EQUAL(mass_writer_finish(&writer, &a_head), RESULT_OK);
    mass_writer_destroy(&writer);
    folder_remove(dir);
}

/* With one byte changed, or cut anywhere: it does not open, or is not whole; or it was the head's
 * own numbers that changed. */
static void what_is_damaged_is_as_none(void)
{
    char dir[FOLDER_BYTES];
    char path[FOLDER_BYTES + 32];
    char bytes[4 * MASS_RECORD_BYTES + MASS_HEAD_BYTES + 1];
    const size_t length = sizeof bytes - 1;
    MassFile file;
    folder_make(dir);
    put_file(dir, true, 4, SEED);
    path_of(dir, "from-7", path);
    FILE *in = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(in);
    CU_ASSERT_EQUAL(fread(bytes, 1, sizeof bytes, in), length);
    CU_ASSERT_EQUAL(fclose(in), 0);
    bytes[length] = '\0';
    for (size_t n = 0; n <= length + 1; n++) {
        folder_put(dir, "mass/from-7", bytes, n);
        Result rc = mass_file_open(&file, dir, true, AGENT);
        CU_ASSERT_EQUAL(rc == RESULT_OK, n == length);
        mass_file_close(&file);
    }
    for (size_t i = 0; i < length; i++) {
        bytes[i] ^= 0x10;
        folder_put(dir, "mass/from-7", bytes, length);
        Result rc = mass_file_open(&file, dir, true, AGENT);
        bool is_good = rc == RESULT_OK && mass_file_is_whole(&file);
        size_t of_head = i - 4 * MASS_RECORD_BYTES;
        CU_ASSERT_FALSE(is_good && (i < 4 * MASS_RECORD_BYTES || of_head < 4 || of_head >= 60));
        mass_file_close(&file);
        bytes[i] ^= 0x10;
    }
    folder_remove(dir);
}

static void sums_that_are_none_become_zero(void)
{
    static const double bad[] = {NAN, HUGE_VAL, -HUGE_VAL, -1, -0.0, 1e30, 1e300};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Buffer bytes = {.limit = 1000};
        WireWriter writer = wire_writer(&bytes);
        MassHead head = {
            .sum = bad[i], .jump = bad[i], .inflow = bad[i], .outflow = bad[i], .records = 1};
        mass_head_put(&writer, &head);
        CU_ASSERT_EQUAL(bytes.length, MASS_HEAD_BYTES);
        for (size_t n = 0; n <= bytes.length; n++) {
            WireReader reader = wire_reader(bytes.data, n);
            CU_ASSERT_EQUAL(mass_head_get(&reader, &head), n == bytes.length);
            CU_ASSERT_TRUE(head.sum == 0 && head.jump == 0 && head.inflow == 0 &&
                           head.outflow == 0);
        }
        buffer_destroy(&bytes);
    }
}

UNIT_MAIN("mass_file",
          {"what is written is read, and takes the place of the one before",
           what_is_written_is_read_and_takes_the_place_of_the_one_before},
          {"records are copied in pieces as they stand",
           records_are_copied_in_pieces_as_they_stand},
          {"what is not finished is removed, and the file before stays",
           what_is_not_finished_is_removed_and_the_file_before_stays},
          {"a folder that is gone is an error", a_folder_that_is_gone_is_an_error},
          {"what is damaged is as none", what_is_damaged_is_as_none},
          {"sums that are none become zero", sums_that_are_none_become_zero})
