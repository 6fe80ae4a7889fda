#include "parse/http/http_wall.h"

#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    const char *value; /* the whole of it, without regard to case */
} headers[] = {{"cf-mitigated", "challenge"},
               {"x-amzn-waf-action", "challenge"},
               {"x-amzn-waf-action", "captcha"},
               {"x-vercel-mitigated", "challenge"}};

static const struct {
    const char *text;
    bool always;                                 /* else only in an answer that is an error */
} bodies[] = {{"_cf_chl_opt", true},             /* Cloudflare */
              {"id=\"anubis_challenge\"", true}, /* Anubis */
              {"captcha-delivery.com", false},   /* DataDome */
              {"_Incapsula_Resource", false},    /* Imperva */
              {"px-captcha", false},             /* HUMAN */
              {"/_sec/cp_challenge", false},     /* Akamai */
              {"/.well-known/ddos-guard/", false}};

static bool says_challenge(const HttpHeader *header)
{
    HttpField field;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        if (http_header_find(header, headers[i].name, &field) &&
            field.value_length == strlen(headers[i].value) &&
            strncasecmp(field.value, headers[i].value, field.value_length) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_challenge(int status, const char *body, size_t length)
{
    length = length < HTTP_WALL_LOOKED_AT ? length : HTTP_WALL_LOOKED_AT;
    for (size_t i = 0; length > 0 && i < sizeof bodies / sizeof *bodies; i++) {
        if ((bodies[i].always || status >= 400) &&
            memmem(body, length, bodies[i].text, strlen(bodies[i].text)) != NULL) {
            return true;
        }
    }
    return false;
}

HttpWall http_wall_of(int status, const HttpHeader *header, const char *body, size_t length)
{
    if (says_challenge(header) || is_challenge(status, body, length)) {
        return WALL_CHALLENGE;
    }
    return status == 402   ? WALL_PAYMENT
           : status == 403 ? WALL_FORBIDDEN
           : status == 429 ? WALL_BUSY
                           : HTTP_WALLS;
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
