/* digest.mb_per_cpu_s: text and tags through the normaliser, the 128-bit digest and the simhash, as
 * the skimmer hands them over: pieces of text of some 40 bytes between tags, a reference here and
 * there. digest.body_mb_per_cpu_s: the digest of the body's bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/core/hash.h"
#include "parse/text/digest.h"

#define PAGE_BYTES 26000
#define RUN_BYTES  600e6
#define N_PIECES   8

static double cpu_seconds(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static uint64_t one_page(Digest *digest, double *bytes)
{
    static const char *const pieces[N_PIECES] = {
        "The order in which the modules are loaded matters ",
        "to",
        " the server, because 2 of them may want the same request;\n",
        "mod_rewrite",
        " &lt;Directory&gt;\n    Options None\n",
        "see the documentation of each module for details",
        ", version 2.4.57 and later.",
        "\n\n"};
    uint64_t sum = 0;
    size_t used = 0;
    if (digest_begin(digest, 2 * PAGE_BYTES, "docs.example.org", 16) != RESULT_OK) {
        exit(2);
    }
    for (unsigned i = 0; used < PAGE_BYTES; i++) {
        const char *piece = pieces[i % N_PIECES];
        size_t n = strlen(piece);
        digest_text(digest, piece, n, true);
        digest_tag(digest, i % 40 + 1, i % 2 == 1);
        used += n + 4;
    }
    *bytes += (double)used;
    DigestResult result = digest_finish(digest);
    sum += result.text.low ^ result.simhash;
    return sum;
}

int main(void)
{
    const char *scale_text = getenv("SCALE");
    double scale = scale_text == NULL ? 1 : strtod(scale_text, NULL);
    Digest digest;
    digest_init(&digest);
    double bytes = 0;
    uint64_t sum = 0;
    double start = cpu_seconds();
    while (bytes < scale * RUN_BYTES) {
        sum ^= one_page(&digest, &bytes);
    }
    double seconds = cpu_seconds() - start;
    (void)printf("digest.mb_per_cpu_s = %.0f MB/s\n", 1e-6 * bytes / seconds);
    digest_destroy(&digest);

    static char body[PAGE_BYTES];
    memset(body, 'x', sizeof body);
    bytes = 0;
    start = cpu_seconds();
    while (bytes < scale * 10 * RUN_BYTES) {
        body[0] = (char)('a' + (sum & 7));
        sum += hash_128(body, sizeof body).low;
        bytes += PAGE_BYTES;
    }
    seconds = cpu_seconds() - start;
    (void)printf("digest.body_mb_per_cpu_s = %.0f MB/s\n", 1e-6 * bytes / seconds);
    (void)fprintf(stderr, "checksum %llx\n", (unsigned long long)sum);
    return 0;
}
