#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/hash.h"
#include "store/drum/drum_runs.h"
#include "folder_fixture.h"
#include "unit.h"

/* The example of drum.h: robots.txt and addresses of hosts, looked up in bulk. */

typedef struct Answers {
    unsigned unique;
    unsigned known;
    char last[64]; /* value of the last one that was known */
    char asked[64];
} Answers;

static Result on_unknown(void *context, const DrumEvent *event)
{
    Answers *answers = context;
    answers->unique++;
    (void)snprintf(answers->asked, sizeof answers->asked, "%.*s", (int)event->auxiliary.length,
                   (const char *)event->auxiliary.bytes);
    return RESULT_OK;
}

static Result on_known(void *context, const DrumEvent *event)
{
    Answers *answers = context;
    answers->known++;
    (void)snprintf(answers->last, sizeof answers->last, "%.*s", (int)event->value.length,
                   (const char *)event->value.bytes);
    return RESULT_OK;
}

typedef struct Lookup {
    char path[FOLDER_BYTES];
    DrumRepository *repository;
    Drum *drum;
    Answers answers;
} Lookup;

static DrumBytes text(const char *words)
{
    return (DrumBytes){words, strlen(words)};
}

static DrumKey key_of(const char *host)
{
    return drum_key_number(hash_64(host, strlen(host), 0));
}

static void set_up(Lookup *l)
{
    *l = (Lookup){.drum = NULL};
    folder_make(l->path);
    char file[96], files[96];
    (void)snprintf(file, sizeof file, "%s/hosts", l->path);
    (void)snprintf(files, sizeof files, "%s/buckets", l->path);
    DrumRunsOptions options = {.directory = file};
    CU_ASSERT_EQUAL_FATAL(drum_runs_open(&l->repository, &options), RESULT_OK);
    DrumOptions drum = {.directory = files,
                        .repository = l->repository,
                        .buckets = 4,
                        .dispatcher = {.context = &l->answers,
                                       .unique_key_check = on_unknown,
                                       .duplicate_key_check = on_known}};
    CU_ASSERT_EQUAL_FATAL(drum_open(&l->drum, &drum, NULL), RESULT_OK);
}

static void tear_down(Lookup *l)
{
    CU_ASSERT_EQUAL(drum_dispose(l->drum), RESULT_OK);
    drum_runs_close(l->repository);
    folder_remove(l->path);
}

static void robots_txt_is_found_by_host_and_missing_hosts_are_told(void)
{
    Lookup l;
    set_up(&l);
    const char *host = "http://a.example";
    /* Nobody has fetched it: the auxiliary says what waits for it. */
    CU_ASSERT_EQUAL(drum_check_with(l.drum, key_of(host), text("/page")), RESULT_OK);
    CU_ASSERT_EQUAL(drum_synchronize(l.drum), RESULT_OK);
    CU_ASSERT_TRUE(l.answers.unique == 1 && l.answers.known == 0);
    CU_ASSERT_STRING_EQUAL(l.answers.asked, "/page");
    CU_ASSERT_EQUAL(drum_update(l.drum, key_of(host), text("User-agent: *\nDisallow: /x\n")),
                    RESULT_OK);
    /* Seen by a check behind it, in the same generation. */
    CU_ASSERT_EQUAL(drum_check_with(l.drum, key_of(host), text("/x")), RESULT_OK);
    CU_ASSERT_EQUAL(drum_synchronize(l.drum), RESULT_OK);
    CU_ASSERT_TRUE(l.answers.unique == 1 && l.answers.known == 1);
    CU_ASSERT_STRING_EQUAL(l.answers.last, "User-agent: *\nDisallow: /x\n");
    tear_down(&l);
}

static void an_address_is_replaced_when_it_was_resolved_again(void)
{
    Lookup l;
    set_up(&l);
    const char *host = "a.example";
    DrumKey key = key_of(host);
    CU_ASSERT_EQUAL(drum_update(l.drum, key, text("192.0.2.1 ttl 300")), RESULT_OK);
    CU_ASSERT_EQUAL(drum_synchronize(l.drum), RESULT_OK);
    CU_ASSERT_EQUAL(drum_check(l.drum, key), RESULT_OK);
    CU_ASSERT_EQUAL(drum_update(l.drum, key, text("192.0.2.2 ttl 60")), RESULT_OK);
    CU_ASSERT_EQUAL(drum_synchronize(l.drum), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(l.answers.last, "192.0.2.1 ttl 300"); /* asked before the update */
    CU_ASSERT_EQUAL(drum_check(l.drum, key), RESULT_OK);
    CU_ASSERT_EQUAL(drum_synchronize(l.drum), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(l.answers.last, "192.0.2.2 ttl 60");
    CU_ASSERT_EQUAL(l.answers.unique, 0);
    tear_down(&l);
}

UNIT_MAIN("drum lookup",
          {"robots.txt is found by host, and missing hosts are told",
           robots_txt_is_found_by_host_and_missing_hosts_are_told},
          {"an address is replaced when it was resolved again",
           an_address_is_replaced_when_it_was_resolved_again})
