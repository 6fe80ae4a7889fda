#include "crawl/web/web_crawl.h"

#include <string.h>

#include "crawl/control/control_words.h"

#define ANSWER_MS 5000

static const char *const allowed[] = {"pause", "resume", "stop", "deny",
                                      "allow", "host",   "seed", "rotate"};

void web_crawl_close(WebCrawl *crawl)
{
    control_link_close(crawl->link);
    crawl->link = NULL;
}

static bool web_crawl_append_line(void *context, const char *line)
{
    Buffer *out = context;
    return buffer_append_string(out, line) == RESULT_OK &&
           buffer_append_char(out, '\n') == RESULT_OK;
}

static unsigned web_crawl_ask(WebCrawl *crawl, char *const *words, size_t n, Buffer *out)
{
    Buffer error;
    Buffer note;
    unsigned status = 200;
    buffer_init(&error, 4096);
    buffer_init(&note, 4096);
    Result rc = RESULT_OK;
    if (crawl->link == NULL) {
        rc = control_link_open(&crawl->link, crawl->directory, &error);
    }
    if (rc == RESULT_OK) {
        rc = control_link_ask(crawl->link, words, n, web_crawl_append_line, out, ANSWER_MS, &note,
                              &error);
        if (rc != RESULT_OK && rc != RESULT_LIMIT && rc != RESULT_INVALID) {
            web_crawl_close(crawl);
        }
    }
    if (rc != RESULT_OK) {
        status = rc == RESULT_INVALID ? 400 : rc == RESULT_LIMIT ? 409 : 503;
        buffer_reset(out);
        (void)buffer_printf(out, "%s\n", buffer_string(&error));
    } else if (note.length > 0) {
        (void)buffer_printf(out, "%s\n", buffer_string(&note));
    }
    buffer_destroy(&error);
    buffer_destroy(&note);
    return status;
}

unsigned web_crawl_status(WebCrawl *crawl, Buffer *out)
{
    char status[] = "status";
    char json[] = "json";
    char *words[] = {status, json};
    return web_crawl_ask(crawl, words, 2, out);
}

static bool is_allowed(const char *word)
{
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
        if (strcmp(word, allowed[i]) == 0) {
            return true;
        }
    }
    return false;
}

unsigned web_crawl_do(WebCrawl *crawl, const char *line, size_t length, Buffer *out)
{
    ControlWords words;
    unsigned status = 400;
    while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r')) {
        length--;
    }
    if (control_words_parse(&words, line, length, out) != RESULT_OK) {
        (void)buffer_append_char(out, '\n');
        return status;
    }
    if (words.n == 0) {
        (void)buffer_append_string(out, "there is no word in it\n");
    } else if (!is_allowed(words.words[0])) {
        status = 403;
        (void)buffer_printf(out,
                            "'%.64s' is not done from here; the page knows pause, resume, stop, "
                            "deny, allow, host, seed and rotate, ragno ctl knows more\n",
                            words.words[0]);
    } else {
        status = web_crawl_ask(crawl, words.words, words.n, out);
    }
    control_words_destroy(&words);
    return status;
}
