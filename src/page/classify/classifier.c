#include "page/classify/classifier.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread/log.h"
#include "base/thread/queue.h"
#include "base/thread/thread.h"
#include "page/classify/classify_process.h"

#define PAUSE_MS      1000
#define PAUSE_MS_MAX  (INT64_C(5) * 60 * 1000)
#define DOUBLINGS_MAX 20

struct Classifier {
    ClassifierOptions options;
    Stats *stats;
    Queue queue;
    Thread thread;
    ClassifyProcess process;
    atomic_bool stopping;
    _Atomic int64_t down_until_ns; /* monotonic: until then there is no process */
    unsigned failures;             /* in a row */
    Buffer questions;
    Buffer answers;
};

static void send_on(Classifier *classifier, ParsedPage *page, float score)
{
    page->verdict.score = score;
    free(page->verdict.question);
    page->verdict.question = NULL;
    classifier->options.sink(classifier->options.context, page);
}

static void send_unscored(Classifier *classifier, ParsedPage *page)
{
    stats_add(&classifier->stats->classify_default, 1);
    send_on(classifier, page, classifier->options.default_score);
}

static bool is_down(const Classifier *classifier)
{
    return atomic_load(&classifier->stopping) ||
           mono_now().ns < atomic_load(&classifier->down_until_ns);
}

/* ---- the process ---- */

static Result start_process(Classifier *classifier)
{
    const ClassifierOptions *o = &classifier->options;
    char *const shell[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, strdup(o->command), NULL};
    char *const fasttext[] = {(char[]){"fasttext"}, (char[]){"predict-prob"}, strdup(o->model),
                              (char[]){"-"},        (char[]){"-1"},           NULL};
    bool is_shell = o->form == QUESTION_JSON;
    Result rc = RESULT_MEMORY;
    if (shell[2] != NULL && fasttext[2] != NULL) {
        rc = classify_process_start(&classifier->process, is_shell ? shell : fasttext);
    }
    free(shell[2]);
    free(fasttext[2]);
    stats_add(&classifier->stats->classify_starts, rc == RESULT_OK);
    return rc;
}

static const char *classifier_words_of(Result why)
{
    switch ((int)why) {
    case RESULT_TIMEOUT:
        return "no answer within score.command_timeout";
    case RESULT_CLOSED:
        return "it has ended";
    case RESULT_LIMIT:
        return "more answers than questions, or one too long";
    case RESULT_INVALID:
        return "its answers are no scores";
    case RESULT_NOT_FOUND:
        return "there is no such program";
    default:
        return result_name(why);
    }
}

/* Ends the process, and lets pages go on without it for a while. */
static void classifier_give_up(Classifier *classifier, Result why)
{
    const ClassifierOptions *o = &classifier->options;
    int status = 0;
    classify_process_stop(&classifier->process, &status);
    if (atomic_load(&classifier->stopping)) {
        return;
    }
    int64_t pause_ms = o->pause_ms > 0 ? o->pause_ms : PAUSE_MS;
    unsigned doublings =
        classifier->failures < DOUBLINGS_MAX ? classifier->failures : DOUBLINGS_MAX;
    pause_ms <<= doublings;
    pause_ms = pause_ms < PAUSE_MS_MAX ? pause_ms : PAUSE_MS_MAX;
    classifier->failures++;
    LOG_WARN("classify", "the classifier failed; pages get score.command_default meanwhile",
             "why=\"%s\" failures=%u restart_ms=%lld", classifier_words_of(why),
             classifier->failures, (long long)pause_ms);
    atomic_store(&classifier->down_until_ns, mono_add_ms(mono_now(), pause_ms).ns);
}

/* ---- a batch ---- */

static Result classifier_ask(Classifier *classifier, void *const *pages, size_t n)
{
    Result rc = classifier->process.pid == 0 ? start_process(classifier) : RESULT_OK;
    buffer_reset(&classifier->questions);
    buffer_reset(&classifier->answers);
    for (size_t i = 0; rc == RESULT_OK && i < n; i++) {
        const ParsedPage *page = pages[i];
        rc = buffer_append(&classifier->questions, page->verdict.question,
                           page->verdict.question_length);
    }
    if (rc == RESULT_OK) {
        thread_step("waiting for answers");
        MonoTime start = mono_now();
        rc = classify_process_exchange(&classifier->process, &classifier->questions, n,
                                       &classifier->answers,
                                       mono_add_ms(start, classifier->options.timeout_ms));
        stats_add(&classifier->stats->classify_us, (uint64_t)(mono_now().ns - start.ns) / 1000);
    }
    return rc;
}

