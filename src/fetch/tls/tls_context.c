#include "fetch/tls/tls_context.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <time.h>

#include "base/core/hash.h"
#include "base/thread/log.h"

/* ---- TLS certificates ---- */

struct TlsCertificate {
    X509 *decoded; /* counted */
    size_t length;
    unsigned char der[];
};

void tls_certificates_init(TlsCertificates *certificates)
{
    *certificates = (TlsCertificates){.slots = {{.kept = NULL}}};
}

static void tls_certificates_drop(TlsCertificate *kept)
{
    if (kept != NULL) {
        X509_free(kept->decoded);
        free(kept);
    }
}

void tls_certificates_destroy(TlsCertificates *certificates)
{
    for (size_t i = 0; i < TLS_CERTIFICATES; i++) {
        tls_certificates_drop(certificates->slots[i].kept);
    }
    tls_certificates_init(certificates);
}

/* As d2i_X509. */
static X509 *tls_certificate_decode(X509 **place, const unsigned char **der, long length)
{
    union { /* OpenSSL's own type of whatever is decoded */
        X509 **from;
        ASN1_VALUE **to;
    } value = {.from = place};
    ASN1_VALUE *decoded = ASN1_item_d2i(value.to, der, length, ASN1_ITEM_rptr(X509));
    return (X509 *)decoded;
}

static void tls_certificates_keep(TlsCertificateSlot *slot, X509 *decoded, const unsigned char *der,
                                  size_t length)
{
    TlsCertificate *made = malloc(sizeof *made + length);
    if (made == NULL || X509_up_ref(decoded) != 1) {
        free(made);
        return;
    }
    made->decoded = decoded;
    made->length = length;
    memcpy(made->der, der, length);
    tls_certificates_drop(slot->kept);
    slot->kept = made;
}

X509 *tls_certificates_read(TlsCertificates *certificates, X509 **place, const unsigned char **der,
                            long length)
{
    if (length <= 0 || length > TLS_CERTIFICATE_BYTES) {
        return tls_certificate_decode(place, der, length);
    }
    const unsigned char *start = *der;
    size_t n = (size_t)length;
    uint64_t hash = hash_64(start, n, 0);
    TlsCertificateSlot *slot = &certificates->slots[hash % TLS_CERTIFICATES];
    const TlsCertificate *kept = slot->kept;
    if (kept != NULL && kept->length == n && memcmp(kept->der, start, n) == 0) {
        *der += n;
        if (X509_up_ref(kept->decoded) != 1) {
            return NULL;
        }
        if (place != NULL) {
            X509_free(*place);
            *place = kept->decoded;
        }
        return kept->decoded;
    }
    X509 *decoded = tls_certificate_decode(place, der, length);
    if (decoded != NULL && *der == start + n) { /* nothing is behind it */
        if (slot->seen == hash) {
            tls_certificates_keep(slot, decoded, start, n);
        }
        slot->seen = hash;
    }
    return decoded;
}

/* ---- TLS context ---- */

#define NAME_BYTES 256
/* OpenSSL's, with the one in front whose hash makes the handshake cheapest. Browsers have this
 * order, too. */
#define SUITES "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int context_place; /* of the TlsContext in an SSL_CTX */
static int peer_place;    /* of the host's number, an allocated one, in an SSL */
static _Thread_local TlsContext *of_thread;

static void free_number(void *parent, void *number, CRYPTO_EX_DATA *data, int place, long n,
                        void *context)
{
    (void)parent;
    (void)data;
    (void)place;
    (void)n;
    (void)context;
    OPENSSL_free(number);
}

static void tls_context_find_places(void)
{
    context_place = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, NULL);
    peer_place = SSL_get_ex_new_index(0, NULL, NULL, NULL, free_number);
}

void tls_context_init(TlsContext *tls, TlsTrust *trust, TlsSessions *sessions)
{
    (void)pthread_once(&once, tls_context_find_places);
    *tls = (TlsContext){.trust = trust, .sessions = sessions};
    tls_certificates_init(&tls->certificates);
}

void tls_context_destroy(TlsContext *tls)
{
    SSL_CTX_free(tls->context);
    tls->context = NULL;
    tls_certificates_destroy(&tls->certificates);
}

void tls_context_enter(TlsContext *tls)
{
    of_thread = tls;
}

/* ---- in place of OpenSSL's ---- */

SSL_CTX *SSL_CTX_new(const SSL_METHOD *method)
{
    TlsContext *tls = of_thread;
    if (tls == NULL || method != TLS_client_method()) {
        return SSL_CTX_new_ex(NULL, NULL, method);
    }
    if (tls->context == NULL) {
        tls->context = SSL_CTX_new_ex(NULL, NULL, method);
    }
    if (tls->context != NULL) {
        (void)SSL_CTX_up_ref(tls->context);
    }
    return tls->context;
}

