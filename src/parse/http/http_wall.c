#include "parse/http/http_wall.h"

#include <string.h>
#include <strings.h>

#include "parse/text/skim_scan.h"

static const struct {
    const char *name;
    const char *value; /* the whole of it, without regard to case */
} headers[] = {{"cf-mitigated", "challenge"},
               {"x-amzn-waf-action", "challenge"},
               {"x-amzn-waf-action", "captcha"},
               {"x-vercel-mitigated", "challenge"}};

/* In any answer. Each has "_c", so that one look for it is enough. */
static const struct {
    const char *text;
    size_t before;                                /* bytes before "_c" */
} anywhere[] = {{"_cf_chl_opt", 0},               /* Cloudflare */
                {"id=\"anubis_challenge\"", 10}}; /* Anubis */

/* In an answer that is an error. */
static const char *const in_errors[] = {"captcha-delivery.com", /* DataDome */
                                        "_Incapsula_Resource",  /* Imperva */
                                        "px-captcha",           /* HUMAN */
                                        "/_sec/cp_challenge",   /* Akamai */
                                        "/.well-known/ddos-guard/"};

static const char challenge_cookie[] = "techaro.lol-anubis"; /* Anubis; an answer of its own */

static bool says_challenge(const HttpHeader *header)
{
    HttpField field;
    size_t position = 0;
    while (http_header_next_named(header, "Set-Cookie", &position, &field)) {
        size_t length = sizeof challenge_cookie - 1;
        if (field.value_length > length && memcmp(field.value, challenge_cookie, length) == 0 &&
            memmem(field.value, field.value_length, "-verif", 6) != NULL) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        if (http_header_find(header, headers[i].name, &field) &&
            field.value_length == strlen(headers[i].value) &&
            strncasecmp(field.value, headers[i].value, field.value_length) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_script_of_challenge(const char *body, const char *end)
{
    for (const char *p = body; (p = find_pair(p, end, '_', 'c')) != end; p++) {
        for (size_t i = 0; i < sizeof anywhere / sizeof *anywhere; i++) {
            size_t before = anywhere[i].before;
            size_t length = strlen(anywhere[i].text);
            if ((size_t)(p - body) >= before && (size_t)(end - p) >= length - before &&
                memcmp(p - before, anywhere[i].text, length) == 0) {
                return true;
            }
        }
    }
    return false;
}

static bool is_challenge(int status, const char *body, size_t length)
{
    size_t most = status >= 400 ? HTTP_WALL_LOOKED_AT : HTTP_WALL_LOOKED_AT_OK;
    length = length < most ? length : most;
    if (length == 0) {
        return false;
    }
    for (size_t i = 0; status >= 400 && i < sizeof in_errors / sizeof *in_errors; i++) {
        if (memmem(body, length, in_errors[i], strlen(in_errors[i])) != NULL) {
            return true;
        }
    }
    return is_script_of_challenge(body, body + length);
}

HttpWall http_wall_of(int status, const HttpHeader *header, const char *body, size_t length)
{
    if (says_challenge(header) || is_challenge(status, body, length)) {
        return WALL_CHALLENGE;
    }
    switch (status) {
    case 402:
        return WALL_PAYMENT;
    case 403:
        return WALL_FORBIDDEN;
    case 429:
        return WALL_BUSY;
    default:
        return HTTP_WALLS;
    }
}

const char *http_wall_name(HttpWall wall)
{
    static const char *const names[] = {[WALL_PAYMENT] = "402",
                                        [WALL_FORBIDDEN] = "403",
                                        [WALL_BUSY] = "429",
                                        [WALL_CHALLENGE] = "challenge",
                                        [HTTP_WALLS] = "none"};
    return names[wall];
}
