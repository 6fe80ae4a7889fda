#include "frontier/visit/wall_run.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

#define MOST 3u

static bool take_page(WallRun *run, WallAnswer answer, uint64_t page)
{
    answer.header_length = strlen(answer.header);
    answer.body_length = answer.body == NULL ? 0 : strlen(answer.body);
    bool walls = wall_run_take(run, &answer, MOST);
    wall_run_settle(run, page);
    return walls;
}

static const WallAnswer forbidden = {.status = 403, .header = "HTTP/1.1 403 No\r\n\r\n"};
static const WallAnswer missing = {.status = 404, .header = "HTTP/1.1 404 No\r\n\r\n"};
static const WallAnswer broken = {.status = 500, .header = "HTTP/1.1 500 No\r\n\r\n"};

static WallAnswer page_of(const char *body)
{
    return (WallAnswer){.status = 200,
                        .header = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
                                  "Cache-Control: private, no-store\r\n\r\n",
                        .body = body};
}

static WallAnswer redirect_of(const char *header)
{
    return (WallAnswer){.status = 302, .header = header};
}

static void so_many_in_a_row_are_a_wall_and_are_kept(void)
{
    WallRun run = {.length = 0};
    CU_ASSERT_FALSE(take_page(&run, page_of("welcome"), 6));
    CU_ASSERT_FALSE(take_page(&run, forbidden, 7));
    CU_ASSERT_FALSE(take_page(&run, broken, 100));
    CU_ASSERT_FALSE(take_page(&run, forbidden, 8));
    CU_ASSERT_TRUE(take_page(&run, forbidden, 9));
    CU_ASSERT_EQUAL_FATAL(run.n_pages, 3);
    CU_ASSERT_EQUAL(run.pages[0], 7);
    CU_ASSERT_EQUAL(run.pages[2], 9);
    CU_ASSERT_TRUE(take_page(&run, forbidden, 10)); /* one answer is enough now */
    CU_ASSERT_FALSE(take_page(&run, missing, 11));
    CU_ASSERT_EQUAL(run.n_pages, 0);
    CU_ASSERT_FALSE(take_page(&run, forbidden, 12));
    wall_run_destroy(&run);
}

static void another_answer_ends_a_run(void)
{
    WallRun run = {.length = 0};
    for (uint64_t i = 0; i < 20; i++) {
        CU_ASSERT_FALSE(take_page(&run, i % 3 == 2 ? page_of("fine") : forbidden, i));
    }
    wall_run_destroy(&run);
}

static void one_answer_to_every_page_is_a_wall(void)
{
    char body[32];
    WallRun run = {.length = 0};
    CU_ASSERT_FALSE(take_page(&run, page_of("same"), 1));
    CU_ASSERT_FALSE(take_page(&run, page_of("same"), 2));
    CU_ASSERT_TRUE(take_page(&run, page_of("same"), 3));
    CU_ASSERT_EQUAL(run.n_pages, 3);
    for (uint64_t i = 0; i < 20; i++) {
        (void)snprintf(body, sizeof body, "page %u", (unsigned)i);
        CU_ASSERT_FALSE(take_page(&run, page_of(body), i));
    }
    CU_ASSERT_FALSE(take_page(&run, redirect_of("HTTP/1.1 302 F\r\nLocation: /in?a\r\n\r\n"), 1));
    CU_ASSERT_FALSE(take_page(&run, redirect_of("HTTP/1.1 302 F\r\nLocation: /in?b\r\n\r\n"), 2));
    CU_ASSERT_TRUE(take_page(&run, redirect_of("HTTP/1.1 302 F\r\nLocation: /in#c\r\n\r\n"), 3));
    CU_ASSERT_FALSE(take_page(&run, redirect_of("HTTP/1.1 302 F\r\nLocation: /b/\r\n\r\n"), 4));
    WallAnswer kept = page_of("the same, for caches too");
    kept.header = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
    for (uint64_t i = 0; i < 20; i++) {
        CU_ASSERT_FALSE(take_page(&run, kept, i));
    }
    wall_run_destroy(&run);
}

static void what_was_crawled_before_is_compared_only_behind_a_wall(void)
{
    WallRun run = {.length = 0};
    WallAnswer again = page_of("same");
    again.again = true;
    for (uint64_t i = 0; i < 10; i++) { /* a revisit that finds what it knows */
        CU_ASSERT_FALSE(take_page(&run, again, i));
    }
    CU_ASSERT_FALSE(take_page(&run, page_of("same"), 1));
    CU_ASSERT_FALSE(take_page(&run, page_of("same"), 2));
    CU_ASSERT_TRUE(take_page(&run, page_of("same"), 3));
    CU_ASSERT_TRUE(take_page(&run, again, 1));
    wall_run_destroy(&run);
    WallAnswer known = forbidden;
    known.again = known.is_walled = true;
    for (uint64_t i = 0; i < 10; i++) {
        CU_ASSERT_FALSE(take_page(&run, known, i));
    }
    wall_run_destroy(&run);
}

static void a_challenge_is_one_whatever_its_status(void)
{
    WallRun run = {.length = 0};
    WallAnswer challenge = page_of("a");
    challenge.wall = WALL_CHALLENGE;
    CU_ASSERT_FALSE(take_page(&run, challenge, 1));
    CU_ASSERT_FALSE(take_page(&run, forbidden, 2));
    CU_ASSERT_TRUE(take_page(&run, challenge, 3));
    WallAnswer cut = {.status = 200, .header = "nonsense"};
    CU_ASSERT_FALSE(take_page(&run, cut, 4));
    wall_run_destroy(&run);
}

UNIT_MAIN("wall_run",
          {"so many in a row are a wall and are kept", so_many_in_a_row_are_a_wall_and_are_kept},
          {"another answer ends a run", another_answer_ends_a_run},
          {"one answer to every page is a wall", one_answer_to_every_page_is_a_wall},
          {"what was crawled before is compared only behind a wall",
           what_was_crawled_before_is_compared_only_behind_a_wall},
          {"a challenge is one whatever its status", a_challenge_is_one_whatever_its_status})
