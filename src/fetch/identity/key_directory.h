/* Key directory: what is published so that others can verify who we are.
 *
 * What: the directory is a JSON Web Key Set, served as DIRECTORY_TYPE at DIRECTORY_PATH of the
 * Signature-Agent's site. The statement lists the addresses that the crawler uses, in the form that
 * large search engines publish theirs in, for sites that go by addresses.
 *
 * Threads: pure functions.
 * Errors: those of the Buffer; RESULT_INVALID with a sentence: not an address.
 * Source: RFC 7517 (JWK sets); draft-meunier-http-message-signatures-directory. */
#ifndef FETCH_IDENTITY_KEY_DIRECTORY_H
#define FETCH_IDENTITY_KEY_DIRECTORY_H

#include "base/core/clock.h"
#include "fetch/identity/signing_key.h"

#define KEY_DIRECTORY_PATH "/.well-known/http-message-signatures-directory"
#define KEY_DIRECTORY_TYPE "application/http-message-signatures-directory+json"

/* All keys that are in use or about to be. */
Result key_directory_write(const SigningKey *const *keys, size_t n, Buffer *out);
/* The statement of addresses: "192.0.2.1", "2001:db8::/64". */
Result key_directory_write_addresses(const char *const *addresses, size_t n, WallTime now,
                                     Buffer *out, Buffer *error);

#endif