X509 *d2i_X509(X509 **place, const unsigned char **der, long length)
{
    TlsContext *tls = of_thread;
    return tls == NULL ? tls_certificate_decode(place, der, length)
                       : tls_certificates_read(&tls->certificates, place, der, length);
}

/* ---- what OpenSSL calls ---- */

static TlsContext *context_of(const SSL *ssl)
{
    return SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), context_place);
}

static int tls_context_refuse(int verified, X509_STORE_CTX *chain)
{
    (void)verified;
    X509_STORE_CTX_set_error(chain, X509_V_ERR_OUT_OF_MEM);
    return 0;
}

/* A host's name, or its address without the brackets. */
static const char *bare_name(const char *name, char bare[NAME_BYTES])
{
    size_t length = strlen(name);
    if (length <= 2 || length >= NAME_BYTES || name[0] != '[') {
        return name;
    }
    memcpy(bare, name + 1, length - 2);
    bare[length - 2] = '\0';
    return bare;
}

/* The certificate must be the host's. */
static void expect_name(SSL *ssl, const char *name)
{
    char bare[NAME_BYTES];
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
    name = bare_name(name, bare);
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (X509_VERIFY_PARAM_set1_ip_asc(param, name) != 1 &&
        X509_VERIFY_PARAM_set1_host(param, name, 0) != 1) {
        SSL_set_verify(ssl, SSL_VERIFY_PEER, tls_context_refuse); /* nobody's is good enough */
    }
    ERR_clear_error();
}

/* The session is offered by the message that comes next. */
static void begin_handshake(SSL *ssl, TlsContext *tls)
{
    const TlsPeer *peer = tls->peer;
    if (peer == NULL || SSL_get_ex_data(ssl, peer_place) != NULL) {
        return; /* an old one begins anew */
    }
    tls->peer = NULL;
    if (peer->verify) {
        expect_name(ssl, peer->name);
    }
    uint64_t *number = OPENSSL_malloc(sizeof *number);
    if (number == NULL || SSL_set_ex_data(ssl, peer_place, number) != 1) {
        OPENSSL_free(number);
        return;
    }
    *number = peer->host;
    SSL_SESSION *session = tls_sessions_get(tls->sessions, peer->host, wall_seconds(wall_now()));
    if (session != NULL) {
        (void)SSL_set_session(ssl, session);
        SSL_SESSION_free(session);
    }
}

/* OpenSSL takes a const SSL for granted here, although a callback may act on it. */
static void on_progress(const SSL *ssl, int where, int code)
{
    (void)code;
    union {
        const SSL *from;
        SSL *to;
    } unconst = {.from = ssl};
    TlsContext *tls = context_of(ssl);
    if (tls == NULL) {
        return;
    }
    if ((where & SSL_CB_HANDSHAKE_START) != 0) {
        begin_handshake(unconst.to, tls);
    } else if ((where & SSL_CB_HANDSHAKE_DONE) != 0) {
        atomic_fetch_add_explicit(&tls->counts.handshakes, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&tls->counts.resumed, (uint64_t)SSL_session_reused(ssl),
                                  memory_order_relaxed);
    }
}

static int on_ticket(SSL *ssl, SSL_SESSION *session)
{
    TlsContext *tls = context_of(ssl);
    const uint64_t *number = SSL_get_ex_data(ssl, peer_place);
    if (tls != NULL && number != NULL) {
        tls_sessions_put(tls->sessions, *number, session);
    }
    return 0; /* it stays OpenSSL's */
}

/* ---- what libcurl calls ---- */

/* libcurl writes these into the context anew for each connection. */
static void tls_context_take_back(const TlsPeer *peer, SSL_CTX *context)
{
    (void)SSL_CTX_set_session_cache_mode(context,
                                         SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context, on_ticket);
    (void)SSL_CTX_clear_options(context, SSL_OP_NO_TICKET); /* of TLS 1.2 */
    /* libcurl has been told not to verify: its own way reads its files anew. */
    SSL_CTX_set_verify(context, peer->verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, NULL);
}

/* Reading them is not a server's sending them: the thread's own certificates stay. */
static X509_STORE *trusted(TlsContext *tls)
{
    of_thread = NULL;
    X509_STORE *store = tls_trust_store(tls->trust);
    of_thread = tls;
    return store;
}

static bool configure(TlsContext *tls, SSL_CTX *context)
{
    if (SSL_CTX_get_ex_data(context, context_place) == tls) {
        return true; /* the rest was done for an earlier connection */
    }
    SSL_CTX_set_info_callback(context, on_progress);
    (void)SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS); /* idle connections have none */
    (void)SSL_CTX_set_ciphersuites(context, SUITES);
    return (tls->trust == NULL || SSL_CTX_set1_verify_cert_store(context, trusted(tls)) == 1) &&
           SSL_CTX_set_ex_data(context, context_place, tls) == 1;
}

