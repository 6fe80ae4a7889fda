/* Transport KV: the requests and answers of a JetStream key-value bucket, as bytes.
 *
 *   look at a key:   $JS.API.STREAM.MSG.GET.KV_BUCKET  {"last_by_subj":"$KV.BUCKET.KEY"}
 *   replace a value: $KV.BUCKET.KEY, header Nats-Expected-Last-Subject-Sequence: REVISION
 *   make the bucket: $JS.API.STREAM.CREATE.KV_BUCKET
 *
 * What: a bucket is a stream that keeps the last message of each subject; the revision of a value
 * is its sequence there. libnats has functions for it that wait for the server; these here only say
 * what is sent and what an answer means, so that nothing waits. A look asks the stream's leader, so
 * it never shows an older value than was stored before it began.
 * Threads: any; pure.
 * Errors: an answer that is not understood is KV_FAILED, with the server's words if it has any.
 * Source: the NATS documentation, "JetStream wire API"; ADR-8 of nats-architecture-and-design. */
#pragma once

#include <stdbool.h>

#include "base/memory/buffer.h"

#define KV_SUBJECT_BYTES 256u
#define KV_EXPECTED      "Nats-Expected-Last-Subject-Sequence"

typedef enum KvAnswerKind {
    KV_VALUE,     /* value, revision; of a look; revision 0: the key has none */
    KV_STORED,    /* revision; of a put */
    KV_CONFLICT,  /* another revision is there */
    KV_NO_BUCKET, /* it is to be made */
    KV_MADE,      /* it is there */
    KV_FAILED     /* text */
} KvAnswerKind;

typedef struct KvAnswer {
    KvAnswerKind kind;
    uint64_t revision;
    char text[160]; /* KV_FAILED: the server's words */
} KvAnswer;

/* Subjects of a crawl's bucket. */
void kv_subject_of_look(const char *crawl, char subject[KV_SUBJECT_BYTES]);
void kv_subject_of_making(const char *crawl, char subject[KV_SUBJECT_BYTES]);
void kv_subject_of_key(const char *crawl, const char *key, char subject[KV_SUBJECT_BYTES]);
/* The key of such a subject; NULL: it is none of this crawl's. */
const char *kv_key_of_subject(const char *crawl, const char *subject);

/* The bytes of requests. RESULT_MEMORY. */
Result kv_write_look(const char *crawl, const char *key, Buffer *out);
Result kv_write_making(const char *crawl, unsigned replicas, Buffer *out);

/* What an answer means. text: NUL-terminated. value is appended to. */
KvAnswer kv_read(const char *text, Buffer *value);
