#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "fetch/tls/tls_sessions.h"
#include "unit.h"

#define ROOM ((size_t)1 << 20)

/* A client and a server in memory. */
typedef struct Pair {
    SSL_CTX *server;
    SSL_CTX *client;
    SSL_SESSION *ticket; /* the last that the client got */
} Pair;

static int64_t time_of(const SSL_SESSION *session)
{
#if OPENSSL_VERSION_NUMBER >= 0x30400000L
    return (int64_t)SSL_SESSION_get_time_ex(session);
#else
    return (int64_t)SSL_SESSION_get_time(session);
#endif
}

static int ticket_place = -1;

static int on_ticket(SSL *ssl, SSL_SESSION *session)
{
    Pair *pair = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), ticket_place);
    SSL_SESSION_free(pair->ticket);
    pair->ticket = session;
    return 1;
}

static void certify(SSL_CTX *server)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    CU_ASSERT_PTR_NOT_NULL_FATAL(key);
    CU_ASSERT_PTR_NOT_NULL_FATAL(certificate);
    (void)X509_set_version(certificate, X509_VERSION_3);
    (void)X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
    (void)X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    (void)X509_set_pubkey(certificate, key);
    CU_ASSERT_TRUE_FATAL(X509_sign(certificate, key, EVP_sha256()) > 0);
    CU_ASSERT_EQUAL_FATAL(SSL_CTX_use_certificate(server, certificate), 1);
    CU_ASSERT_EQUAL_FATAL(SSL_CTX_use_PrivateKey(server, key), 1);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

static void pair_init(Pair *pair)
{
    *pair = (Pair){.server = SSL_CTX_new(TLS_server_method()),
                   .client = SSL_CTX_new(TLS_client_method())};
    CU_ASSERT_PTR_NOT_NULL_FATAL(pair->server);
    CU_ASSERT_PTR_NOT_NULL_FATAL(pair->client);
    certify(pair->server);
    if (ticket_place < 0) {
        ticket_place = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, NULL);
    }
    CU_ASSERT_EQUAL(SSL_CTX_set_ex_data(pair->client, ticket_place, pair), 1);
    (void)SSL_CTX_set_session_cache_mode(pair->client, SSL_SESS_CACHE_CLIENT);
    SSL_CTX_sess_set_new_cb(pair->client, on_ticket);
}

static void pair_destroy(Pair *pair)
{
    SSL_SESSION_free(pair->ticket);
    SSL_CTX_free(pair->client);
    SSL_CTX_free(pair->server);
}

/* Shakes hands, offering the session (or none), and takes the tickets. Says whether the server
 * resumed it. */
static bool connect_with(Pair *pair, SSL_SESSION *session)
{
    BIO *ours = NULL;
    BIO *theirs = NULL;
    SSL *client = SSL_new(pair->client);
    SSL *server = SSL_new(pair->server);
    CU_ASSERT_EQUAL_FATAL(BIO_new_bio_pair(&ours, 0, &theirs, 0), 1);
    SSL_set_bio(client, ours, ours);
    SSL_set_bio(server, theirs, theirs);
    if (session != NULL) {
        CU_ASSERT_EQUAL(SSL_set_session(client, session), 1);
    }
    SSL_set_connect_state(client);
    SSL_set_accept_state(server);
    int done = 0;
    for (int i = 0; i < 100 && done != 2; i++) {
        done = (SSL_do_handshake(client) == 1) + (SSL_do_handshake(server) == 1);
    }
    CU_ASSERT_EQUAL(done, 2);
    char byte;
    (void)SSL_read(client, &byte, 1); /* the tickets come behind the handshake */
    bool resumed = SSL_session_reused(client) == 1;
    (void)SSL_shutdown(client); /* a session whose connection ends without a word is not offered */
    SSL_free(client);
    SSL_free(server);
    return resumed;
}

