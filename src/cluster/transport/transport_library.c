#include "cluster/transport/transport_library.h"

#include <dlfcn.h>
#include <openssl/ssl.h>
#include <string.h>

#define TEXT_OF(number) TEXT(number)
#define TEXT(number)    #number
/* Its name has the version that the types here belong to. */
#define LIBRARY_NAME "libnats.so." TEXT_OF(NATS_VERSION_MAJOR) "." TEXT_OF(NATS_VERSION_MINOR)

static NatsLibrary library;
static void *handle;

/* ISO C has no cast from a pointer to data to one to a function. */
static bool transport_library_find(void *place, const char *name, Buffer *error)
{
    void *symbol = dlsym(handle, name);
    if (symbol == NULL) {
        (void)buffer_printf(error, LIBRARY_NAME " has no %s", name);
        return false;
    }
    memcpy(place, &symbol, sizeof symbol);
    return true;
}

const NatsLibrary *nats_library(Buffer *error)
{
    if (handle != NULL) {
        return &library;
    }
    handle = dlopen(LIBRARY_NAME, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        (void)buffer_printf(error,
                            "cluster.url: the client library of NATS cannot be loaded: %s; install "
                            "the Debian package libnats" TEXT_OF(NATS_VERSION_MAJOR) "." TEXT_OF(
                                NATS_VERSION_MINOR),
                            dlerror());
        return NULL;
    }
    bool all = true;
#define FIND(name) all = all && transport_library_find(&library.name, #name, error);
    NATS_FUNCTIONS(FIND)
#undef FIND
    if (!all) {
        (void)dlclose(handle);
        handle = NULL;
        return NULL;
    }
    return &library;
}

void nats_library_close(const NatsLibrary *from, int64_t ms)
{
    sk_SSL_COMP_free(SSL_COMP_set0_compression_methods(NULL));
    (void)from->nats_CloseAndWait(ms);
}
