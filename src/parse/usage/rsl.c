#include "parse/usage/rsl.h"

#include <libxml/xmlreader.h>
#include <string.h>
#include <strings.h>

#include "base/core/ascii.h"

#define RSL_NAMESPACE    "https://rslstandard.org/rsl"
#define RSL_URL_BYTES    2048u /* of a content's url; a longer one is one that cannot be read */
#define RSL_TOKENS_BYTES 4096u /* of permits or prohibits; a licence with more is not open */

typedef enum RslKind {
    RSL_CONTENT,
    RSL_LICENCE,
    RSL_PERMITS,
    RSL_PROHIBITS,
    RSL_PAYMENT,
    RSL_REPORTING,
    RSL_ROOT,
    RSL_OTHER
} RslKind;

/* One license element. */
typedef struct RslLicence {
    bool names_usages; /* it has permits of type usage */
    uint8_t permitted;
    uint8_t prohibited;
    bool prohibits_index;
    bool is_closed; /* it has a condition that is not fulfilled */
} RslLicence;

typedef struct Rsl {
    xmlTextReaderPtr xml;
    const RslReader *reader;
    RslSink *sink;
    void *context;
    bool is_rsl;
    bool has_content; /* one is open */
    bool is_ours;     /* it is about pages of the origin */
    bool is_unclear;  /* nobody can say about which */
    bool needs_token;
    bool has_licence;
    uint8_t open;    /* by one of its licences at least */
    uint8_t allowed; /* and by its name */
    unsigned line;
    RslLicence licence;
    RslKind tokens_of; /* the element whose text is collected; RSL_OTHER: none */
    char *type;        /* of it; freed by xmlFree */
    Buffer tokens;
    Buffer path;
    Buffer words;
} Rsl;

static RslKind rsl_kind(xmlTextReaderPtr xml)
{
    static const char *const names[RSL_OTHER] = {"content", "license",   "permits", "prohibits",
                                                 "payment", "reporting", "rsl"};
    const char *space = (const char *)xmlTextReaderConstNamespaceUri(xml);
    const char *name = (const char *)xmlTextReaderConstLocalName(xml);
    unsigned kind = 0;
    if (name == NULL || (space != NULL && strcmp(space, RSL_NAMESPACE) != 0)) {
        return RSL_OTHER;
    }
    while (kind < RSL_OTHER && strcmp(name, names[kind]) != 0) {
        kind++;
    }
    return (RslKind)kind;
}

/* ---- words of a statement ---- */

/* Appends text with single blanks between its words, as far as there is room. */
static void rsl_say(Buffer *words, const char *text)
{
    for (; *text != '\0'; text++) {
        bool is_blank = strchr(" \t\r\n", *text) != NULL;
        char last = words->length == 0 ? ' ' : words->data[words->length - 1];
        if (!is_blank || last != ' ') {
            (void)buffer_append_char(words, is_blank ? ' ' : *text);
        }
    }
}

/* An attribute of the element at hand, or "" when there is none; freed by xmlFree. */
static char *rsl_attribute(Rsl *rsl, const char *name)
{
    xmlChar *value = xmlTextReaderGetAttribute(rsl->xml, (const xmlChar *)name);
    return (char *)(value == NULL ? xmlStrdup((const xmlChar *)"") : value);
}

/* ---- licences ---- */

static uint8_t rsl_usages(const char *word, size_t length, bool permits)
{
    static const struct {
        const char *name;
        uint8_t bits;
    } tokens[] = {{"all", USAGE_ALL},
                  {"ai-all", USAGE_TRAIN_AI | USAGE_AI_INPUT | USAGE_IMAGE_AI},
                  {"ai-train", USAGE_TRAIN_AI | USAGE_IMAGE_AI},
                  {"train-ai", USAGE_TRAIN_AI | USAGE_IMAGE_AI},
                  {"ai-summarize", USAGE_AI_INPUT}};
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        if (ascii_is(word, length, tokens[i].name)) {
            return tokens[i].bits;
        }
    }
    return (uint8_t)(permits ? usage_asked(word, length) : usage_of_name(word, length));
}

/* The tokens of a permits or prohibits element. Who does not say who he is may be one of those who
 * are kept out, and is none of those who are let in. */