static void a_kept_session_is_resumed(void)
{
    Pair pair;
    TlsSessions sessions;
    pair_init(&pair);
    tls_sessions_init(&sessions, ROOM);
    CU_ASSERT_FALSE(connect_with(&pair, NULL));
    CU_ASSERT_PTR_NOT_NULL_FATAL(pair.ticket);
    tls_sessions_put(&sessions, 7, pair.ticket);
    int64_t now = time_of(pair.ticket);
    CU_ASSERT_PTR_NULL(tls_sessions_get(&sessions, 8, now));
    SSL_SESSION *kept = tls_sessions_get(&sessions, 7, now);
    CU_ASSERT_PTR_NOT_NULL_FATAL(kept);
    CU_ASSERT_PTR_NULL(SSL_SESSION_get0_peer(kept)); /* nobody looks at it again */
    CU_ASSERT_TRUE(connect_with(&pair, kept));
    SSL_SESSION_free(kept);
    tls_sessions_forget(&sessions, 7);
    CU_ASSERT_PTR_NULL(tls_sessions_get(&sessions, 7, now));
    CU_ASSERT_EQUAL(sessions.bytes, 0);
    tls_sessions_destroy(&sessions);
    pair_destroy(&pair);
}

static void an_expired_session_is_not_offered(void)
{
    Pair pair;
    TlsSessions sessions;
    pair_init(&pair);
    tls_sessions_init(&sessions, ROOM);
    (void)connect_with(&pair, NULL);
    tls_sessions_put(&sessions, 1, pair.ticket);
    int64_t end = time_of(pair.ticket) + SSL_SESSION_get_timeout(pair.ticket);
    SSL_SESSION *before = tls_sessions_get(&sessions, 1, end - 1);
    CU_ASSERT_PTR_NOT_NULL(before);
    SSL_SESSION_free(before);
    CU_ASSERT_PTR_NULL(tls_sessions_get(&sessions, 1, end));
    CU_ASSERT_EQUAL(sessions.bytes, 0);
    tls_sessions_destroy(&sessions);
    pair_destroy(&pair);
}

static void those_not_used_longest_make_room(void)
{
    Pair pair;
    TlsSessions sessions;
    pair_init(&pair);
    tls_sessions_init(&sessions, ROOM);
    (void)connect_with(&pair, NULL);
    int64_t now = time_of(pair.ticket);
    tls_sessions_put(&sessions, 0, pair.ticket);
    size_t each = sessions.bytes;
    CU_ASSERT_TRUE(each > 0 && each < 1024);
    sessions.max_bytes = 3 * each;
    tls_sessions_put(&sessions, 1, pair.ticket);
    tls_sessions_put(&sessions, 2, pair.ticket);
    SSL_SESSION_free(tls_sessions_get(&sessions, 0, now));
    tls_sessions_put(&sessions, 3, pair.ticket);
    CU_ASSERT_EQUAL(sessions.bytes, 3 * each);
    CU_ASSERT_EQUAL(sessions.n_forgotten, 1);
    for (uint64_t host = 0; host < 4; host++) {
        SSL_SESSION *kept = tls_sessions_get(&sessions, host, now);
        CU_ASSERT_EQUAL(kept != NULL, host != 1);
        SSL_SESSION_free(kept);
    }
    tls_sessions_put(&sessions, 3, pair.ticket); /* in place of the one before */
    CU_ASSERT_EQUAL(sessions.bytes, 3 * each);
    tls_sessions_destroy(&sessions);
    tls_sessions_init(&sessions, 0);
    tls_sessions_put(&sessions, 0, pair.ticket);
    CU_ASSERT_EQUAL(sessions.bytes, 0);
    CU_ASSERT_PTR_NULL(tls_sessions_get(&sessions, 0, now));
    tls_sessions_destroy(&sessions);
    pair_destroy(&pair);
}

UNIT_MAIN("tls_sessions", {"a kept session is resumed", a_kept_session_is_resumed},
          {"an expired session is not offered", an_expired_session_is_not_offered},
          {"those not used longest make room", those_not_used_longest_make_room})
