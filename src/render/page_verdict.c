#include "render/page_verdict.h"

#include <string.h>
#include <strings.h>

#define VERDICT_LINKS 2u
#define VERDICT_NAME  64u
#define FNV           UINT64_C(0x100000001b3)

typedef struct VerdictPiece { /* of the page's bytes */
    const char *bytes;
    size_t length;
} VerdictPiece;

typedef struct VerdictTag {
    VerdictPiece name;
    VerdictPiece id;
    VerdictPiece href;
    VerdictPiece type;
    bool is_end;
} VerdictTag;

/* The element that may turn out to be empty: the first of several that are within each other. */
typedef struct VerdictMount {
    VerdictPiece name;
    unsigned depth; /* of elements of that name within it */
    size_t text;    /* bytes of text before it */
    bool is_mount;  /* by its id; else by its name */
} VerdictMount;

typedef struct VerdictScan {
    const char *at;
    const char *end;
    PageVerdict *verdict;
    VerdictMount mount; /* its name is empty: none is open */
    bool was_blank;
} VerdictScan;

static bool verdict_is(VerdictPiece piece, const char *word)
{
    return piece.length == strlen(word) && strncasecmp(piece.bytes, word, piece.length) == 0;
}

static bool verdict_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static bool verdict_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Where a word begins, whatever its case; NULL: nowhere. */
static const char *verdict_find(const char *at, const char *end, const char *word)
{
    size_t length = strlen(word);
    for (; (size_t)(end - at) >= length; at++) {
        if (strncasecmp(at, word, length) == 0) {
            return at;
        }
    }
    return NULL;
}

/* ---- tags ---- */

static VerdictPiece verdict_value(VerdictScan *scan)
{
    VerdictPiece value = {.bytes = scan->at};
    char quote = scan->at < scan->end ? *scan->at : '\0';
    if (quote == '"' || quote == '\'') {
        value.bytes = ++scan->at;
        const char *close = memchr(scan->at, quote, (size_t)(scan->end - scan->at));
        scan->at = close == NULL ? scan->end : close;
        value.length = (size_t)(scan->at - value.bytes);
        scan->at += scan->at < scan->end;
        return value;
    }
    while (scan->at < scan->end && !verdict_is_blank(*scan->at) && *scan->at != '>') {
        scan->at++;
    }
    value.length = (size_t)(scan->at - value.bytes);
    return value;
}

static void verdict_skip_blanks(VerdictScan *scan)
{
    while (scan->at < scan->end && (verdict_is_blank(*scan->at) || *scan->at == '/')) {
        scan->at++;
    }
}

/* The name of a tag or an attribute. */
static VerdictPiece verdict_name(VerdictScan *scan)
{
    VerdictPiece name = {.bytes = scan->at};
    while (scan->at < scan->end && !verdict_is_blank(*scan->at) && *scan->at != '>' &&
           *scan->at != '/' && (*scan->at != '=' || scan->at == name.bytes)) {
        scan->at++;
    }
    name.length = (size_t)(scan->at - name.bytes);
    return name;
}

/* Reads a tag from behind its "<" to behind its ">". */
static void verdict_read_tag(VerdictScan *scan, VerdictTag *tag)
{
    *tag = (VerdictTag){.is_end = *scan->at == '/'};
    scan->at += tag->is_end;
    tag->name = verdict_name(scan);
    for (verdict_skip_blanks(scan); scan->at < scan->end && *scan->at != '>';
         verdict_skip_blanks(scan)) {
        VerdictPiece name = verdict_name(scan);
        VerdictPiece value = {.bytes = NULL};
        verdict_skip_blanks(scan);
        if (scan->at < scan->end && *scan->at == '=') {
            scan->at++;
            while (scan->at < scan->end && verdict_is_blank(*scan->at)) {
                scan->at++;
            }
            value = verdict_value(scan);
        }
        if (verdict_is(name, "id")) {
            tag->id = value;
        } else if (verdict_is(name, "href")) {
            tag->href = value;
        } else if (verdict_is(name, "type")) {
            tag->type = value;
        }
    }
    scan->at += scan->at < scan->end;
}

/* ---- signs ---- */

