#include "command/forget/forget_target.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory/array.h"

#include "parse/host/authority.h"
#include "parse/host/domain.h"
#include "parse/url/url.h"

static const char *const kinds[] = {"host ", "url ", "regex "};

static Result target_put(ForgetTargets *targets, ForgetKind kind, const char *text, size_t length)
{
    ForgetTarget target = {.kind = kind, .text = strndup(text, length), .length = length};
    if (target.text == NULL ||
        array_add(&targets->all, &targets->n, sizeof target, &target) != RESULT_OK) {
        free(target.text);
        return RESULT_MEMORY;
    }
    return RESULT_OK;
}

Result forget_targets_add(ForgetTargets *targets, const char *word, Buffer *error)
{
    Url url;
    Buffer text;
    bool is_url = strstr(word, "://") != NULL;
    url_init(&url);
    buffer_init(&text, 65536);
    Result rc = buffer_printf(&text, "%s%s", is_url ? "" : "http://", word);
    if (rc == RESULT_OK) {
        rc = url_parse(&url, NULL, buffer_string(&text), text.length);
    }
    if (rc == RESULT_OK && !is_url && strpbrk(word, "/?#@: ") != NULL) {
        rc = RESULT_INVALID;
    }
    if (rc == RESULT_OK && is_url) {
        rc = target_put(targets, FORGET_URL, url.href, url.length);
    } else if (rc == RESULT_OK) {
        rc = target_put(targets, FORGET_HOST, url.href + url.host_start,
                        url.host_end - url.host_start);
    } else {
        (void)buffer_printf(error, "'%.128s' is neither a host nor an http or https URL", word);
    }
    url_destroy(&url);
    buffer_destroy(&text);
    return rc;
}

Result forget_targets_add_regex(ForgetTargets *targets, const char *regex, Buffer *error)
{
    UrlRegex *code = NULL;
    Result rc = url_regex_compile(regex, "--regex", &code, error);
    if (rc == RESULT_OK && code == NULL) {
        (void)buffer_append_string(error, "--regex: the expression is empty");
        rc = RESULT_INVALID;
    }
    if (rc == RESULT_OK) {
        rc = target_put(targets, FORGET_REGEX, regex, strlen(regex));
    }
    if (rc != RESULT_OK) {
        url_regex_delete(code);
        return rc;
    }
    targets->all[targets->n - 1].regex = code;
    return RESULT_OK;
}

void forget_targets_destroy(ForgetTargets *targets)
{
    for (size_t i = 0; i < targets->n; i++) {
        free(targets->all[i].text);
        url_regex_delete(targets->all[i].regex);
    }
    free(targets->all);
    *targets = (ForgetTargets){.n = 0};
}

Result forget_targets_write(const ForgetTargets *targets, Buffer *out)
{
    Result rc = RESULT_OK;
    for (size_t i = 0; rc == RESULT_OK && i < targets->n; i++) {
        rc = buffer_printf(out, "%s%s\n", kinds[targets->all[i].kind], targets->all[i].text);
    }
    if (rc == RESULT_OK && targets->before.us != 0) {
        rc = buffer_printf(out, "older %lld\n", (long long)targets->before.us);
    }
    if (rc == RESULT_OK) {
        rc = buffer_printf(out, "%s%s", targets->keep_graph ? "keep-graph\n" : "",
                           targets->hash_logs ? "hash-logs\n" : "");
    }
    return rc;
}

static Result target_read(ForgetTargets *targets, const char *line, Buffer *error)
{
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        size_t n = strlen(kinds[kind]);
        if (strncmp(line, kinds[kind], n) == 0) {
            return kind == FORGET_REGEX ? forget_targets_add_regex(targets, line + n, error)
                                        : forget_targets_add(targets, line + n, error);
        }
    }
    if (strncmp(line, "older ", 6) == 0) {
        targets->before.us = strtoll(line + 6, NULL, 10);
    } else if (strcmp(line, "keep-graph") == 0) {
        targets->keep_graph = true;
    } else if (strcmp(line, "hash-logs") == 0) {
        targets->hash_logs = true;
    } else {
        (void)buffer_printf(error, "'%.128s' is nothing that can be forgotten", line);
        return RESULT_INVALID;
    }
    return RESULT_OK;
}

Result forget_targets_read(ForgetTargets *targets, const char *text, Buffer *error)
{
    char *copy = strdup(text);
    char *save = NULL;
    Result rc = copy == NULL ? RESULT_MEMORY : RESULT_OK;
    char *line = copy == NULL ? NULL : strtok_r(copy, "\n", &save);
    for (; rc == RESULT_OK && line != NULL; line = strtok_r(NULL, "\n", &save)) {
        rc = target_read(targets, line, error);
    }
    free(copy);
    return rc;
}

