/* Input: a configuration file; or, behind a NUL, "NAME NUL TEXT" of one option. Whatever it says is
 * taken or refused with a line of its own that names the place; and what was taken is printed so
 * that it loads again as the same. */
#include <assert.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rules/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Loads bytes from a file that has no name of its own. */
static Result load_bytes(Config *config, const char *bytes, size_t size, Buffer *error)
{
    char path[64];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    assert(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    Result rc = options_load(&config->options, path, error);
    (void)close(fd);
    return rc;
}

static char *print(const Config *config, size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    assert(out != NULL);
    options_print(&config->options, out);
    (void)fclose(out);
    return text;
}

/* Whether anything was taken. */
static bool has_changed(const Options *options)
{
    bool changed = options->n_sites > 0 || options->n_identities > 0;
    for (size_t i = 0; i < options->n_specs && !changed; i++) {
        changed = strcmp(options->origins[i], "default") != 0;
    }
    return changed;
}

/* What was printed loads, and the values are the same. Sites are compared by number. */
static void check_round_trip(const Config *config)
{
    Config again;
    Buffer error;
    size_t length = 0;
    char *text = print(config, &length);
    buffer_init(&error, BUFFER_NO_LIMIT);
    assert(config_init(&again) == RESULT_OK);
    Result rc = load_bytes(&again, text, length, &error);
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "%s\n%s", buffer_string(&error), text);
        abort();
    }
    assert(error.length == 0);
    for (size_t i = 0; i < config->options.n_specs; i++) {
        assert(strcmp(config->options.texts[i], again.options.texts[i]) == 0);
    }
    assert(config->options.n_sites == again.options.n_sites);
    assert(config->options.n_identities == again.options.n_identities);
    buffer_destroy(&error);
    config_destroy(&again);
    free(text);
}

static void load_file(Config *config, const char *bytes, size_t size, Buffer *error)
{
    Result rc = load_bytes(config, bytes, size, error);
    assert(rc == RESULT_OK || rc == RESULT_INVALID);
    assert((rc == RESULT_OK) == (error->length == 0));
    assert(rc == RESULT_OK || error->data[error->length - 1] == '\n');
    assert(rc == RESULT_OK || strncmp(error->data, "/proc/self/fd/", 14) == 0);
}

static void set_one(Config *config, const char *bytes, size_t size, Buffer *error)
{
    char *copy = malloc(size + 1);
    assert(copy != NULL);
    memcpy(copy, bytes, size);
    copy[size] = '\0';
    size_t name = strlen(copy);
    Result rc =
        options_set(&config->options, copy, name < size ? copy + name + 1 : "", "fuzz:1", error);
    assert(rc == RESULT_OK || rc == RESULT_INVALID);
    assert((rc == RESULT_OK) == (error->length == 0));
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* An include may not open what lies about on this machine. */
    if (memmem(data, size, "include", 7) != NULL) {
        return 0;
    }
    Config config;
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    assert(config_init(&config) == RESULT_OK);
    if (size > 0 && data[0] == '\0') {
        set_one(&config, (const char *)data + 1, size - 1, &error);
    } else {
        load_file(&config, (const char *)data, size, &error);
    }
    if (has_changed(&config.options)) {
        check_round_trip(&config);
    }
    buffer_destroy(&error);
    config_destroy(&config);
    return 0;
}
