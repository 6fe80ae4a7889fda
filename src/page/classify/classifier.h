/* Classifier: pages wait here until a program of the user's has scored them (score.scorer =
 * command, fasttext).
 *
 *   parse-N --classifier_push--> [classifier queue] --> classifier --(page->score)--> ingest
 *
 * What: a page brings its question with it (page/tool/page_question.h). The thread takes what has
 * come, up to a batch, writes the questions to the process and gives each page the score that is
 * answered. Nothing that the program does holds up the crawl for longer than a time-out: a page
 * goes on with the default score when the queue is full, and so does a batch that is not answered
 * in time, whose process is ended, or has ended by itself. A process is started anew after a pause
 * that doubles with each failure in a row, up to five minutes; until then pages go on at once.
 * Answers that are no scores give their pages the default; a batch of nothing else is a failure,
 * and so are more answers than questions.
 *
 * Owns: the queue, the process and the thread. A page belongs to the classifier until the sink has
 * it.
 * Threads: classifier_push any; the rest main. The sink is called by the classifier thread, and by
 * those who push. */
#pragma once

#include "page/parsed_page.h"
#include "page/stats.h"
#include "page/tool/page_question.h"

typedef struct ClassifierOptions {
    QuestionForm form;
    const char *command; /* QUESTION_JSON: for /bin/sh; borrowed, as all texts */
    const char *model;   /* QUESTION_FASTTEXT */
    const char *label;
    size_t queue;       /* pages that may wait */
    size_t batch;       /* asked about at once, at most CLASSIFIER_BATCH_MAX */
    int64_t timeout_ms; /* for the answers to a batch */
    int64_t pause_ms;   /* before the first new start; 0: a second */
    float default_score;
    void (*sink)(void *context, ParsedPage *page);
    void *context;
} ClassifierOptions;

#define CLASSIFIER_BATCH_MAX 1024u

typedef struct Classifier Classifier;

/* RESULT_MEMORY, RESULT_LIMIT. */
Result classifier_new(Classifier **classifier, const ClassifierOptions *options, Stats *stats);
Result classifier_start(Classifier *classifier);
/* Takes a page, with a question or without one. Does not wait, but for the sink. */
void classifier_push(Classifier *classifier, ParsedPage *page);
/* Sends on what waits, unanswered, ends the process and the thread. Nobody pushes any more. */
void classifier_stop(Classifier *classifier);
/* NULL is allowed. */
void classifier_delete(Classifier *classifier);
