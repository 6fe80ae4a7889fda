/* Archive source: answers pages that are rendered from the WARC files of a crawl.
 *
 * What: the capture of a page's last visit, or the newest of a URL, without its content coding. A
 * URL is asked for as ragno writes it, without fragment. When a URL with a query is not there, the
 * answer of the same path is taken whose query differs in nothing but values that look like a clock
 * or like dice: at least eight digits, or at least eight hexadecimal digits or letters with a digit
 * among them. Answers that many pages share are kept in memory, the newest ones, up to a bound.
 * Owns: what it has read; an answer is borrowed until the next question.
 * Threads: one.
 * Errors: an answer that cannot be read is RENDER_GONE (counted); RESULT_MEMORY of
 * archive_source_new.
 */
#pragma once

#include "render/rendering.h"
#include "store/warc/warc_format.h"

#define ARCHIVE_SOURCE_ANSWER_BYTES ((size_t)32 << 20) /* of one answer, decoded */

typedef struct ArchiveSource ArchiveSource;

/* The last visit to a page, as PageDB has it: cdxj_of_visit says which capture it left. All zero:
 * the newest of the URL. */
typedef struct ArchiveVisit {
    int32_t status;
    WallTime time;
} ArchiveVisit;

/* directory: a crawl's warc folder, copied. memory_bytes: of the answers that are kept. */
Result archive_source_new(ArchiveSource **source, const char *directory, size_t memory_bytes);
void archive_source_delete(ArchiveSource *source);
/* Puts an answer beside those of the archive, before them: status, header block and body are
 * copied. url as ragno writes it. RESULT_MEMORY. */
Result archive_source_put(ArchiveSource *source, const char *url, const RenderAnswer *answer);
/* When the capture of a URL was made, and the id of its record.
 * RESULT_NOT_FOUND: there is none. */
Result archive_source_date(ArchiveSource *source, const char *url, ArchiveVisit visit,
                           WallTime *date, WarcId *id);
/* Appends the cookies that the capture of a URL was fetched with, "a=b; c=d", as its request record
 * has them: what the host's jar held then. Nothing where they were not kept, or are masked
 * (fetch.cookies, warc.mask_secrets). */
void archive_source_cookies(ArchiveSource *source, const char *url, ArchiveVisit visit,
                            Buffer *cookies);
/* RENDER_LACKING: it was never captured. */
RenderVerdict archive_source_answer(ArchiveSource *source, const char *url, ArchiveVisit visit,
                                    RenderAnswer *answer);
/* RenderSource.ask, for newest captures; context is the ArchiveSource. */
RenderVerdict archive_source_ask(void *source, const char *url, RenderAnswer *answer);
/* Answers taken for one whose query differed. */
uint64_t archive_source_near(const ArchiveSource *source);
/* Answers that could not be read. */
uint64_t archive_source_damaged(const ArchiveSource *source);

/* Whether two URLs differ in nothing but such values of their queries. */
bool archive_source_is_near(const char *a, const char *b);
