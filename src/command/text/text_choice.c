#include "command/text/text_choice.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory/buffer.h"
#include "parse/host/authority.h"
#include "parse/url/url.h"

void text_choice_destroy(TextChoice *choice)
{
    for (size_t i = 0; i < choice->n; i++) {
        free(choice->words[i]);
    }
    free(choice->words);
    free(choice->are_hosts);
    *choice = (TextChoice){.words = NULL};
}

/* Takes word. */
static Result text_choice_add(TextChoice *choice, char *word, bool is_host)
{
    char **words =
        word == NULL ? NULL : reallocarray(choice->words, choice->n + 1, sizeof *choice->words);
    choice->words = words == NULL ? choice->words : words;
    bool *kinds = words == NULL
                      ? NULL
                      : reallocarray(choice->are_hosts, choice->n + 1, sizeof *choice->are_hosts);
    if (kinds == NULL) {
        free(word);
        return RESULT_MEMORY;
    }
    choice->are_hosts = kinds;
    choice->words[choice->n] = word;
    choice->are_hosts[choice->n++] = is_host;
    return RESULT_OK;
}

Result text_choice_add_url(TextChoice *choice, const char *word)
{
    size_t n = strlen(word);
    bool prefix = n > 0 && word[n - 1] == '*';
    Url url;
    Buffer text;
    url_init(&url);
    buffer_init(&text, BUFFER_NO_LIMIT);
    Result rc = url_parse(&url, NULL, word, prefix ? n - 1 : n);
    rc = rc == RESULT_OK ? buffer_printf(&text, "%s%s", url.href, prefix ? "*" : "") : rc;
    rc = rc == RESULT_OK ? text_choice_add(choice, buffer_detach(&text), false) : rc;
    buffer_destroy(&text);
    url_destroy(&url);
    return rc;
}

/* The host of a URL; empty: it has none. */
static WarcBytes text_choice_host_of(WarcBytes url)
{
    if (url.length > 4 && strncasecmp(url.bytes, "dns:", 4) == 0) {
        return warc_bytes(url.bytes + 4, url.length - 4);
    }
    if (memmem(url.bytes, url.length, "://", 3) == NULL) {
        return warc_bytes("", 0);
    }
    Authority at = authority_of(url.bytes, url.length);
    return warc_bytes(url.bytes + at.host, at.host_end - at.host);
}

Result text_choice_add_host(TextChoice *choice, const char *word)
{
    Url url;
    Buffer text;
    bool below = word[0] == '.';
    url_init(&url);
    buffer_init(&text, BUFFER_NO_LIMIT);
    Result rc = buffer_printf(&text, "http://%s/", word + (below ? 1 : 0));
    rc = rc == RESULT_OK ? url_parse(&url, NULL, buffer_string(&text), text.length) : rc;
    if (rc == RESULT_OK) {
        WarcBytes host = text_choice_host_of(warc_bytes(url.href, strlen(url.href)));
        buffer_reset(&text);
        rc = host.length == 0
                 ? RESULT_INVALID
                 : buffer_printf(&text, "%s%.*s", below ? "." : "", (int)host.length, host.bytes);
    }
    rc = rc == RESULT_OK ? text_choice_add(choice, buffer_detach(&text), true) : rc;
    buffer_destroy(&text);
    url_destroy(&url);
    return rc;
}

static bool text_choice_is_url(const char *word, WarcBytes url)
{
    size_t n = strlen(word);
    bool prefix = n > 0 && word[n - 1] == '*';
    n -= prefix ? 1 : 0;
    return (prefix ? url.length >= n : url.length == n) && memcmp(url.bytes, word, n) == 0;
}

static bool is_host(const char *word, WarcBytes host)
{
    size_t n = strlen(word);
    if (word[0] == '.' && host.length + 1 == n) {
        word++; /* the domain itself */
        n--;
    }
    return (word[0] == '.' ? host.length > n : host.length == n) &&
           strncasecmp(host.bytes + host.length - n, word, n) == 0;
}

bool text_choice_admits(const TextChoice *choice, WarcBytes url)
{
    for (size_t i = 0; i < choice->n; i++) {
        if (choice->are_hosts[i] ? is_host(choice->words[i], text_choice_host_of(url))
                                 : text_choice_is_url(choice->words[i], url)) {
            return true;
        }
    }
    return choice->n == 0;
}
