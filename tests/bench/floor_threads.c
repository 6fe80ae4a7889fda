#include "floor_threads.h"

#include <stdlib.h>

#define JOBS      4096u /* between two threads */
#define GATHERED  32u   /* that a thread waits for, GATHER_MS at most */
#define GATHER_MS 5

/* An answer that is handed over. */
typedef struct Job {
    const FloorPage *page;
    Buffer header;
    Buffer body;
    FloorReading reading;
} Job;

static void job_delete(Job *job)
{
    buffer_destroy(&job->header);
    buffer_destroy(&job->body);
    floor_reading_destroy(&job->reading);
    free(job);
}

/* One that was used before, if there is one. */
static Job *job_new(FloorThreads *threads)
{
    void *item = NULL;
    size_t n = 0;
    if (queue_pop(&threads->spare, &item, 1, &n, (MonoTime){0}) == RESULT_OK) {
        return item;
    }
    Job *job = calloc(1, sizeof *job);
    if (job != NULL) {
        buffer_init(&job->header, BUFFER_NO_LIMIT);
        buffer_init(&job->body, BUFFER_NO_LIMIT);
        floor_reading_init(&job->reading);
    }
    return job;
}

static FloorAnswer answer_of(Job *job)
{
    return (FloorAnswer){.page = job->page, .header = &job->header, .body = &job->body};
}

static void swap(Buffer *a, Buffer *b)
{
    Buffer kept = *a;
    *a = *b;
    *b = kept;
}

void floor_threads_take(void *context, const FloorAnswer *answer)
{
    FloorThreads *threads = context;
    FloorWork *work = threads->work;
    const char *url = answer->page->url;
    bool is_rules = floor_hosts_is_robots(url);
    Job *job = job_new(threads);
    bool is_done =
        job != NULL && (is_rules ? floor_work_take_rules(work, answer)
                                 : !work->has_hosts || floor_hosts_allow(&work->hosts, url));
    if (!is_done) {
        work->has_failed = true;
        return;
    }
    job->page = answer->page;
    swap(&job->header, answer->header);
    swap(&job->body, answer->body);
    if (queue_push(is_rules ? &threads->answers : &threads->pages, job) != RESULT_OK) {
        work->has_failed = true;
    }
}

static void read_job(FloorThreads *threads, Job *job)
{
    FloorWork *work = threads->work;
    FloorAnswer answer = answer_of(job);
    if (floor_work_read(work->parser, &answer, true, &job->reading) != RESULT_OK ||
        queue_push(&threads->answers, job) != RESULT_OK) {
        work->has_failed = true;
    }
}

/* Adds the links of a page to those of the batch. */
static bool add_links(FloorReading *batch, FloorReading *page)
{
    FloorSeen *links = (FloorSeen *)(void *)page->links.data;
    size_t n = page->links.length / sizeof *links;
    for (size_t i = 0; i < n; i++) {
        links[i].at += (uint32_t)batch->urls.length;
    }
    return buffer_append(&batch->links, page->links.data, page->links.length) == RESULT_OK &&
           buffer_append(&batch->urls, page->urls.data, page->urls.length) == RESULT_OK;
}

static void write_job(FloorThreads *threads, Job *job)
{
    FloorWork *work = threads->work;
    FloorAnswer answer = answer_of(job);
    bool is_done = true;
    if (floor_hosts_is_robots(job->page->url)) {
        is_done = floor_work_store_rules(work, &answer);
    } else {
        is_done = add_links(&work->batch, &job->reading) &&
                  floor_work_store(work, &answer, &job->reading.row) == 0;
        work->n_pages++;
    }
    if (!is_done || !floor_work_count(work)) {
        work->has_failed = true;
    }
    buffer_reset(&job->reading.links);
    buffer_reset(&job->reading.urls);
    if (queue_try_add(&threads->spare, job, 0) != RESULT_OK) {
        job_delete(job);
    }
}

static void work_off(FloorThreads *threads, Queue *queue,
                     void (*act)(FloorThreads *threads, Job *job))
{
    void *jobs[GATHERED];
    size_t n = 0;
    Result rc = RESULT_OK;
    while (rc != RESULT_CLOSED) {
        n = 0;
        rc = queue_gather(queue, jobs, GATHERED, GATHERED, &n, mono_add_ms(mono_now(), GATHER_MS));
        for (size_t i = 0; i < n; i++) {
            act(threads, jobs[i]);
        }
    }
}

static void *read_all(void *context)
{
    FloorThreads *threads = context;
    work_off(threads, &threads->pages, read_job);
    return NULL;
}

static void *write_all(void *context)
{
    FloorThreads *threads = context;
    work_off(threads, &threads->answers, write_job);
    if (floor_work_commit(threads->work) != 0) {
        threads->work->has_failed = true;
    }
    return NULL;
}

/* A transaction belongs to the thread that has begun it: that of floor_work_open is over. */
int floor_threads_start(FloorThreads *threads, FloorWork *work)
{
    *threads = (FloorThreads){.work = work};
    Result rc = floor_work_commit(work) == 0 ? RESULT_OK : RESULT_IO;
    rc = rc == RESULT_OK ? queue_init(&threads->pages, JOBS) : rc;
    rc = rc == RESULT_OK ? queue_init(&threads->answers, JOBS) : rc;
    rc = rc == RESULT_OK ? queue_init(&threads->spare, JOBS) : rc;
    rc = rc == RESULT_OK ? thread_start(&threads->reader, "reader", read_all, threads) : rc;
    rc = rc == RESULT_OK ? thread_start(&threads->writer, "writer", write_all, threads) : rc;
    return rc == RESULT_OK ? 0 : -1;
}

void floor_threads_end(FloorThreads *threads)
{
    void *job = NULL;
    size_t n = 0;
    queue_close(&threads->pages);
    thread_join(&threads->reader);
    queue_close(&threads->answers);
    thread_join(&threads->writer);
    while (queue_pop(&threads->spare, &job, 1, &n, (MonoTime){0}) == RESULT_OK) {
        job_delete(job);
    }
    queue_destroy(&threads->pages);
    queue_destroy(&threads->answers);
    queue_destroy(&threads->spare);
}
