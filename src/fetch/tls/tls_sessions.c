#include "fetch/tls/tls_sessions.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>

#define SESSION_MOST_BYTES 65536
#define AROUND_BYTES       96 /* of a session: its place in the map, and of malloc's */

/* DER: SEQUENCE, and the field of a session that holds the certificate. */
#define DER_SEQUENCE    0x30
#define DER_CERTIFICATE 0xA3

struct TlsSession {
    uint64_t host;
    TlsSession *newer;
    TlsSession *older;
    int64_t expiry_s; /* since 1970 */
    size_t length;
    unsigned char bytes[];
};

void tls_sessions_init(TlsSessions *sessions, size_t max_bytes)
{
    *sessions = (TlsSessions){.max_bytes = max_bytes};
    map_init(&sessions->by_host);
    mutex_init(&sessions->lock, RANK_TABLE);
}

/* ---- the list ---- */

static void tls_sessions_take_out(TlsSessions *sessions, const TlsSession *session)
{
    *(session->newer != NULL ? &session->newer->older : &sessions->newest) = session->older;
    *(session->older != NULL ? &session->older->newer : &sessions->oldest) = session->newer;
}

static void put_first(TlsSessions *sessions, TlsSession *session)
{
    session->newer = NULL;
    session->older = sessions->newest;
    *(session->older != NULL ? &session->older->newer : &sessions->oldest) = session;
    sessions->newest = session;
}

static size_t cost_of(const TlsSession *session)
{
    return sizeof *session + session->length + AROUND_BYTES;
}

static void tls_sessions_drop(TlsSessions *sessions, TlsSession *session)
{
    tls_sessions_take_out(sessions, session);
    (void)map_remove(&sessions->by_host, map_key(session->host));
    sessions->bytes -= cost_of(session);
    OPENSSL_cleanse(session->bytes, session->length);
    free(session);
}

void tls_sessions_destroy(TlsSessions *sessions)
{
    while (sessions->oldest != NULL) {
        tls_sessions_drop(sessions, sessions->oldest);
    }
    map_destroy(&sessions->by_host);
    mutex_destroy(&sessions->lock);
}

/* ---- bytes ---- */

/* Reads the header of a DER element; returns its whole length, 0 when it is none. */
static size_t element_length(const unsigned char *der, size_t length, size_t *header)
{
    if (length < 2) {
        return 0;
    }
    size_t n = der[1];
    *header = 2;
    if (n >= 0x80) {
        size_t digits = n & 0x7F;
        if (digits == 0 || digits > sizeof(uint32_t) || length < 2 + digits) {
            return 0;
        }
        n = 0;
        for (size_t i = 0; i < digits; i++) {
            n = n << 8 | der[2 + i];
        }
        *header += digits;
    }
    return n <= length - *header ? *header + n : 0;
}

#define HEADER_BYTES 4

/* Copies a session without its certificate; returns the length, 0 when it is no session. out has
 * room for length + HEADER_BYTES. */
static size_t copy_without_certificate(const unsigned char *der, size_t length, unsigned char *out)
{
    size_t header = 0;
    size_t n = 0;
    size_t whole = element_length(der, length, &header);
    if (whole == 0 || der[0] != DER_SEQUENCE) {
        return 0;
    }
    for (size_t at = header; at < whole;) {
        size_t inner = 0;
        size_t element = element_length(der + at, whole - at, &inner);
        if (element == 0) {
            return 0;
        }
        if (der[at] != DER_CERTIFICATE) {
            memcpy(out + HEADER_BYTES + n, der + at, element);
            n += element;
        }
        at += element;
    }
    if (n > UINT16_MAX) {
        return 0;
    }
    /* Writes SEQUENCE and a length of two bytes; der has room for them. */
    out[0] = DER_SEQUENCE;
    out[1] = 0x82;
    out[2] = (unsigned char)(n >> 8);
    out[3] = (unsigned char)n;
    return HEADER_BYTES + n;
}

