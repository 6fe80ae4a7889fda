/* Transport login: how an agent proves to the NATS server who it is.
 *
 * What: reads the file of cluster.credentials, which only its owner may read (mode 0600). It is one
 * of these:
 *
 *   user NAME PASSWORD     on one line
 *   token TOKEN            on one line
 *   nkey PUBLIC            and the seed (SU...) on a line of its own
 *   -----BEGIN NATS USER JWT-----   a credentials file as `nsc` writes it
 *
 * Owns: the words; login_destroy wipes them.
 * Threads: one.
 * Errors: RESULT_INVALID: the file is open to others, or says nothing that is known; RESULT_IO;
 * error holds one sentence without a secret in it. */
#pragma once

#include <nats/nats.h>
#include <stdbool.h>

#include "base/memory/buffer.h"

/* Transport library: libnats, loaded when a crawl has a [cluster] section and not before.
 *
 * What: the functions of libnats that transport_nats.h uses, as pointers with the types of its
 * header. The program is not linked with the library, so a crawl without a cluster neither needs it
 * nor pays for it.
 * Owns: the library, which stays loaded: it has threads of its own.
 * Threads: one loads it; the pointers are for any.
 * Errors: RESULT_NOT_FOUND: it is not installed, or of another version; error says which package.
 * Source: MANY-MACHINES 2. */

/* clang-format off */
#define NATS_FUNCTIONS(F) \
    F(natsStatus_GetText) F(nats_GetLastError) F(nats_CloseAndWait) \
    F(natsOptions_Create) F(natsOptions_Destroy) F(natsOptions_SetURL) F(natsOptions_SetName) \
    F(natsOptions_SetUserInfo) F(natsOptions_SetToken) F(natsOptions_SetNKeyFromSeed) \
    F(natsOptions_SetUserCredentialsFromFiles) F(natsOptions_SetSecure) \
    F(natsOptions_LoadCATrustedCertificates) F(natsOptions_LoadCertificatesChain) \
    F(natsOptions_SetMaxReconnect) F(natsOptions_SetReconnectWait) \
    F(natsOptions_SetReconnectJitter) F(natsOptions_SetPingInterval) \
    F(natsOptions_SetMaxPendingMsgs) F(natsOptions_SetTimeout) \
    F(natsOptions_UseGlobalMessageDelivery) F(natsOptions_SetSendAsap) \
    F(natsOptions_SetRetryOnFailedConnect) \
    F(natsOptions_SetClosedCB) F(natsOptions_SetDisconnectedCB) F(natsOptions_SetReconnectedCB) \
    F(natsOptions_SetErrorHandler) \
    F(natsConnection_Connect) F(natsConnection_Close) F(natsConnection_Destroy) \
    F(natsConnection_FlushTimeout) F(natsConnection_Publish) \
    F(natsConnection_PublishRequest) F(natsConnection_PublishMsg) F(natsConnection_Subscribe) \
    F(natsSubscription_Destroy) F(natsSubscription_SetOnCompleteCB) F(natsMsg_Create) F(natsMsg_Destroy) F(natsMsg_GetSubject) \
    F(natsMsg_GetReply) F(natsMsg_GetData) F(natsMsg_GetDataLength) F(natsMsg_IsNoResponders) \
    F(natsMsgHeader_Set) F(natsInbox_Create) F(natsInbox_Destroy)
/* clang-format on */

typedef struct NatsLibrary {
#define MEMBER(name) __typeof__(name) *name;
    NATS_FUNCTIONS(MEMBER)
#undef MEMBER
} NatsLibrary;

/* Loads it at the first call. NULL: error has a sentence. */
const NatsLibrary *nats_library(Buffer *error);
/* Waits until its threads have ended. When it has used TLS, libnats 3.4 frees OpenSSL's list of
 * compressions here, and OpenSSL would free it again as the process ends: so there is none then. */
void nats_library_close(const NatsLibrary *from, int64_t ms);

typedef enum LoginKind { LOGIN_NONE, LOGIN_USER, LOGIN_TOKEN, LOGIN_NKEY, LOGIN_FILE } LoginKind;

typedef struct Login {
    LoginKind kind;
    char first[256];  /* name, token, or public key */
    char second[256]; /* password */
} Login;

/* path "": LOGIN_NONE. */
Result login_read(Login *login, const char *path, Buffer *error);
void login_destroy(Login *login);

/* Why a server may have closed a connection, as one sentence: what it says of itself when it is
 * connected to once more is compared with how we came. Waits LOGIN_ASK_MS at most. urls: the first
 * that answers is asked. */
#define LOGIN_ASK_MS 2000
void login_explain(const char *urls, bool has_login, char *text, size_t size);