/* Gives pages the scores that came; the others have the default. How many were good. */
static size_t take_answers(Classifier *classifier, void *const *pages, size_t n)
{
    const ClassifierOptions *o = &classifier->options;
    const char *line = buffer_string(&classifier->answers);
    const char *end = line + classifier->answers.length;
    size_t n_good = 0;
    for (size_t i = 0; i < n; i++) {
        const char *stop = line == NULL ? NULL : memchr(line, '\n', (size_t)(end - line));
        float score = 0.0f;
        bool is_good = stop != NULL &&
                       page_question_answer(o->form, o->label, line, (size_t)(stop - line), &score);
        stats_add(&classifier->stats->classify_bad, stop != NULL && !is_good);
        line = stop == NULL ? NULL : stop + 1;
        n_good += is_good;
        if (is_good) {
            stats_add(&classifier->stats->classified, 1);
            send_on(classifier, pages[i], score);
        } else {
            send_unscored(classifier, pages[i]);
        }
    }
    return n_good;
}

static void classifier_classify(Classifier *classifier, void *const *pages, size_t n)
{
    if (is_down(classifier)) {
        for (size_t i = 0; i < n; i++) {
            send_unscored(classifier, pages[i]);
        }
        return;
    }
    Result rc = classifier_ask(classifier, pages, n);
    thread_step("waiting for ingest");
    size_t n_good = take_answers(classifier, pages, n);
    rc = rc == RESULT_OK && n_good == 0 ? RESULT_INVALID : rc;
    if (rc != RESULT_OK) {
        classifier_give_up(classifier, rc);
    } else {
        classifier->failures = 0;
    }
}

static void *classifier_main(void *argument)
{
    Classifier *classifier = argument;
    void *pages[CLASSIFIER_BATCH_MAX];
    size_t n = 0;
    thread_step("waiting for pages");
    while (queue_pop(&classifier->queue, pages, classifier->options.batch, &n, MONO_NEVER) ==
           RESULT_OK) {
        classifier_classify(classifier, pages, n);
        thread_step("waiting for pages");
    }
    return NULL;
}

/* ---- the outside ---- */

Result classifier_new(Classifier **out, const ClassifierOptions *options, Stats *stats)
{
    *out = NULL;
    Classifier *classifier = calloc(1, sizeof *classifier);
    if (classifier == NULL) {
        return RESULT_MEMORY;
    }
    classifier->options = *options;
    classifier->stats = stats;
    if (classifier->options.batch == 0 || classifier->options.batch > CLASSIFIER_BATCH_MAX) {
        classifier->options.batch = CLASSIFIER_BATCH_MAX;
    }
    Result rc = queue_init(&classifier->queue, options->queue);
    if (rc == RESULT_OK) {
        rc = classify_process_init(&classifier->process);
        if (rc != RESULT_OK) {
            queue_destroy(&classifier->queue);
        }
    }
    if (rc != RESULT_OK) {
        free(classifier);
        return rc;
    }
    buffer_init(&classifier->questions, BUFFER_NO_LIMIT);
    buffer_init(&classifier->answers, BUFFER_NO_LIMIT);
    *out = classifier;
    return RESULT_OK;
}

Result classifier_start(Classifier *classifier)
{
    return thread_start(&classifier->thread, "classifier", classifier_main, classifier);
}

void classifier_push(Classifier *classifier, ParsedPage *page)
{
    if (page->verdict.question == NULL) {
        classifier->options.sink(classifier->options.context, page);
    } else if (is_down(classifier) || queue_try_push(&classifier->queue, page) != RESULT_OK) {
        send_unscored(classifier, page);
    }
}

void classifier_stop(Classifier *classifier)
{
    atomic_store(&classifier->stopping, true);
    classify_process_interrupt(&classifier->process);
    queue_close(&classifier->queue);
    thread_join(&classifier->thread);
}

void classifier_delete(Classifier *classifier)
{
    if (classifier == NULL) {
        return;
    }
    classify_process_destroy(&classifier->process);
    queue_destroy(&classifier->queue);
    buffer_destroy(&classifier->questions);
    buffer_destroy(&classifier->answers);
    free(classifier);
}
