#include "tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALID_S     (10 * 365 * 24 * 3600L)
#define BEFORE_S    (-24 * 3600L) /* clocks differ */
#define NAMES_BYTES 600

struct Tls {
    SSL_CTX *context;
};

struct TlsStream {
    SSL *ssl;
};

static Result complain(const char *what)
{
    char text[256];
    ERR_error_string_n(ERR_get_error(), text, sizeof text);
    fprintf(stderr, "web: TLS: %s: %s\n", what, text);
    return RESULT_IO;
}

/* ---- the certificate ---------------------------------------------------------------------------
 */

static bool add_extension(X509 *certificate, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    bool added = extension != NULL && X509_add_ext(certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return added;
}

static bool fill_in(X509 *certificate, EVP_PKEY *key, const char *suffix)
{
    char names[NAMES_BYTES];
    (void)snprintf(names, sizeof names, "DNS:%s,DNS:*.%s", suffix, suffix);
    X509_NAME *name = X509_get_subject_name(certificate);
    return X509_set_version(certificate, X509_VERSION_3) == 1 &&
           ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1) == 1 &&
           X509_gmtime_adj(X509_getm_notBefore(certificate), BEFORE_S) != NULL &&
           X509_gmtime_adj(X509_getm_notAfter(certificate), VALID_S) != NULL &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                      (const unsigned char *)"synthetic web", -1, -1, 0) == 1 &&
           X509_set_issuer_name(certificate, name) == 1 && X509_set_pubkey(certificate, key) == 1 &&
           add_extension(certificate, NID_basic_constraints, "critical,CA:TRUE") &&
           add_extension(certificate, NID_subject_alt_name, names) &&
           X509_sign(certificate, key, EVP_sha256()) > 0;
}

static Result write_certificate(const char *path, X509 *certificate)
{
    FILE *file = fopen(path, "w");
    bool written = file != NULL && PEM_write_X509(file, certificate) == 1;
    written = (file == NULL || fclose(file) == 0) && written;
    if (!written) {
        perror(path);
    }
    return written ? RESULT_OK : RESULT_IO;
}

static Result certify(SSL_CTX *context, const WebOptions *options)
{
    EVP_PKEY *key = options->tls_rsa ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    Result rc = key != NULL && certificate != NULL && fill_in(certificate, key, options->suffix) &&
                        SSL_CTX_use_certificate(context, certificate) == 1 &&
                        SSL_CTX_use_PrivateKey(context, key) == 1
                    ? RESULT_OK
                    : complain("the certificate cannot be made");
    if (rc == RESULT_OK && options->tls_ca_path != NULL) {
        rc = write_certificate(options->tls_ca_path, certificate);
    }
    X509_free(certificate);
    EVP_PKEY_free(key);
    return rc;
}

Result tls_new(Tls **out, const WebOptions *options)
{
    Tls *tls = calloc(1, sizeof *tls);
    if (tls == NULL) {
        return RESULT_MEMORY;
    }
    tls->context = SSL_CTX_new(TLS_server_method());
    Result rc = tls->context == NULL ? complain("no context") : certify(tls->context, options);
    if (rc == RESULT_OK) {
        static const unsigned char id[] = "web";
        (void)SSL_CTX_set_min_proto_version(tls->context, TLS1_3_VERSION);
        (void)SSL_CTX_set_mode(tls->context,
                               SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        (void)SSL_CTX_set_session_id_context(tls->context, id, sizeof id - 1);
        (void)SSL_CTX_set_session_cache_mode(tls->context, SSL_SESS_CACHE_OFF);
        if (options->tls_no_tickets) {
            (void)SSL_CTX_set_num_tickets(tls->context, 0);
        }
        *out = tls;
    } else {
        tls_delete(tls);
    }
    return rc;
}

void tls_delete(Tls *tls)
{
    if (tls != NULL) {
        SSL_CTX_free(tls->context);
        free(tls);
    }
}

/* ---- streams -----------------------------------------------------------------------------------
 */

TlsStream *tls_stream_new(const Tls *tls, int fd)
{
    TlsStream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) {
        return NULL;
    }
    stream->ssl = SSL_new(tls->context);
    if (stream->ssl == NULL || SSL_set_fd(stream->ssl, fd) != 1) {
        SSL_free(stream->ssl);
        free(stream);
        ERR_clear_error();
        return NULL;
    }
    SSL_set_accept_state(stream->ssl);
    return stream;
}

void tls_stream_delete(TlsStream *stream)
{
    if (stream != NULL) {
        if (SSL_is_init_finished(stream->ssl)) {
            (void)SSL_shutdown(stream->ssl);
        }
        SSL_free(stream->ssl);
        ERR_clear_error();
        free(stream);
    }
}

/* What OpenSSL's call returned, as recv and send put it. */
static ssize_t outcome(const TlsStream *stream, int rc, size_t n)
{
    if (rc == 1) {
        return (ssize_t)n;
    }
    int error = SSL_get_error(stream->ssl, rc);
    ERR_clear_error();
    if (error == SSL_ERROR_ZERO_RETURN) {
        return 0;
    }
    errno = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? EAGAIN : ECONNRESET;
    return -1;
}

ssize_t tls_stream_recv(TlsStream *stream, void *bytes, size_t length)
{
    size_t n = 0;
    int rc = SSL_read_ex(stream->ssl, bytes, length, &n);
    return outcome(stream, rc, n);
}

ssize_t tls_stream_send(TlsStream *stream, const void *bytes, size_t length)
{
    size_t n = 0;
    int rc = SSL_write_ex(stream->ssl, bytes, length, &n);
    return outcome(stream, rc, n);
}

bool tls_stream_resumed(const TlsStream *stream)
{
    return SSL_session_reused(stream->ssl) == 1;
}
