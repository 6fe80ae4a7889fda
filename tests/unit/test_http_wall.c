#include "parse/http/http_wall.h"

#include <string.h>

#include "unit.h"

static HttpWall wall(const char *head, const char *body)
{
    HttpHeader header;
    CU_ASSERT_EQUAL_FATAL(http_header_parse(&header, head, strlen(head)), RESULT_OK);
    return http_wall_of((int)header.status, &header, body, strlen(body));
}

static void statuses_are_walls(void)
{
    CU_ASSERT_EQUAL(wall("HTTP/1.1 402 x\r\n\r\n", ""), WALL_PAYMENT);
    CU_ASSERT_EQUAL(wall("HTTP/1.1 403 x\r\n\r\n", "<h1>Forbidden"), WALL_FORBIDDEN);
    CU_ASSERT_EQUAL(wall("HTTP/1.1 429 x\r\n\r\n", ""), WALL_BUSY);
    CU_ASSERT_EQUAL(wall("HTTP/1.1 200 x\r\n\r\n", "403"), HTTP_WALLS);
    CU_ASSERT_EQUAL(wall("HTTP/1.1 404 x\r\n\r\n", ""), HTTP_WALLS);
    CU_ASSERT_EQUAL(wall("HTTP/1.1 503 x\r\n\r\n", ""), HTTP_WALLS);
}

static void challenges_are_walls_whatever_their_status(void)
{
    CU_ASSERT_EQUAL(wall("HTTP/1.1 403 x\r\nCF-Mitigated: Challenge\r\n\r\n", ""), WALL_CHALLENGE);
    CU_ASSERT_EQUAL(wall("HTTP/1.1 202 x\r\nx-amzn-waf-action: challenge\r\n\r\n", ""),
                    WALL_CHALLENGE);
    CU_ASSERT_EQUAL(wall("HTTP/1.1 405 x\r\nx-amzn-waf-action: captcha\r\n\r\n", ""),
                    WALL_CHALLENGE);
    CU_ASSERT_EQUAL(wall("HTTP/1.1 200 x\r\n\r\n", "<script>window._cf_chl_opt={}"),
                    WALL_CHALLENGE);
    CU_ASSERT_EQUAL(wall("HTTP/1.1 200 x\r\n\r\n", "<script id=\"anubis_challenge\" type="),
                    WALL_CHALLENGE);
    CU_ASSERT_EQUAL(wall("HTTP/1.1 403 x\r\n\r\n", "geo.captcha-delivery.com/c"), WALL_CHALLENGE);
}

static void words_that_are_cut_are_none(void)
{
    CU_ASSERT_EQUAL(wall("HTTP/1.1 200 x\r\n\r\n", "_challenge\" and _cf_chl_op"), HTTP_WALLS);
    CU_ASSERT_EQUAL(wall("HTTP/1.1 200 x\r\n\r\n", "id=\"anubis_challenge"), HTTP_WALLS);
    CU_ASSERT_EQUAL(wall("HTTP/1.1 200 x\r\n\r\n", "__c_"), HTTP_WALLS);
    CU_ASSERT_EQUAL(wall("HTTP/1.1 200 x\r\n\r\n", "_id=\"anubis_challenge\""), WALL_CHALLENGE);
}

static void pages_that_carry_such_a_script_are_none(void)
{
    CU_ASSERT_EQUAL(wall("HTTP/1.1 200 x\r\nCF-Mitigated: none\r\n\r\n",
                         "<script src=/cdn-cgi/challenge-platform/scripts/jsd/main.js>"),
                    HTTP_WALLS);
    CU_ASSERT_EQUAL(wall("HTTP/1.1 200 x\r\n\r\n", "how captcha-delivery.com works"), HTTP_WALLS);
}

/* Of an error more than of another answer; whatever stands around it, at any place. */
static void only_the_beginning_is_looked_at(void)
{
    static char body[HTTP_WALL_LOOKED_AT + 64];
    static const struct {
        const char *head;
        size_t most;
        HttpWall without;
    } rows[] = {{"HTTP/1.1 200 x\r\n\r\n", HTTP_WALL_LOOKED_AT_OK, HTTP_WALLS},
                {"HTTP/1.1 403 x\r\n\r\n", HTTP_WALL_LOOKED_AT, WALL_FORBIDDEN}};
    for (size_t r = 0; r < 2; r++) {
        for (size_t at = rows[r].most - 75; at <= rows[r].most; at++) {
            memset(body, '_', sizeof body - 1);
            memcpy(body + at, "_cf_chl_opt", 11);
            CU_ASSERT_EQUAL(wall(rows[r].head, body),
                            at + 11 <= rows[r].most ? WALL_CHALLENGE : rows[r].without);
        }
    }
}

UNIT_MAIN("http_wall", {"statuses are walls", statuses_are_walls},
          {"challenges are walls, whatever their status",
           challenges_are_walls_whatever_their_status},
          {"words that are cut are none", words_that_are_cut_are_none},
          {"pages that carry such a script are none", pages_that_carry_such_a_script_are_none},
          {"only the beginning is looked at", only_the_beginning_is_looked_at})
