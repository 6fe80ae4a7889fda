/* Web token: the secret that allows the status page to change the crawl.
 *
 * What: the first line of a file that only its owner may read; a file that is missing is made, with
 * 256 random bits.
 * Threads: main.
 * Errors: error gets one sentence. */
#ifndef CRAWL_WEB_WEB_TOKEN_H
#define CRAWL_WEB_WEB_TOKEN_H

#include "base/memory/buffer.h"

#define WEB_TOKEN_LEAST 16u /* bytes */

/* Puts the token into out. RESULT_INVALID: others may read the file, or the token is short;
 * RESULT_IO and the like. */
Result web_token_read(const char *path, Buffer *out, Buffer *error);

#endif
