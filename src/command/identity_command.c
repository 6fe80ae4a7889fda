#include "command/identity_command.h"

#include <stdio.h>
#include <string.h>

#include "crawl/exit_status.h"
#include "fetch/identity/message_signature.h"

static int identity_command_usage(FILE *out, int status)
{
    (void)fputs("usage: ragno identity new FILE             makes a key (Ed25519, PEM, mode 0600)\n"
                "       ragno identity show FILE            its id, and how it is used\n"
                "       ragno identity directory FILE...    what to publish for those who verify "
                "signatures\n"
                "       ragno identity addresses ADDRESS... what to publish for those who go by "
                "addresses\n",
                out);
    return status;
}

static int identity_command_complain(const char *path, const Buffer *error, Result rc)
{
    (void)fprintf(stderr, "ragno identity: %s: %s\n", path,
                  error->length > 0 ? buffer_string(error) : result_name(rc));
    return rc == RESULT_INVALID ? EXIT_USAGE : EXIT_IO;
}

static void identity_command_tell(const char *path, const SigningKey *key)
{
    printf(
        "keyid      %s\n"
        "public     %s\n"
        "configure  [crawl]\n"
        "           signature_key = %s\n"
        "           signature_agent = https://YOUR.SITE\n"
        "publish    the output of: ragno identity directory %s\n"
        "           at             https://YOUR.SITE" KEY_DIRECTORY_PATH "\n"
        "           as             Content-Type: " KEY_DIRECTORY_TYPE "\n"
        "addresses  the output of: ragno identity addresses ADDRESS...\n"
        "           on the page that crawl.contact names; and in the DNS a name below YOUR.SITE\n"
        "           for each address (PTR), which leads back to the address (A, AAAA)\n",
        signing_key_id(key), signing_key_public(key), path, path);
}

static int make_new(const char *path)
{
    SigningKey *key = NULL;
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    Result rc = signing_key_generate(&key);
    rc = rc == RESULT_OK ? signing_key_write(key, path, &error) : rc;
    int status = rc == RESULT_OK ? 0 : identity_command_complain(path, &error, rc);
    if (rc == RESULT_OK) {
        identity_command_tell(path, key);
    }
    signing_key_delete(key);
    buffer_destroy(&error);
    return status;
}

static int identity_command_show(const char *path)
{
    SigningKey *key = NULL;
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    Result rc = signing_key_read(&key, path, &error);
    int status = rc == RESULT_OK ? 0 : identity_command_complain(path, &error, rc);
    if (rc == RESULT_OK) {
        identity_command_tell(path, key);
    }
    signing_key_delete(key);
    buffer_destroy(&error);
    return status;
}

#define KEYS_MOST 16

static int print_directory(int n, char **paths)
{
    SigningKey *keys[KEYS_MOST] = {NULL};
    Buffer error, out;
    int status = 0;
    buffer_init(&error, BUFFER_NO_LIMIT);
    buffer_init(&out, BUFFER_NO_LIMIT);
    if (n > KEYS_MOST) {
        (void)fprintf(stderr, "ragno identity: at most %d keys\n", KEYS_MOST);
        return EXIT_USAGE;
    }
    for (int i = 0; i < n && status == 0; i++) {
        Result rc = signing_key_read(&keys[i], paths[i], &error);
        status = rc == RESULT_OK ? 0 : identity_command_complain(paths[i], &error, rc);
    }
    if (status == 0 &&
        key_directory_write((const SigningKey *const *)keys, (size_t)n, &out) == RESULT_OK) {
        (void)fputs(buffer_string(&out), stdout);
    }
    for (int i = 0; i < n; i++) {
        signing_key_delete(keys[i]);
    }
    buffer_destroy(&error);
    buffer_destroy(&out);
    return status;
}

static int print_addresses(int n, char **addresses)
{
    Buffer error, out;
    buffer_init(&error, BUFFER_NO_LIMIT);
    buffer_init(&out, BUFFER_NO_LIMIT);
    Result rc = key_directory_write_addresses((const char *const *)addresses, (size_t)n, wall_now(),
                                              &out, &error);
    if (rc == RESULT_OK) {
        (void)fputs(buffer_string(&out), stdout);
    } else {
        (void)fprintf(stderr, "ragno identity: %s\n", buffer_string(&error));
    }
    buffer_destroy(&error);
    buffer_destroy(&out);
    return rc == RESULT_OK ? 0 : EXIT_USAGE;
}

int identity_main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        return identity_command_usage(stdout, 0);
    }
    if (argc == 3 && strcmp(word, "new") == 0) {
        return make_new(argv[2]);
    }
    if (argc == 3 && strcmp(word, "show") == 0) {
        return identity_command_show(argv[2]);
    }
    if (argc > 2 && strcmp(word, "directory") == 0) {
        return print_directory(argc - 2, argv + 2);
    }
    if (argc > 2 && strcmp(word, "addresses") == 0) {
        return print_addresses(argc - 2, argv + 2);
    }
    return identity_command_usage(stderr, EXIT_USAGE);
}