static void rsl_take_tokens(Rsl *rsl)
{
    static const char *const users[] = {WORDS_NAMES(RSL_USER_WORDS)};
    static const char blanks[] = " ,\t\r\n";
    RslLicence *licence = &rsl->licence;
    bool permits = rsl->tokens_of == RSL_PERMITS;
    bool is_usage = *rsl->type == '\0' || strcasecmp(rsl->type, "usage") == 0;
    bool is_user = strcasecmp(rsl->type, "user") == 0;
    bool names_us = false;
    const char *token = buffer_string(&rsl->tokens);
    for (size_t length = 0; ascii_next_word(&token, &length, blanks);) {
        uint8_t *bits = permits ? &licence->permitted : &licence->prohibited;
        *bits |= is_usage ? rsl_usages(token, length, permits) : 0;
        licence->prohibits_index |= is_usage && !permits && ascii_is(token, length, "ai-index");
        names_us |= is_user && ascii_is(token, length, users[rsl->reader->user]);
    }
    licence->names_usages |= permits && is_usage;
    bool is_kept_out = rsl->reader->user == RSL_USER_UNKNOWN || names_us != permits;
    licence->is_closed |= !is_usage && (!is_user || is_kept_out);
    licence->is_closed |= rsl->tokens.failed != RESULT_OK;
    rsl->tokens_of = RSL_OTHER;
}

/* ---- content ---- */

/* About which pages a content is. */
static void rsl_take_url(Rsl *rsl, const char *url)
{
    const char *host = strstr(url, "://");
    const char *ours = strstr(rsl->reader->origin, "://");
    size_t length = host == NULL ? 0 : 3 + strcspn(host + 3, "/?#");
    bool is_short = strlen(url) <= RSL_URL_BYTES;
    rsl->is_ours = true;
    rsl->is_unclear = false;
    buffer_reset(&rsl->path);
    if (*url == '/' && is_short) {
        (void)buffer_append_string(&rsl->path, url);
    } else if (host != NULL && is_short && memchr(host, '*', length) == NULL) {
        rsl->is_ours = ours != NULL && ascii_is(host, length, ours);
        (void)buffer_append_string(&rsl->path, host + length);
    } else {
        rsl->is_unclear = true;
    }
    rsl->is_unclear |= rsl->path.failed != RESULT_OK;
}

static Result rsl_end_content(Rsl *rsl)
{
    rsl->has_content = false;
    if (!rsl->is_ours || (!rsl->has_licence && !rsl->needs_token)) {
        return RESULT_OK;
    }
    UsageStatement statement = {
        .line = rsl->line,
        .text = buffer_string(&rsl->words),
        .length = rsl->words.length,
        .usage = {.denied = (uint8_t)(USAGE_ALL & ~rsl->open),
                  .allowed = rsl->is_unclear ? 0 : rsl->allowed},
    };
    return rsl->sink(rsl->context, buffer_string(&rsl->path), rsl->path.length, &statement);
}

/* ---- the file ---- */

static Result rsl_begin_element(Rsl *rsl, RslKind kind)
{
    if (kind == RSL_CONTENT) {
        char *url = rsl_attribute(rsl, "url");
        char *server = rsl_attribute(rsl, "server");
        char *encrypted = rsl_attribute(rsl, "encrypted");
        rsl->has_content = true;
        rsl->has_licence = false;
        rsl->open = rsl->allowed = 0;
        rsl->licence = (RslLicence){0};
        rsl->line = (unsigned)xmlGetLineNo(xmlTextReaderCurrentNode(rsl->xml));
        rsl->needs_token = server == NULL || encrypted == NULL || *server != '\0' ||
                           strcasecmp(encrypted, "true") == 0;
        rsl_take_url(rsl, url == NULL ? "" : url);
        buffer_reset(&rsl->words);
        xmlFree(url);
        xmlFree(server);
        xmlFree(encrypted);
    }
    if (!rsl->has_content) {
        return RESULT_OK;
    }
    /* "; permits type=usage ": what follows is its text. */
    Buffer *words = &rsl->words;
    rsl_say(words, words->length == 0 ? "" : "; ");
    rsl_say(words, (const char *)xmlTextReaderConstLocalName(rsl->xml));
    while (xmlTextReaderMoveToNextAttribute(rsl->xml) == 1) {
        const char *value = (const char *)xmlTextReaderConstValue(rsl->xml);
        rsl_say(words, " ");
        rsl_say(words, (const char *)xmlTextReaderConstLocalName(rsl->xml));
        rsl_say(words, "=");
        rsl_say(words, value == NULL ? "" : value);
    }
    (void)xmlTextReaderMoveToElement(rsl->xml);
    rsl_say(words, " ");
    xmlFree(rsl->type);
    rsl->type = rsl_attribute(rsl, "type");
    if (rsl->type == NULL) {
        return RESULT_MEMORY;
    }
    if (kind == RSL_PAYMENT) {
        rsl->licence.is_closed |= strcasecmp(rsl->type, "free") != 0;
    }
    rsl->licence.is_closed |= kind == RSL_REPORTING;
    rsl->tokens_of = kind == RSL_PERMITS || kind == RSL_PROHIBITS ? kind : RSL_OTHER;
    buffer_reset(&rsl->tokens);
    return RESULT_OK;
}

