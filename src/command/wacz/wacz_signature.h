/* WACZ signature: an anonymous signature of a WACZ file, by a key of its maker.
 *
 * What: the text "sha256:..." of datapackage.json is signed by ECDSA on the curve P-384 with
 * SHA-256, as viewers check it: the signature is r and s, 48 bytes each, in Base64, and the public
 * key an SPKI in Base64. Such a key is made by
 *
 *   openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384 -out key.pem
 *
 * Owns: nothing.
 * Threads: any.
 * Errors: a sentence without the name of the file; RESULT_INVALID: no such key; RESULT_NOT_FOUND,
 * RESULT_IO, RESULT_MEMORY, RESULT_INTERNAL.
 * Source: WACZ Signing and Verification 0.1.0. */
#ifndef COMMAND_WACZ_WACZ_SIGNATURE_H
#define COMMAND_WACZ_WACZ_SIGNATURE_H

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/memory/buffer.h"
#include "base/memory/json_writer.h"

typedef struct WaczKey WaczKey;

/* A file that others than its owner may read is refused. */
Result wacz_key_read(WaczKey **key, const char *path, Buffer *error);
void wacz_key_delete(WaczKey *key);
/* Adds the member "signedData" about hash. */
Result wacz_signature_put(const WaczKey *key, const char *hash, WallTime now, JsonWriter *json);

#endif
