/* PDF documents by a program that stands in for pdftotext: what it says, its limits, its absence.
 */
#include <string.h>
#include <sys/stat.h>

#include "command/text/text_pdf.h"
#include "folder_fixture.h"
#include "unit.h"

static char folder[FOLDER_BYTES];

/* Makes `pdftotext` a script in the only folder of PATH; NULL: there is none. */
static void install(const char *script)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/pdftotext", folder);
    (void)unlink(path);
    if (script != NULL) {
        folder_put(folder, "pdftotext", script, strlen(script));
        CU_ASSERT_EQUAL(chmod(path, 0755), 0);
    }
    CU_ASSERT_EQUAL(setenv("PATH", folder, 1), 0);
}

static const TextPdfOptions plenty = {
    .seconds = 60, .memory_bytes = (uint64_t)1 << 32, .text_bytes = 1 << 20};

static Result read_text(const char *script, const TextPdfOptions *options, const char *body,
                        size_t length, Buffer *text)
{
    folder_make(folder);
    install(script);
    *text = (Buffer){.limit = BUFFER_NO_LIMIT};
    Result rc = text_pdf_read(options, body, length, text);
    folder_remove(folder);
    return rc;
}

static void the_document_goes_in_and_its_text_comes_out(void)
{
    static char body[300000];
    memset(body, 'x', sizeof body);
    Buffer text;
    CU_ASSERT_EQUAL(read_text("#!/bin/sh\nexec /bin/cat\n", &plenty, body, sizeof body, &text),
                    RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(text.length, sizeof body);
    CU_ASSERT_EQUAL(memcmp(text.data, body, sizeof body), 0);
    buffer_destroy(&text);
    CU_ASSERT_EQUAL(read_text("#!/bin/sh\necho \"$@\"\n", &plenty, "x", 1, &text), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&text), "-q -nopgbrk -enc UTF-8 -eol unix - -\n");
    buffer_destroy(&text);
}

static void what_it_has_written_before_it_failed_is_kept(void)
{
    Buffer text;
    CU_ASSERT_EQUAL(read_text("#!/bin/sh\necho half; exit 3\n", &plenty, "x", 1, &text),
                    RESULT_DAMAGED);
    CU_ASSERT_STRING_EQUAL(buffer_string(&text), "half\n");
    buffer_destroy(&text);
    CU_ASSERT_EQUAL(read_text("#!/bin/sh\necho half; kill -9 $$\n", &plenty, "x", 1, &text),
                    RESULT_LIMIT);
    CU_ASSERT_STRING_EQUAL(buffer_string(&text), "half\n");
    buffer_destroy(&text);
}

static void no_more_text_and_time_than_may_be(void)
{
    static char body[300000];
    TextPdfOptions options = plenty;
    Buffer text;
    options.text_bytes = 1000;
    Result rc = read_text("#!/bin/sh\nexec /bin/cat\n", &options, body, sizeof body, &text);
    CU_ASSERT_NOT_EQUAL(rc, RESULT_OK);
    CU_ASSERT_TRUE(text.length <= 1000);
    buffer_destroy(&text);
    options = plenty;
    options.seconds = 0; /* it is late at once */
    rc = read_text("#!/bin/sh\nexec /bin/cat /dev/zero >/dev/null\n", &options, "x", 1, &text);
    CU_ASSERT_EQUAL(rc, RESULT_LIMIT);
    buffer_destroy(&text);
}

static void without_the_program_there_is_no_text(void)
{
    Buffer text;
    CU_ASSERT_EQUAL(read_text(NULL, &plenty, "x", 1, &text), RESULT_NOT_FOUND);
    CU_ASSERT_EQUAL(text.length, 0);
    buffer_destroy(&text);
}

UNIT_MAIN("text_pdf",
          {"the document goes in and its text comes out",
           the_document_goes_in_and_its_text_comes_out},
          {"what it has written before it failed is kept",
           what_it_has_written_before_it_failed_is_kept},
          {"no more text and time than may be", no_more_text_and_time_than_may_be},
          {"without the program there is no text", without_the_program_there_is_no_text})