/* A connection is about to be made: libcurl has set up its context, and makes the SSL and begins
 * its handshake before anything else happens on this thread. */
static CURLcode on_context(CURL *easy, void *context, void *data)
{
    (void)easy;
    const TlsPeer *peer = data;
    TlsContext *tls = of_thread;
    if (tls == NULL) {
        return CURLE_OK;
    }
    if (!configure(tls, context)) {
        return CURLE_OUT_OF_MEMORY;
    }
    tls->peer = NULL;
    if (peer->name != NULL) {
        tls_context_take_back(peer, context);
        tls->peer = peer;
    }
    return CURLE_OK;
}

void tls_context_prepare(TlsContext *tls, CURL *easy, const TlsPeer *peer)
{
    union { /* libcurl's option takes no const, and hands it back unchanged */
        const TlsPeer *from;
        void *to;
    } unconst = {.from = peer};
    tls->is_asked = curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, on_context) == CURLE_OK &&
                    curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, unconst.to) == CURLE_OK;
    if (tls->is_asked) {
        (void)curl_easy_setopt(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L);
        (void)curl_easy_setopt(easy, CURLOPT_CAINFO, NULL);
        (void)curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    }
}

bool tls_context_verifies(const TlsContext *tls, const TlsPeer *peer)
{
    return tls->is_asked && peer->name != NULL;
}

void tls_context_forget(TlsContext *tls, const TlsPeer *peer)
{
    tls_sessions_forget(tls->sessions, peer->host);
}

void tls_context_stats(const TlsContext *tls, TlsStats *stats)
{
    *stats = (TlsStats){
        .handshakes = atomic_load_explicit(&tls->counts.handshakes, memory_order_relaxed),
        .resumed = atomic_load_explicit(&tls->counts.resumed, memory_order_relaxed),
    };
}

/* ---- Tls trust ---- */

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
        /* The default paths are named one by one: X509_STORE_set_default_paths adds a lookup
         * besides that lists the whole directory for each issuer that is not trusted. */
        const char *file = system_file();
        const char *directory = system_directory();
        bool has_file = *file != '\0' && X509_STORE_load_file(trust->store, file) == 1;
        bool has_directory =
            has_certificates(directory) && X509_STORE_load_path(trust->store, directory) == 1;
        if (!has_file && !has_directory) {
            LOG_ERROR("fetch", "the trusted certificates cannot be read any more", "file=%s", file);
        }
        ERR_clear_error();
        trust->is_read = true;
    }
    mutex_unlock(&trust->mutex);
    return trust->store;
}

/* ---- Tls facts ---- */

const char *tls_verdict_name(TlsVerdict verdict)
{
    static const char *const names[TLS_VERDICTS] = {
        "-", "verified", "expired", "other-name", "self-signed", "untrusted", "invalid"};
    return verdict < TLS_VERDICTS ? names[verdict] : "?";
}

const char *tls_version_name(uint16_t version)
{
    switch (version) {
    case TLS1_VERSION:
        return "1.0";
    case TLS1_1_VERSION:
        return "1.1";
    case TLS1_2_VERSION:
        return "1.2";
    case TLS1_3_VERSION:
        return "1.3";
    default:
        return "?";
    }
}

static bool is_for(X509 *certificate, const char *hostname)
{
    char bare[NAME_BYTES];
    hostname = bare_name(hostname, bare);
    return X509_check_ip_asc(certificate, hostname, 0) == 1 ||
           X509_check_host(certificate, hostname, 0, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS, NULL) ==
               1;
}

static TlsVerdict verdict_of(const SSL *ssl, X509 *certificate, const char *hostname)
{
    switch (SSL_get_verify_result(ssl)) {
    case X509_V_OK:
        return certificate != NULL && is_for(certificate, hostname) ? TLS_VERIFIED : TLS_OTHER_NAME;
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return TLS_EXPIRED;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return TLS_OTHER_NAME;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        return TLS_SELF_SIGNED;
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_UNTRUSTED:
        return TLS_UNTRUSTED;
    default:
        return TLS_INVALID;
    }
}

TlsFacts tls_facts_of(const SSL *ssl, const char *hostname)
{
    TlsFacts facts = {.version = (uint16_t)SSL_version(ssl)};
    const SSL_CIPHER *cipher = SSL_get_current_cipher(ssl);
    X509 *certificate = SSL_get0_peer_certificate(ssl);
    struct tm until;
    facts.cipher = cipher == NULL ? NULL : SSL_CIPHER_standard_name(cipher);
    facts.verdict = verdict_of(ssl, certificate, hostname);
    if (certificate != NULL && ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &until) == 1) {
        facts.expiry_s = (int64_t)timegm(&until);
    }
    return facts;
}