bool forget_means_host(const ForgetTargets *targets, const char *name, size_t length)
{
    for (size_t i = 0; i < targets->n; i++) {
        const ForgetTarget *target = &targets->all[i];
        if (target->kind == FORGET_HOST &&
            domain_contains(target->text, target->length, name, length)) {
            return true;
        }
    }
    return false;
}

bool forget_means_url(const ForgetTargets *targets, const char *url, size_t length)
{
    if (length > 4 && memcmp(url, "dns:", 4) == 0) {
        return forget_means_host(targets, url + 4, length - 4);
    }
    Authority at = authority_of(url, length);
    if (forget_means_host(targets, url + at.host, at.host_end - at.host)) {
        return true;
    }
    for (size_t i = 0; i < targets->n; i++) {
        const ForgetTarget *target = &targets->all[i];
        if ((target->kind == FORGET_URL && target->length == length &&
             memcmp(target->text, url, length) == 0) ||
            (target->kind == FORGET_REGEX && url_regex_find(target->regex, url, length, false))) {
            return true;
        }
    }
    return false;
}

/* ---- text ---- */

static bool target_is_name_char(char c)
{
    return isalnum((unsigned char)c) != 0 || c == '-' || c == '_';
}

/* A URL ends where a line of a log, of JSON or of a table goes on. */
static bool target_ends_url(char c)
{
    return c == '\0' || isspace((unsigned char)c) != 0 || strchr("\",<>'|)", c) != NULL;
}

static bool target_is_host_at(const char *at, const char *start, const char *end, size_t length)
{
    bool begins = at == start || !target_is_name_char(at[-1]);
    const char *next = at + length;
    bool goes_on = next < end && (target_is_name_char(*next) ||
                                  (*next == '.' && next + 1 < end && target_is_name_char(next[1])));
    return begins && !goes_on;
}

static bool target_is_in(const ForgetTarget *target, const char *text, size_t length)
{
    const char *end = text + length;
    for (const char *at = text; at + target->length <= end; at++) {
        at = memchr(at, tolower((unsigned char)*target->text), (size_t)(end - at));
        if (at == NULL || at + target->length > end) {
            return false;
        }
        if (strncasecmp(at, target->text, target->length) != 0) {
            continue;
        }
        const char *next = at + target->length;
        if (target->kind == FORGET_HOST ? target_is_host_at(at, text, end, target->length)
                                        : next == end || target_ends_url(*next)) {
            return true;
        }
    }
    return false;
}

static bool target_regex_is_in(const ForgetTarget *target, const char *text, size_t length)
{
    const char *end = text + length;
    const char *at = text;
    while ((at = memmem(at, (size_t)(end - at), "http", 4)) != NULL) {
        const char *stop = at;
        while (stop < end && !target_ends_url(*stop)) {
            stop++;
        }
        if (url_regex_find(target->regex, at, (size_t)(stop - at), false)) {
            return true;
        }
        at += 4;
    }
    return false;
}

bool forget_is_named(const ForgetTargets *targets, const char *text, size_t length)
{
    for (size_t i = 0; i < targets->n; i++) {
        const ForgetTarget *target = &targets->all[i];
        if (target->kind == FORGET_REGEX ? target_regex_is_in(target, text, length)
                                         : target_is_in(target, text, length)) {
            return true;
        }
    }
    return false;
}

Result forget_read_block(const ForgetTargets *targets, const void *bytes, size_t length,
                         uint16_t to, OutboxDraft *draft, bool *named)
{
    WireReader in = wire_reader(bytes, length);
    BlockHeader header;
    LinkBlockReader reader;
    LinkRecord record;
    HostMove host;
    const void *body = NULL;
    *named = false;
    if (block_read(&in, &header, &body) != BLOCK_GOOD) {
        return RESULT_DAMAGED;
    }
    if (header.kind == BLOCK_HOSTS) {
        Result rc = host_block_read(&header, body, &host);
        *named = rc == RESULT_OK && forget_is_named(targets, host.origin, host.length);
        return rc;
    }
    link_block_reader_init(&reader, &header, body);
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && (rc = link_block_next(&reader, &record)) == RESULT_OK) {
        bool meant = forget_means_url(targets, record.url, record.length);
        *named |= meant;
        rc = meant || draft == NULL ? RESULT_OK : outbox_draft_add(draft, to, &record);
    }
    link_block_reader_destroy(&reader);
    return rc == RESULT_CLOSED ? RESULT_OK : rc;
}