static Result rsl_end_element(Rsl *rsl, RslKind kind)
{
    if (!rsl->has_content) {
        return RESULT_OK;
    }
    if (kind == rsl->tokens_of && kind != RSL_OTHER) {
        rsl_take_tokens(rsl);
    }
    if (kind == RSL_LICENCE) {
        const RslLicence *licence = &rsl->licence;
        uint8_t open = licence->names_usages ? licence->permitted : USAGE_ALL;
        if (licence->prohibits_index && (licence->permitted & USAGE_AI_INPUT) == 0) {
            open &= (uint8_t)~USAGE_AI_INPUT;
        }
        open &= (uint8_t)~licence->prohibited;
        if (!licence->is_closed && !rsl->needs_token) {
            rsl->open |= open;
            rsl->allowed |= open & licence->permitted;
        }
        rsl->has_licence = true;
        rsl->licence = (RslLicence){0};
    }
    return kind == RSL_CONTENT ? rsl_end_content(rsl) : RESULT_OK;
}

static Result rsl_take_node(Rsl *rsl, int type)
{
    RslKind kind = rsl_kind(rsl->xml);
    if (type == XML_READER_TYPE_DOCUMENT_TYPE || type == XML_READER_TYPE_ENTITY_REFERENCE) {
        return RESULT_INVALID;
    }
    if (type == XML_READER_TYPE_ELEMENT) {
        rsl->is_rsl |= kind == RSL_ROOT || kind == RSL_CONTENT;
        bool is_empty = xmlTextReaderIsEmptyElement(rsl->xml) == 1;
        Result rc = rsl_begin_element(rsl, kind);
        return rc == RESULT_OK && is_empty ? rsl_end_element(rsl, kind) : rc;
    }
    if (type == XML_READER_TYPE_END_ELEMENT) {
        return rsl_end_element(rsl, kind);
    }
    if ((type == XML_READER_TYPE_TEXT || type == XML_READER_TYPE_CDATA) && rsl->has_content) {
        const char *text = (const char *)xmlTextReaderConstValue(rsl->xml);
        rsl_say(&rsl->words, text == NULL ? "" : text);
        if (rsl->tokens_of != RSL_OTHER) {
            (void)buffer_append_string(&rsl->tokens, text == NULL ? "" : text);
        }
    }
    return RESULT_OK;
}

Result rsl_read(const char *text, size_t length, const RslReader *reader, RslSink *sink,
                void *context)
{
    static const char declaration[] = "<!DOCTYPE";
    Rsl rsl = {.reader = reader,
               .sink = sink,
               .context = context,
               .tokens_of = RSL_OTHER,
               .tokens = {.limit = RSL_TOKENS_BYTES},
               .path = {.limit = RSL_URL_BYTES},
               .words = {.limit = RSL_WORDS_BYTES}};
    if (length == 0 || length > INT32_MAX ||
        memmem(text, length, declaration, sizeof declaration - 1) != NULL) {
        return RESULT_INVALID;
    }
    rsl.xml = xmlReaderForMemory(text, (int)length, NULL, NULL,
                                 XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
    Result rc = rsl.xml == NULL ? RESULT_MEMORY : RESULT_OK;
    int more = 0;
    while ((more = xmlTextReaderRead(rsl.xml)) == 1) { /* -1: there is no reader */
        rc = rsl_take_node(&rsl, xmlTextReaderNodeType(rsl.xml));
        if (rc != RESULT_OK) {
            break;
        }
    }
    if (rc == RESULT_OK && (more != 0 || !rsl.is_rsl)) {
        rc = RESULT_INVALID;
    }
    xmlFreeTextReader(rsl.xml);
    xmlFree(rsl.type);
    buffer_destroy(&rsl.tokens);
    buffer_destroy(&rsl.path);
    buffer_destroy(&rsl.words);
    return rc;
}
