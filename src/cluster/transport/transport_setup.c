#include "cluster/transport/transport_setup.h"

#include <string.h>

#include "cluster/transport/transport_login.h"

#define RECONNECT_MS 500
#define CONNECT_MS   5000
#define PING_MS      5000 /* so long, and two pings more, until a silent server is given up */
#define PENDING_MOST 1000000

static natsStatus set_login(const NatsLibrary *library, natsOptions *setup, const Login *login,
                            const char *path)
{
    switch (login->kind) {
    case LOGIN_NONE:
        return NATS_OK;
    case LOGIN_USER:
        return library->natsOptions_SetUserInfo(setup, login->first, login->second);
    case LOGIN_TOKEN:
        return library->natsOptions_SetToken(setup, login->first);
    case LOGIN_NKEY:
        return library->natsOptions_SetNKeyFromSeed(setup, login->first, path);
    case LOGIN_FILE:
        return library->natsOptions_SetUserCredentialsFromFiles(setup, path, NULL);
    }
    return NATS_ERR;
}

static natsStatus set_tls(const NatsLibrary *library, natsOptions *setup,
                          const TransportNatsOptions *options)
{
    natsStatus status = NATS_OK;
    if (strncmp(options->url, "tls://", 6) == 0) {
        status = library->natsOptions_SetSecure(setup, true);
    }
    if (status == NATS_OK && *options->authority != '\0') {
        status = library->natsOptions_LoadCATrustedCertificates(setup, options->authority);
    }
    if (status == NATS_OK && *options->certificate != '\0') {
        status =
            library->natsOptions_LoadCertificatesChain(setup, options->certificate, options->key);
    }
    return status;
}

static natsStatus set_patience(const NatsLibrary *library, natsOptions *setup)
{
    bool good = library->natsOptions_SetMaxReconnect(setup, -1) == NATS_OK &&
                library->natsOptions_SetReconnectWait(setup, RECONNECT_MS) == NATS_OK &&
                library->natsOptions_SetReconnectJitter(setup, 100, 100) == NATS_OK &&
                library->natsOptions_SetPingInterval(setup, PING_MS) == NATS_OK &&
                library->natsOptions_SetMaxPendingMsgs(setup, PENDING_MOST) == NATS_OK &&
                library->natsOptions_SetTimeout(setup, CONNECT_MS) == NATS_OK &&
                library->natsOptions_SetSendAsap(setup, true) == NATS_OK &&
                library->natsOptions_UseGlobalMessageDelivery(setup, true) == NATS_OK;
    return good ? NATS_OK : NATS_ERR;
}

Result transport_complain(const NatsLibrary *library, natsStatus status, const char *what,
                          Buffer *error)
{
    const char *why = library->nats_GetLastError(NULL);
    (void)buffer_printf(error, "%s: %s", what,
                        why != NULL && *why != '\0' ? why : library->natsStatus_GetText(status));
    return status == NATS_NO_MEMORY ? RESULT_MEMORY : RESULT_INVALID;
}

Result transport_setup(const NatsLibrary *library, natsOptions **setup,
                       const TransportNatsOptions *options, Buffer *error)
{
    Login login;
    natsStatus status = library->natsOptions_Create(setup);
    if (status == NATS_OK) {
        status = library->natsOptions_SetURL(*setup, options->url);
    }
    if (status == NATS_OK) {
        status = library->natsOptions_SetName(*setup, options->name);
    }
    if (status == NATS_OK) {
        status = set_patience(library, *setup);
    }
    if (status != NATS_OK) {
        return transport_complain(library, status, "cluster.url", error);
    }
    status = set_tls(library, *setup, options);
    if (status != NATS_OK) {
        return transport_complain(library, status, "cluster.tls_authority, cluster.tls_certificate",
                                  error);
    }
    Result rc = login_read(&login, options->credentials, error);
    if (rc == RESULT_OK) {
        status = set_login(library, *setup, &login, options->credentials);
        rc = status == NATS_OK ? rc
                               : transport_complain(library, status, "cluster.credentials", error);
    }
    login_destroy(&login);
    return rc;
}
