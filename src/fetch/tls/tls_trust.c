#include "fetch/tls/tls_trust.h"

#include <dirent.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread/log.h"

/* Where OpenSSL looks, unless the environment says otherwise. */
static const char *tls_trust_place(const char *variable, const char *otherwise)
{
    const char *value = getenv(variable);
    return value != NULL ? value : otherwise;
}

static bool has_certificate(const char *path)
{
    FILE *file = *path == '\0' ? NULL : fopen(path, "re");
    X509 *first = file == NULL ? NULL : PEM_read_X509(file, NULL, NULL, NULL);
    if (file != NULL) {
        (void)fclose(file);
    }
    X509_free(first);
    return first != NULL;
}

/* Whether a list of directories has a certificate under the name by which it is looked up. */
static bool has_certificates(const char *directories)
{
    bool found = false;
    char *copy = strdup(directories);
    char *save = NULL;
    for (char *path = copy == NULL ? NULL : strtok_r(copy, ":", &save); path != NULL && !found;
         path = strtok_r(NULL, ":", &save)) {
        DIR *directory = opendir(path);
        const struct dirent *entry = NULL;
        while (directory != NULL && !found && (entry = readdir(directory)) != NULL) {
            const char *dot = strrchr(entry->d_name, '.');
            found = dot == entry->d_name + 8 && dot[1] >= '0' && dot[1] <= '9';
        }
        if (directory != NULL) {
            (void)closedir(directory);
        }
    }
    free(copy);
    return found;
}

static const char *system_file(void)
{
    return tls_trust_place(X509_get_default_cert_file_env(), X509_get_default_cert_file());
}

static const char *system_directory(void)
{
    return tls_trust_place(X509_get_default_cert_dir_env(), X509_get_default_cert_dir());
}

/* The default paths are named one by one: X509_STORE_set_default_paths adds a lookup besides that
 * lists the whole directory for each issuer that is not trusted. */
static void load_system(X509_STORE *store)
{
    const char *file = system_file();
    const char *directory = system_directory();
    bool has_file = *file != '\0' && X509_STORE_load_file(store, file) == 1;
    bool has_directory = has_certificates(directory) && X509_STORE_load_path(store, directory) == 1;
    if (!has_file && !has_directory) {
        LOG_ERROR("fetch", "the trusted certificates cannot be read any more", "file=%s", file);
    }
}

/* OpenSSL takes a machine without any certificate for one that trusts nobody. */
static Result look_for_system(Buffer *error)
{
    const char *file = system_file();
    const char *directory = system_directory();
    if (has_certificate(file) || has_certificates(directory)) {
        return RESULT_OK;
    }
    (void)buffer_printf(error,
                        "no trusted certificates: there are none in %s, nor in %s; install "
                        "ca-certificates, or set fetch.ca_file to a file in PEM",
                        file, directory);
    return RESULT_INVALID;
}

static Result load_file(X509_STORE *store, const char *file, Buffer *error)
{
    if (X509_STORE_load_file(store, file) == 1) {
        return RESULT_OK;
    }
    (void)buffer_printf(error, "%s: expected a file of certificates in PEM", file);
    return RESULT_INVALID;
}

Result tls_trust_init(TlsTrust *trust, const char *file, Buffer *error)
{
    trust->store = X509_STORE_new();
    if (trust->store == NULL) {
        return RESULT_MEMORY;
    }
    /* A certificate that is listed is trusted, whoever signed it; as libcurl has it. */
    (void)X509_STORE_set_flags(trust->store, X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN);
    mutex_init(&trust->mutex, RANK_TABLE);
    trust->is_read = *file != '\0';
    Result rc = trust->is_read ? load_file(trust->store, file, error) : look_for_system(error);
    ERR_clear_error();
    if (rc != RESULT_OK) {
        tls_trust_destroy(trust);
    }
    return rc;
}

void tls_trust_destroy(TlsTrust *trust)
{
    if (trust->store != NULL) {
        mutex_destroy(&trust->mutex);
        X509_STORE_free(trust->store);
        trust->store = NULL;
    }
}

X509_STORE *tls_trust_store(TlsTrust *trust)
{
    mutex_lock(&trust->mutex);
    if (!trust->is_read) {
        load_system(trust->store);
        ERR_clear_error();
        trust->is_read = true;
    }
    mutex_unlock(&trust->mutex);
    return trust->store;
}
