#include "page/crawl_log_notes.h"

#include <string.h>

const CrawlLogNoteRow crawl_log_notes[CRAWL_LOG_NOTE_COUNT] = {
#define CRAWL_LOG_ROW(constant, name, kind, value, meaning)                                        \
    [constant] = {name, CRAWL_LOG_##kind, value, meaning, name ": is not " value},
    CRAWL_LOG_NOTES(CRAWL_LOG_ROW)
#undef CRAWL_LOG_ROW
};

CrawlLogNote crawl_log_note_find(const char *name, size_t length)
{
    unsigned i = 0;
    while (i < CRAWL_LOG_NOTE_COUNT &&
           (crawl_log_notes[i].name[0] != name[0] || strlen(crawl_log_notes[i].name) != length ||
            memcmp(crawl_log_notes[i].name, name, length) != 0)) {
        i++;
    }
    return (CrawlLogNote)i;
}

void crawl_log_note_begin(Buffer *text, CrawlLogNote note)
{
    const CrawlLogNoteRow *row = &crawl_log_notes[note];
    if (text->length > 0 && text->data[text->length - 1] != ' ') {
        (void)buffer_append_char(text, ',');
    }
    (void)buffer_append_string(text, row->name);
    if (row->kind != CRAWL_LOG_FLAG) {
        (void)buffer_append_char(text, ':');
    }
}
