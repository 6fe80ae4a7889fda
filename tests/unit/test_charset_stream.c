/* A document in pieces: its text is that of the whole, wherever it is cut. */
#include <stdio.h>
#include <string.h>

#include "dice.h"
#include "parse/charset/charset.h"
#include "parse/charset/charset_stream.h"
#include "unit.h"

typedef struct Bytes {
    const char *data;
    size_t length;
} Bytes;

#define BYTES(literal)                                                                             \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }

/* Marks, halves of characters, escapes and what is between: documents are made of these. */
static const Bytes parts[] = {
    BYTES("a"),        BYTES(" "),        BYTES("\n"),     BYTES("<p>"),      BYTES("\0"),
    BYTES("\xEF"),     BYTES("\xBB"),     BYTES("\xBF"),   BYTES("\xFF"),     BYTES("\xFE"),
    BYTES("\xFF\xFE"), BYTES("\xFE\xFF"), BYTES("\xD8"),   BYTES("\xDC\x00"), BYTES("\x3D\xD8"),
    BYTES("\x00\xDE"), BYTES("\xE4\xBA"), BYTES("\xAC"),   BYTES("\xF0\x9F"), BYTES("\x98\x80"),
    BYTES("\x83\x5C"), BYTES("\x81\x30"), BYTES("\x1B$B"), BYTES("\x1B(B"),   BYTES("\x1B(J"),
    BYTES("0f"),       BYTES("\x1B"),     BYTES("\xA1"),   BYTES("\x8E\xA2"), BYTES("\xEF\xBB\xBF"),
};

static const char *const encodings[] = {
    "UTF-8",   "UTF-16LE", "UTF-16BE", "windows-1252", "Shift_JIS",   "EUC-JP",         "GBK",
    "gb18030", "Big5",     "EUC-KR",   "ISO-2022-JP",  "replacement", "x-user-defined",
};

/* The text of a document whose pieces have up to `longest` bytes. */
static void read_in_pieces(CharsetStream *stream, const char *encoding, const Buffer *document,
                           Dice *dice, size_t longest, Buffer *text)
{
    charset_stream_begin(stream, encoding);
    size_t at = 0;
    bool is_last = false;
    while (!is_last) {
        size_t length = dice_below(dice, longest + 1);
        length = length < document->length - at ? length : document->length - at;
        is_last = at + length == document->length && dice_below(dice, 2) == 0;
        const char *part;
        size_t part_length;
        CU_ASSERT_EQUAL_FATAL(
            charset_stream_next(stream, document->data + at, length, is_last, &part, &part_length),
            RESULT_OK);
        CU_ASSERT_EQUAL_FATAL(buffer_append(text, part, part_length), RESULT_OK);
        at += length;
    }
}

static void pieces_are_read_as_the_whole(void)
{
    CharsetStream stream;
    Buffer document;
    Buffer scratch;
    Buffer pieces;
    charset_stream_init(&stream);
    buffer_init(&document, BUFFER_NO_LIMIT);
    buffer_init(&scratch, BUFFER_NO_LIMIT);
    buffer_init(&pieces, BUFFER_NO_LIMIT);
    Dice dice = {.state = 11};
    for (size_t i = 0; i < 40000; i++) {
        const char *encoding = encodings[i % (sizeof encodings / sizeof *encodings)];
        buffer_reset(&document);
        buffer_reset(&pieces);
        for (size_t n = dice_below(&dice, 12); n > 0; n--) {
            const Bytes *part = &parts[dice_below(&dice, sizeof parts / sizeof *parts)];
            (void)buffer_append(&document, part->data, part->length);
        }
        const char *text;
        size_t length;
        CU_ASSERT_EQUAL_FATAL(charset_text(encoding, buffer_string(&document), document.length,
                                           &scratch, &text, &length),
                              RESULT_OK);
        read_in_pieces(&stream, encoding, &document, &dice, 1 + i % 7, &pieces);
        bool is_same = pieces.length == length && memcmp(buffer_string(&pieces), text, length) == 0;
        CU_ASSERT_TRUE(is_same);
        if (!is_same) {
            (void)fprintf(stderr, "\n%s:", encoding);
            for (size_t k = 0; k < document.length; k++) {
                (void)fprintf(stderr, " %02x", (unsigned char)document.data[k]);
            }
            break;
        }
    }
    buffer_destroy(&pieces);
    buffer_destroy(&scratch);
    buffer_destroy(&document);
    charset_stream_destroy(&stream);
}

static void marks_inside_a_document_are_text(void)
{
    static const struct {
        const char *encoding;
        Bytes first;
        Bytes second;
        const char *text;
    } cases[] = {
        {"UTF-8", BYTES("a"), BYTES("\xEF\xBB\xBF\xEF\xBB\xBFz"), "a\xEF\xBB\xBF\xEF\xBB\xBFz"},
        {"UTF-16LE", BYTES("a\0"), BYTES("\xFF\xFE\xFF\xFEz\0"), "a\xEF\xBB\xBF\xEF\xBB\xBFz"},
        {"UTF-16BE", BYTES("\xFE\xFF\0a"), BYTES("\xFE\xFF\xFE\xFF\xFE\xFF"),
         "a\xEF\xBB\xBF\xEF\xBB\xBF\xEF\xBB\xBF"},
        {"UTF-8", BYTES("\xEF\xBB\xBF"), BYTES("\xEF\xBB\xBF"), "\xEF\xBB\xBF"},
    };
    CharsetStream stream;
    Buffer all;
    charset_stream_init(&stream);
    buffer_init(&all, BUFFER_NO_LIMIT);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Bytes *pieces[] = {&cases[i].first, &cases[i].second};
        buffer_reset(&all);
        charset_stream_begin(&stream, cases[i].encoding);
        for (size_t k = 0; k < 2; k++) {
            const char *text;
            size_t length;
            CU_ASSERT_EQUAL(charset_stream_next(&stream, pieces[k]->data, pieces[k]->length, k == 1,
                                                &text, &length),
                            RESULT_OK);
            (void)buffer_append(&all, text, length);
        }
        CU_ASSERT_STRING_EQUAL(buffer_string(&all), cases[i].text);
    }
    buffer_destroy(&all);
    charset_stream_destroy(&stream);
}

UNIT_MAIN("charset_stream", {"pieces are read as the whole", pieces_are_read_as_the_whole},
          {"marks inside a document are text", marks_inside_a_document_are_text})
