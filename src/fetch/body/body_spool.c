#include "fetch/body/body_spool.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/memory/file.h"
#include "base/thread/log.h"
#include "parse/http/http_header.h"

#define CODINGS_BYTES 1024u

bool body_spool_is_for(const Buffer *header, const Buffer *body)
{
    HttpHeader answer;
    HttpField field;
    if (http_header_parse(&answer, buffer_string(header), header->length) != RESULT_OK ||
        answer.status < 200 || answer.status >= 300) {
        return false;
    }
    if (http_header_find(&answer, "Content-Type", &field)) {
        HttpContentType type = http_header_content_type(field.value, field.value_length);
        return http_header_is_page(&type, buffer_string(body), body->length);
    }
    Buffer codings = {.limit = CODINGS_BYTES};
    bool is_coded = http_header_codings(&answer, &codings, &field);
    buffer_destroy(&codings);
    if (is_coded) {
        return true; /* nobody can tell yet */
    }
    const char *text = buffer_string(body);
    return text[strspn(text, " \t\r\n\f\xef\xbb\xbf")] == '<';
}

/* Appends as much as may be in it. */
static Result body_spool_write_all(BodySpool *spool, const char *bytes, size_t length)
{
    size_t done = 0;
    while (done < length) {
        ssize_t n = write(spool->fd, bytes + done, length - done);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            int error = n < 0 ? errno : ENOSPC;
            LOG_WARN("fetch", "a long page is cut: its file cannot be written", "error=\"%s\"",
                     strerror(error));
            return result_of_errno(error);
        }
        done += (size_t)n;
        spool->length += (uint64_t)n;
    }
    return RESULT_OK;
}

static void body_spool_count(BodySpool *spool, const BodySpoolOptions *options)
{
    if (options->gate != NULL) {
        byte_gate_move(&spool->share, options->gate, (size_t)spool->length);
    }
}

static bool body_spool_has_room(const BodySpoolOptions *options)
{
    return options->gate == NULL || byte_gate_is_open(options->gate);
}

bool body_spool_may(const BodySpoolOptions *options, unsigned *endless)
{
    bool may = *endless < BODY_SPOOL_ENDLESS || *endless % BODY_SPOOL_LOOK == 0;
    if (!may) {
        (*endless)++;
        if (options->n_endless != NULL) {
            atomic_fetch_add_explicit(options->n_endless, 1, memory_order_relaxed);
        }
    }
    return may;
}

void body_spool_judge(const BodySpool *spool, uint64_t max_bytes, unsigned *endless)
{
    if (!spool->is_open) {
        return;
    }
    if (!spool->is_cut) {
        *endless = 0;
    } else if (spool->length >= max_bytes) {
        (*endless)++;
    }
}

Result body_spool_open(BodySpool *spool, const BodySpoolOptions *options, Buffer *body)
{
    if (options->directory == NULL || body->length >= options->max_bytes ||
        !body_spool_has_room(options)) {
        return RESULT_LIMIT;
    }
    *spool = (BodySpool){.is_open = false};
    Result rc = temporary_file_open(AT_FDCWD, options->directory, &spool->fd);
    if (rc != RESULT_OK) {
        LOG_WARN("fetch", "a long page is cut: no file for it", "directory=%s error=\"%s\"",
                 options->directory, result_name(rc));
        return rc;
    }
    rc = body_spool_write_all(spool, buffer_string(body), body->length);
    if (rc != RESULT_OK) {
        (void)close(spool->fd);
        *spool = (BodySpool){.is_open = false};
        return rc;
    }
    spool->is_open = true;
    buffer_destroy(body);
    body_spool_count(spool, options);
    return RESULT_OK;
}

Result body_spool_add(BodySpool *spool, const BodySpoolOptions *options, const char *bytes,
                      size_t length)
{
    uint64_t room = body_spool_has_room(options) ? options->max_bytes - spool->length : 0;
    size_t n = length < room ? length : (size_t)room;
    Result rc = body_spool_write_all(spool, bytes, n);
    body_spool_count(spool, options);
    if (rc == RESULT_OK && n < length) {
        rc = RESULT_LIMIT;
    }
    spool->is_cut = spool->is_cut || rc != RESULT_OK;
    return rc;
}

Result body_spool_read(const BodySpool *spool, uint64_t offset, char *bytes, size_t size,
                       size_t *length)
{
    *length = 0;
    while (*length < size) {
        ssize_t n = pread(spool->fd, bytes + *length, size - *length, (off_t)(offset + *length));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            int error = errno;
            LOG_WARN("parse", "the file of a long page cannot be read", "error=\"%s\"",
                     strerror(error));
            return result_of_errno(error);
        }
        if (n == 0) {
            break;
        }
        *length += (size_t)n;
    }
    return RESULT_OK;
}

void body_spool_close(BodySpool *spool)
{
    if (spool->is_open) {
        (void)close(spool->fd);
        byte_gate_move(&spool->share, NULL, 0);
    }
    *spool = (BodySpool){.is_open = false};
}