static bool verdict_is_mount(VerdictPiece id)
{
    static const char *const known[] = {"root",           "app",
                                        "__next",         "__nuxt",
                                        "react-root",     "app-root",
                                        "vue-app",        "main-app",
                                        "svelte",         "gatsby",
                                        "___gatsby",      "q-app",
                                        "swagger-ui",     "redoc",
                                        "docsify",        "elm",
                                        "elm-app",        "ember-app",
                                        "mount",          "application",
                                        "container-root", "spa",
                                        "reactroot",      "react-app",
                                        "app-container",  "redoc-container",
                                        "search-results"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (verdict_is(id, known[i])) {
            return true;
        }
    }
    return false;
}

static bool verdict_is_own_element(VerdictPiece name)
{
    return verdict_is(name, "redoc") ||
           (name.length < VERDICT_NAME && memchr(name.bytes, '-', name.length) != NULL);
}

static void verdict_open(VerdictScan *scan, const VerdictTag *tag)
{
    VerdictMount *mount = &scan->mount;
    if (mount->name.length > 0) {
        mount->depth += tag->name.length == mount->name.length &&
                        strncasecmp(tag->name.bytes, mount->name.bytes, tag->name.length) == 0;
        return;
    }
    bool is_mount = verdict_is_mount(tag->id) && !verdict_is(tag->name, "body");
    if (is_mount || verdict_is_own_element(tag->name)) {
        *mount = (VerdictMount){
            .name = tag->name, .text = scan->verdict->text_bytes, .is_mount = is_mount};
    }
}

/* What is still open at the end of the page is closed by it. */
static void verdict_end_mount(VerdictScan *scan)
{
    PageVerdict *verdict = scan->verdict;
    if (verdict->text_bytes - scan->mount.text < PAGE_VERDICT_NONE) {
        verdict->has_empty_mount = verdict->has_empty_mount || scan->mount.is_mount;
        verdict->has_empty_element = verdict->has_empty_element || !scan->mount.is_mount;
    }
    scan->mount.name.length = 0;
}

static void verdict_close(VerdictScan *scan, const VerdictTag *tag)
{
    VerdictMount *mount = &scan->mount;
    if (mount->name.length == 0 || tag->name.length != mount->name.length ||
        strncasecmp(tag->name.bytes, mount->name.bytes, tag->name.length) != 0) {
        return;
    }
    if (mount->depth > 0) {
        mount->depth--;
    } else {
        verdict_end_mount(scan);
    }
}

static void verdict_link(PageVerdict *verdict, VerdictPiece href)
{
    bool leads = href.length > 0 && *href.bytes != '#' &&
                 (href.length < 11 || strncasecmp(href.bytes, "javascript:", 11) != 0);
    verdict->links += leads;
}

static void verdict_script(PageVerdict *verdict, const VerdictTag *tag, const char *from,
                           const char *to)
{
    static const char *const ways[] = {"location=", "location =", "location.href",
                                       "location.replace(", "location.assign("};
    if (tag->type.length > 0 && !verdict_is(tag->type, "module") &&
        verdict_find(tag->type.bytes, tag->type.bytes + tag->type.length, "script") == NULL) {
        return;
    }
    verdict->scripts++;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        verdict->has_redirect =
            verdict->has_redirect || (to - from < 4096 && verdict_find(from, to, ways[i]) != NULL);
    }
}

/* Elements whose contents are no text of the page; false: it is none of them. */
static bool verdict_raw(VerdictScan *scan, const VerdictTag *tag)
{
    static const char *const raw[] = {"</script", "</style",    "</noscript",
                                      "</title",  "</template", "</textarea"};
    for (size_t i = 0; i < sizeof raw / sizeof *raw; i++) {
        if (!verdict_is(tag->name, raw[i] + 2)) {
            continue;
        }
        const char *from = scan->at;
        const char *to = verdict_find(from, scan->end, raw[i]);
        to = to == NULL ? scan->end : to;
        scan->at = to;
        if (i == 0) {
            verdict_script(scan->verdict, tag, from, to);
        } else if (i == 2) {
            scan->verdict->has_plea =
                scan->verdict->has_plea || verdict_find(from, to, "javascript") != NULL;
        }
        return true;
    }
    return false;
}

static void verdict_tag(VerdictScan *scan)
{
    VerdictTag tag;
    verdict_read_tag(scan, &tag);
    if (tag.is_end) {
        verdict_close(scan, &tag);
        return;
    }
    if (verdict_raw(scan, &tag)) {
        return;
    }
    if (verdict_is(tag.name, "a")) {
        verdict_link(scan->verdict, tag.href);
    }
    verdict_open(scan, &tag);
}