static int64_t expiry_of(const SSL_SESSION *session)
{
#if OPENSSL_VERSION_NUMBER >= 0x30400000L /* the older one ends in 2038 */
    int64_t begin_s = (int64_t)SSL_SESSION_get_time_ex(session);
#else
    int64_t begin_s = (int64_t)SSL_SESSION_get_time(session);
#endif
    int64_t lifetime_s = SSL_SESSION_get_timeout(session);
    int64_t hint_s = (int64_t)SSL_SESSION_get_ticket_lifetime_hint(session); /* 0: none given */
    return begin_s + (hint_s > 0 && hint_s < lifetime_s ? hint_s : lifetime_s);
}

/* NULL: not worth keeping, or no memory. */
static TlsSession *tls_sessions_make(uint64_t host, const SSL_SESSION *session)
{
    unsigned char *der = NULL;
    int length = i2d_SSL_SESSION(session, &der);
    if (length <= 0 || length > SESSION_MOST_BYTES) {
        OPENSSL_free(der);
        ERR_clear_error();
        return NULL;
    }
    TlsSession *made = malloc(sizeof *made + (size_t)length + HEADER_BYTES);
    if (made != NULL) {
        *made = (TlsSession){.host = host, .expiry_s = expiry_of(session)};
        made->length = copy_without_certificate(der, (size_t)length, made->bytes);
    }
    OPENSSL_clear_free(der, (size_t)length);
    if (made != NULL && made->length == 0) {
        free(made);
        return NULL;
    }
    TlsSession *fitting = made == NULL ? NULL : realloc(made, sizeof *made + made->length);
    return fitting != NULL ? fitting : made;
}

/* ---- sessions ---- */

static void tls_sessions_forget_one(TlsSessions *sessions, uint64_t host)
{
    TlsSession *session = map_get(&sessions->by_host, map_key(host));
    if (session != NULL) {
        tls_sessions_drop(sessions, session);
    }
}

void tls_sessions_forget(TlsSessions *sessions, uint64_t host)
{
    mutex_lock(&sessions->lock);
    tls_sessions_forget_one(sessions, host);
    mutex_unlock(&sessions->lock);
}

/* Takes made. */
static void tls_sessions_keep(TlsSessions *sessions, TlsSession *made)
{
    tls_sessions_forget_one(sessions, made->host);
    while (sessions->oldest != NULL && sessions->bytes + cost_of(made) > sessions->max_bytes) {
        tls_sessions_drop(sessions, sessions->oldest);
        sessions->n_forgotten++;
    }
    if (sessions->bytes + cost_of(made) > sessions->max_bytes ||
        map_put(&sessions->by_host, map_key(made->host), made) != RESULT_OK) {
        sessions->n_forgotten++;
        free(made);
        return;
    }
    put_first(sessions, made);
    sessions->bytes += cost_of(made);
}

void tls_sessions_put(TlsSessions *sessions, uint64_t host, const SSL_SESSION *session)
{
    if (sessions->max_bytes == 0 || SSL_SESSION_is_resumable(session) != 1) {
        return;
    }
    TlsSession *made = tls_sessions_make(host, session);
    if (made != NULL) {
        mutex_lock(&sessions->lock);
        tls_sessions_keep(sessions, made);
        mutex_unlock(&sessions->lock);
    }
}

static SSL_SESSION *tls_sessions_find(TlsSessions *sessions, uint64_t host, int64_t now_s)
{
    TlsSession *kept = map_get(&sessions->by_host, map_key(host));
    if (kept == NULL) {
        return NULL;
    }
    const unsigned char *bytes = kept->bytes;
    SSL_SESSION *session =
        now_s < kept->expiry_s ? d2i_SSL_SESSION(NULL, &bytes, (long)kept->length) : NULL;
    if (session == NULL) {
        tls_sessions_drop(sessions, kept);
        ERR_clear_error();
        return NULL;
    }
    tls_sessions_take_out(sessions, kept);
    put_first(sessions, kept);
    return session;
}

SSL_SESSION *tls_sessions_get(TlsSessions *sessions, uint64_t host, int64_t now_s)
{
    mutex_lock(&sessions->lock);
    SSL_SESSION *session = tls_sessions_find(sessions, host, now_s);
    mutex_unlock(&sessions->lock);
    return session;
}

void tls_sessions_stats(TlsSessions *sessions, TlsSessionStats *stats)
{
    mutex_lock(&sessions->lock);
    *stats = (TlsSessionStats){.bytes = sessions->bytes, .forgotten = sessions->n_forgotten};
    mutex_unlock(&sessions->lock);
}
