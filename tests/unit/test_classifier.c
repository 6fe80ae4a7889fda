/* A classifier in its own process: good ones, and ones that are dead, slow, or lie. */
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "page/classify/classifier.h"
#include "unit.h"
#include "until.h"

#define PAGES 40u

typedef struct World {
    Classifier *classifier;
    Stats stats;
    _Atomic float scores[2 * PAGES]; /* by number of the page; negative: it has not come */
    _Atomic unsigned n_come;
} World;

static void sink(void *context, ParsedPage *page)
{
    World *w = context;
    CU_ASSERT_TRUE(page->verdict.question == NULL);
    w->scores[page->fetch->request.index] = page->verdict.score;
    atomic_fetch_add(&w->n_come, 1);
    parsed_page_delete(page);
}

static void world_start(World *w, const char *command, int64_t timeout_ms)
{
    *w = (World){.classifier = NULL};
    for (size_t i = 0; i < 2 * PAGES; i++) {
        w->scores[i] = -1;
    }
    ClassifierOptions options = {.form = QUESTION_JSON,
                                 .command = command,
                                 .model = "",
                                 .label = "",
                                 .queue = PAGES,
                                 .batch = 8,
                                 .timeout_ms = timeout_ms,
                                 .pause_ms = 20,
                                 .default_score = 0.25f,
                                 .sink = sink,
                                 .context = w};
    CU_ASSERT_EQUAL_FATAL(classifier_new(&w->classifier, &options, &w->stats), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(classifier_start(w->classifier), RESULT_OK);
}

static void world_end(World *w)
{
    classifier_stop(w->classifier);
    classifier_delete(w->classifier);
}

static void push(World *w, uint64_t i, const char *question)
{
    FetchResult *fetch = fetch_result_new(FETCHED_PAGE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fetch);
    fetch->request.index = i;
    ParsedPage *page = parsed_page_new(fetch);
    page->verdict.score = 0.75f;
    page->verdict.question = question == NULL ? NULL : strdup(question);
    page->verdict.question_length = question == NULL ? 0 : strlen(question);
    classifier_push(w->classifier, page);
}

static void push_all(World *w)
{
    for (uint64_t i = 0; i < PAGES; i++) {
        push(w, i, "{\"url\": \"http://a.example/\"}\n");
    }
}

static bool is_score(float score, double value)
{
    return (double)score > value - 1e-6 && (double)score < value + 1e-6;
}

static unsigned n_with(const World *w, double score)
{
    unsigned n = 0;
    for (size_t i = 0; i < PAGES; i++) {
        n += is_score(w->scores[i], score);
    }
    return n;
}

static void pages_get_the_scores_that_are_answered(void)
{
    World w;
    world_start(&w, "n=0; while read -r q; do n=$((1 - n)); echo 0.$((n + 1)); done", 60000);
    for (uint64_t i = 0; i < PAGES; i++) { /* one after the other */
        push(&w, i, "{}\n");
        CU_ASSERT_TRUE(UNTIL(atomic_load(&w.n_come) == i + 1));
        CU_ASSERT_TRUE(is_score(w.scores[i], i % 2 == 0 ? 0.2 : 0.1));
    }
    CU_ASSERT_EQUAL(stats_get(&w.stats.classified), PAGES);
    CU_ASSERT_EQUAL(stats_get(&w.stats.classify_starts), 1);
    push(&w, 0, NULL); /* nothing to ask about: it goes on as it is */
    CU_ASSERT_EQUAL(atomic_load(&w.n_come), PAGES + 1);
    CU_ASSERT_TRUE(is_score(w.scores[0], 0.75));
    world_end(&w);
}

static void large_questions_fill_no_pipe(void)
{
    World w;
    size_t length = (size_t)1 << 20; /* a pipe holds 64 KiB */
    char *question = malloc(length + 1);
    memset(question, '0', length);
    memcpy(question, "0.5", 3);
    question[length - 1] = '\n';
    question[length] = '\0';
    /* A shell's read takes a byte at a time: four million system calls. */
    world_start(&w, "exec grep --line-buffered -o '^0.5'", 60000);
    for (uint64_t i = 0; i < 4; i++) {
        push(&w, i, question);
    }
    CU_ASSERT_TRUE(UNTIL(atomic_load(&w.n_come) == 4));
    CU_ASSERT_EQUAL(n_with(&w, 0.5), 4);
    world_end(&w);
    free(question);
}

/* All pages come, and some reason to give up was met. */
static void check_failing(const char *command, int64_t timeout_ms)
{
    World w;
    world_start(&w, command, timeout_ms);
    push_all(&w);
    CU_ASSERT_TRUE(UNTIL(atomic_load(&w.n_come) == PAGES));
    CU_ASSERT_EQUAL(n_with(&w, 0.25), PAGES);
    CU_ASSERT_EQUAL(stats_get(&w.stats.classified), 0);
    CU_ASSERT_EQUAL(stats_get(&w.stats.classify_default), PAGES);
    world_end(&w);
}

static void a_dead_one_stops_nobody(void)
{
    check_failing("exit 3", 60000);
    check_failing("no-such-program-anywhere", 60000);
    check_failing("read -r q; kill -9 $$", 60000);
}

static void a_silent_one_stops_nobody(void)
{
    check_failing("exec sleep 1000", 50);
    check_failing("while read -r q; do :; done", 50);
    check_failing("printf 0.; exec sleep 1000", 50);
}

static void garbage_is_no_score(void)
{
    /* What may be a greeting is left out, and an answer waited for. */
    check_failing("while read -r q; do echo nonsense; done", 50);
    check_failing("while read -r q; do echo 17; done", 60000);
    check_failing("while read -r q; do echo nan; done", 50);
    check_failing("while read -r q; do echo '{\"label\": \"spam\"}'; done", 60000);
    check_failing("while read -r q; do printf '\\000\\377\\n'; done", 60000);
    check_failing("exec cat /dev/zero", 60000);
}

static void one_that_says_too_much_is_ended(void)
{
    World w;
    world_start(&w, "while read -r q; do echo 0.5; echo 0.5; done; exec sleep 1000", 60000);
    unsigned n = 0;
    CU_ASSERT_TRUE(UNTIL((push(&w, 0, "{}\n"), n++, stats_get(&w.stats.classify_starts) >= 3)));
    CU_ASSERT_TRUE(UNTIL(atomic_load(&w.n_come) == n));
    world_end(&w);
}

static void one_that_dies_is_started_again(void)
{
    World w;
    world_start(&w, "read -r q; echo 0.5", 60000);
    unsigned n = 0;
    CU_ASSERT_TRUE(UNTIL((push(&w, 0, "{}\n"), n++, stats_get(&w.stats.classify_starts) >= 3)));
    CU_ASSERT_TRUE(UNTIL(atomic_load(&w.n_come) == n));
    CU_ASSERT_TRUE(stats_get(&w.stats.classified) >= 2);
    world_end(&w);
}

static void what_finds_no_room_goes_on(void)
{
    World w;
    world_start(&w, "exec sleep 1000", 600000);
    for (uint64_t i = 0; i < PAGES + 8; i++) { /* the queue, and the batch at the process */
        push(&w, i, "{}\n");
    }
    for (uint64_t i = 0; i < PAGES; i++) {
        push(&w, i + PAGES - 1, "{}\n");
    }
    CU_ASSERT_TRUE(atomic_load(&w.n_come) >= PAGES);
    CU_ASSERT_EQUAL(stats_get(&w.stats.classify_default), atomic_load(&w.n_come));
    world_end(&w); /* and a stop does not wait for the program */
    CU_ASSERT_EQUAL(atomic_load(&w.n_come), 2 * PAGES + 8);
}

static void answers_are_read(void)
{
    static const struct {
        QuestionForm form;
        const char *line;
        double score; /* negative: none */
    } cases[] = {{QUESTION_JSON, "0.5", 0.5},
                 {QUESTION_JSON, " 1 \r", 1},
                 {QUESTION_JSON, "1e-3", 1e-3},
                 {QUESTION_JSON, "{\"score\":0.25}", 0.25},
                 {QUESTION_JSON, "{\"label\": \"a\", \"score\" : 0}", 0},
                 {QUESTION_JSON, "{\"score\": \"high\"}", -1},
                 {QUESTION_JSON, "", -1},
                 {QUESTION_JSON, "0.5 and more", -1},
                 {QUESTION_JSON, "-0.1", -1},
                 {QUESTION_JSON, "1.1", -1},
                 {QUESTION_JSON, "inf", -1},
                 {QUESTION_FASTTEXT, "__label__a 0.9 __label__b 0.1", 0.1},
                 {QUESTION_FASTTEXT, "__label__b 1.00001", 1},
                 {QUESTION_FASTTEXT, "__label__a 1", 0},
                 {QUESTION_FASTTEXT, "__label__bb 1", 0},
                 {QUESTION_FASTTEXT, "", 0},
                 {QUESTION_FASTTEXT, "__label__b", -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float score = 0;
        bool found = page_question_answer(cases[i].form, "__label__b", cases[i].line,
                                          strlen(cases[i].line), &score);
        CU_ASSERT_EQUAL(found, cases[i].score >= 0);
        CU_ASSERT_TRUE(!found || is_score(score, cases[i].score));
    }
}

static void questions_are_one_line(void)
{
    VisiblePage page = {.text = "caf\xc3\xa9\n\n\"two\"\tlines",
                        .length = 18,
                        .title = "A\ttitle",
                        .language = "en"};
    Buffer out;
    buffer_init(&out, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(page_question(&out, QUESTION_JSON, "http://a.example/", &page, 4), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&out),
                           "{\"url\": \"http://a.example/\", \"title\": \"A\\ttitle\", "
                           "\"language\": \"en\", \"text\": \"caf\"}\n");
    buffer_reset(&out);
    CU_ASSERT_EQUAL(page_question(&out, QUESTION_FASTTEXT, "http://a.example/", &page, 4096),
                    RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&out), "A title caf\xc3\xa9 \"two\" lines \n");
    buffer_destroy(&out);
}

UNIT_MAIN("classifier",
          {"pages get the scores that are answered", pages_get_the_scores_that_are_answered},
          {"large questions fill no pipe", large_questions_fill_no_pipe},
          {"a dead one stops nobody", a_dead_one_stops_nobody},
          {"a silent one stops nobody", a_silent_one_stops_nobody},
          {"garbage is no score", garbage_is_no_score},
          {"one that says too much is ended", one_that_says_too_much_is_ended},
          {"one that dies is started again", one_that_dies_is_started_again},
          {"what finds no room goes on", what_finds_no_room_goes_on},
          {"answers are read", answers_are_read},
          {"questions are one line", questions_are_one_line})