/* In the order of page_verdict_tell. */
static void verdict_note_signs(PageVerdict *verdict)
{
    bool has_none = verdict->text_bytes < PAGE_VERDICT_NONE;
    const bool signs[] = {verdict->scripts == 0,
                          verdict->text_bytes >= PAGE_VERDICT_ENOUGH,
                          verdict->has_empty_mount,
                          verdict->has_empty_element,
                          verdict->has_plea,
                          verdict->has_redirect,
                          has_none,
                          !has_none && verdict->text_bytes < PAGE_VERDICT_TEXT,
                          verdict->links < VERDICT_LINKS};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        verdict->signs |= (uint32_t)signs[i] << i;
    }
}

static void verdict_weigh(PageVerdict *verdict)
{
    bool has_none = verdict->text_bytes < PAGE_VERDICT_NONE;
    bool has_little = verdict->text_bytes < PAGE_VERDICT_TEXT;
    verdict->has_redirect = verdict->has_redirect && has_none;
    const struct {
        bool is_there;
        uint8_t weight;
    } signs[] = {{verdict->has_empty_mount, 3},
                 {verdict->has_empty_element, 2},
                 {verdict->has_plea, 2},
                 {verdict->has_redirect, 3},
                 {has_none, 1},
                 {has_little, 1},
                 {verdict->links < VERDICT_LINKS, 1}};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        verdict->weight = (uint8_t)(verdict->weight + (signs[i].is_there ? signs[i].weight : 0));
    }
    verdict->needs_browser = verdict->scripts > 0 && verdict->text_bytes < PAGE_VERDICT_ENOUGH &&
                             verdict->weight >= PAGE_VERDICT_LEAST;
    verdict_note_signs(verdict);
}

void page_verdict_judge(const char *html, size_t length, PageVerdict *verdict)
{
    VerdictScan scan = {.at = html, .end = html + length, .verdict = verdict, .was_blank = true};
    *verdict = (PageVerdict){.scripts = 0};
    while (scan.at < scan.end) {
        char c = *scan.at++;
        size_t left = (size_t)(scan.end - scan.at);
        if (c == '<' && left >= 3 && memcmp(scan.at, "!--", 3) == 0) {
            const char *close = verdict_find(scan.at + 1, scan.end, "-->");
            scan.at = close == NULL ? scan.end : close + 3;
        } else if (c == '<' && left >= 2 &&
                   (verdict_is_letter(*scan.at) ||
                    (*scan.at == '/' && verdict_is_letter(scan.at[1])))) {
            verdict_tag(&scan);
        } else if (c == '<' && left >= 1 && (*scan.at == '!' || *scan.at == '?')) {
            const char *close = memchr(scan.at, '>', left);
            scan.at = close == NULL ? scan.end : close + 1;
        } else {
            bool is_blank = verdict_is_blank(c);
            if (!is_blank || !scan.was_blank) {
                verdict->text_bytes++;
                verdict->text_hash = (verdict->text_hash ^ (is_blank ? ' ' : (uint8_t)c)) * FNV;
            }
            scan.was_blank = is_blank;
        }
    }
    if (scan.mount.name.length > 0) {
        verdict_end_mount(&scan);
    }
    verdict_weigh(verdict);
}

PageNeed page_verdict_need(const PageVerdict *verdict)
{
    if (verdict->needs_browser) {
        return PAGE_NEEDS_BROWSER;
    }
    return verdict->scripts == 0 ? PAGE_IS_PLAIN : PAGE_HAS_SCRIPTS;
}

static Result verdict_say(Buffer *out, bool *has_more, const char *what)
{
    Result rc = *has_more ? buffer_append_string(out, ", ") : RESULT_OK;
    *has_more = true;
    return rc == RESULT_OK ? buffer_append_string(out, what) : rc;
}

Result page_verdict_tell(uint32_t signs, Buffer *out)
{
    static const char *const words[] = {"no scripts",
                                        "much text",
                                        "empty mount point",
                                        "empty element of a script",
                                        "noscript asks for JavaScript",
                                        "a script leads elsewhere",
                                        "no text",
                                        "little text",
                                        "few links"};
    bool has_more = false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        Result rc = (signs & 1u << i) != 0 ? verdict_say(out, &has_more, words[i]) : RESULT_OK;
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return has_more ? RESULT_OK : buffer_append_string(out, "text and links");
}
