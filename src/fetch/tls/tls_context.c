#include "fetch/tls/tls_context.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/hash.h"

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

X509 *tls_certificate_decode(X509 **place, const unsigned char **der, long length)
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

static X509 *tls_certificates_hand_out(const TlsCertificate *kept, X509 **place)
{
    if (X509_up_ref(kept->decoded) != 1) {
        return NULL;
    }
    if (place != NULL) {
        X509_free(*place);
        *place = kept->decoded;
    }
    return kept->decoded;
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
        return tls_certificates_hand_out(kept, place);
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

/* The certificate must be the host's. */
static void expect_name(SSL *ssl, const char *name)
{
    char bare[NAME_BYTES];
    size_t length = strlen(name);
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
    if (length > 2 && length < sizeof bare && name[0] == '[') {
        memcpy(bare, name + 1, length - 2);
        bare[length - 2] = '\0';
        name = bare;
    }
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
