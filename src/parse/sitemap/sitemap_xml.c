#include "parse/sitemap/sitemap_xml.h"

#include <math.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/core/ascii.h"
#include "base/core/bounds.h"
#include "parse/text/entities.h"

/* Three depths say where the reader is. depth is that of the innermost open element: 0 before the
 * root, whose name decides about the kind of file, and when the root ends the reader stops
 * (is_stopped). entry_depth is that of the open entry, set by begin_entry; an entry ends with its
 * element, with the next entry, or with the file, whichever comes first, since tags are missing in
 * files that people wrote by hand. field_depth is that of the element whose text is collected, set
 * by begin_field; elements within it are passed over, their text is not.
 *
 * An address of which a part is missing is the address of another page. So whatever is wrong within
 * one (a reference that nobody declared, a "<" that begins nothing, the end of the file) refuses
 * the whole entry, and the same elsewhere only says that the file is broken. */

/* The entry at hand is given away, or counted as rejected, and forgotten. */
static void sitemap_entry_emit(SitemapParser *parser);

/* A name without its prefix. */
static HtmlSlice sitemap_local_name(HtmlSlice name)
{
    const char *colon = memrchr(name.bytes, ':', name.length);
    size_t n = colon == NULL ? 0 : (size_t)(colon + 1 - name.bytes);
    return (HtmlSlice){.bytes = name.bytes + n, .length = name.length - n};
}

/* "rdf" is RSS 1.0. Names are compared without regard to case, as files are written by hand. */
static SitemapKind kind_of_root(HtmlSlice name)
{
    static const struct {
        const char *name;
        SitemapKind kind;
    } roots[] = {{"urlset", SITEMAP_URLSET},
                 {"sitemapindex", SITEMAP_INDEX},
                 {"rss", SITEMAP_RSS},
                 {"rdf", SITEMAP_RSS},
                 {"feed", SITEMAP_ATOM}};
    HtmlSlice local = sitemap_local_name(name);
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        if (ascii_is(local.bytes, local.length, roots[i].name)) {
            return roots[i].kind;
        }
    }
    return SITEMAP_UNKNOWN;
}

/* Comments, declarations and instructions before the root are passed over. When the bytes end
 * before the root's name does, they do not tell. */
bool sitemap_xml_may_be(const char *bytes, size_t length)
{
    const char *end = bytes + length;
    const char *p = find_byte(bytes, end, '<');
    while (end - p > 2 && (p[1] == '!' || p[1] == '?')) {
        p = skim_starts(p, end, "<!--", 4) ? skim_comment_end(p + 4, end)
                                           : skim_past_bracket(p, end, false);
        p = find_byte(p, end, '<');
    }
    HtmlSlice name = {.bytes = p < end ? p + 1 : end};
    const char *stop = find_class(name.bytes, end, SCAN_SPACE | SCAN_TAG_NAME_END);
    name.length = (size_t)(stop - name.bytes);
    return stop == end || kind_of_root(name) != SITEMAP_UNKNOWN;
}

typedef struct FieldName {
    SitemapKind kind;
    const char *name;
    SitemapField field; /* FIELD_NONE: the entry itself */
} FieldName;

static const FieldName field_names[] = {
    {SITEMAP_URLSET, "url", FIELD_NONE},
    {SITEMAP_URLSET, "loc", FIELD_LOC},
    {SITEMAP_URLSET, "lastmod", FIELD_LASTMOD},
    {SITEMAP_URLSET, "changefreq", FIELD_FREQUENCY},
    {SITEMAP_URLSET, "priority", FIELD_PRIORITY},
    {SITEMAP_INDEX, "sitemap", FIELD_NONE},
    {SITEMAP_INDEX, "loc", FIELD_LOC},
    {SITEMAP_INDEX, "lastmod", FIELD_LASTMOD},
    {SITEMAP_RSS, "item", FIELD_NONE},
    {SITEMAP_RSS, "link", FIELD_LOC},
    {SITEMAP_RSS, "pubDate", FIELD_LASTMOD},
    {SITEMAP_RSS, "guid", FIELD_GUID},
    {SITEMAP_ATOM, "entry", FIELD_NONE},
    {SITEMAP_ATOM, "updated", FIELD_LASTMOD},
    {SITEMAP_ATOM, "modified", FIELD_LASTMOD},
};

/* What a name stands for in a file of this kind; NULL: for nothing. */
static const FieldName *field_of(SitemapKind kind, HtmlSlice name)
{
    for (size_t i = 0; i < sizeof field_names / sizeof *field_names; i++) {
        if (field_names[i].kind == kind && ascii_is(name.bytes, name.length, field_names[i].name)) {
            return &field_names[i];
        }
    }
    return NULL;
}

/* An entry's own elements have its prefix or none; image:loc and its like have another. */
static bool sitemap_xml_is_own(const SitemapParser *parser, HtmlSlice prefix)
{
    const Buffer *own = &parser->prefix;
    return prefix.length == 0 ||
           (prefix.length == own->length && memcmp(prefix.bytes, own->data, own->length) == 0);
}

/* ---- text ---- */

/* Something is wrong with the text at hand: half an address is another address. */
static void sitemap_xml_damage(SitemapParser *parser, bool is_in_address)
{
    parser->report->is_broken = true;
    parser->is_refused |= is_in_address;
}

static bool is_address(SitemapField field)
{
    return field == FIELD_LOC || field == FIELD_GUID;
}

/* At an "&"; returns where the text goes on. Three cases: it is no reference ("a & b", "?x=1&y"),
 * and stands for itself; it is one of XML's five or a number; it is another, and the text cannot be
 * known. ++stop goes behind the semicolon. */
static const char *take_reference(SitemapParser *parser, SitemapField field, const char *amp,
                                  const char *end)
{
    static const char *const names[] = {"amp", "lt", "gt", "quot", "apos"};
    const char *name = amp + 1;
    bool is_known = name < end && *name == '#';
    name += is_known ? 1 : 0;
    const char *stop = name;
    while (stop < end && (ascii_is_letter(*stop) || ascii_is_digit(*stop))) {
        stop++;
    }
    if (stop == name || stop == end || *stop != ';') {
        sitemap_field_append(parser, field, amp, 1);
        return amp + 1;
    }
    size_t length = (size_t)(++stop - amp);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);
        is_known = is_known || (n == length - 2 && memcmp(name, names[i], n) == 0);
    }
    char value[ENTITY_MAX_BYTES];
    size_t n = 0;
    if (is_known && entity_read(amp, length, false, value, &n) == length) {
        sitemap_field_append(parser, field, value, n);
    } else {
        sitemap_xml_damage(parser, is_address(field) || field == FIELD_NONE); /* or a base */
    }
    return stop;
}

/* Appends text to a field, its references undone. */
static void sitemap_xml_append(SitemapParser *parser, SitemapField field, const char *p,
                               const char *end)
{
    while (p < end) {
        const char *amp = find_byte(p, end, '&');
        sitemap_field_append(parser, field, p, (size_t)(amp - p));
        p = amp < end ? take_reference(parser, field, amp, end) : end;
    }
}

/* A text that begins with "<", and is none of CDATA, is that alone: it begins no tag. At the end of
 * the file it may be the first byte of one, which says nothing of the text before it. */
static void sitemap_xml_text(void *context, const char *from, const char *to, bool decode)
{
    SitemapParser *parser = context;
    if (from == to || parser->is_stopped || parser->is_half_tag) {
        return;
    }
    if (decode && *from == '<') {
        parser->is_half_tag = parser->is_finishing;
        if (!parser->is_finishing) {
            sitemap_xml_damage(parser, is_address(parser->field));
        }
    } else if (parser->field != FIELD_NONE && decode) {
        sitemap_xml_append(parser, parser->field, from, to);
    } else if (parser->field != FIELD_NONE) {
        sitemap_field_append(parser, parser->field, from, (size_t)(to - from));
    }
}

/* ---- attributes ---- */

static bool find_attribute(const SitemapParser *parser, const char *name, HtmlSlice *value)
{
    const SkimStream *markup = &parser->markup;
    return skim_value(markup->tag.attributes, skim_stream_end_of_window(markup), name, value);
}

static bool has_value(const SitemapParser *parser, const char *name, const char *value)
{
    HtmlSlice found;
    return find_attribute(parser, name, &found) && ascii_is(found.bytes, found.length, value);
}

/* xml:base of an element, or that of the element around it. What lies within begins with the base
 * of what is around it: an entry without xml:base has that of its feed, a link that of its
 * entry. */
static void take_base(SitemapParser *parser, size_t element)
{
    const Url *outer = element == 0 ? &parser->base : parser->based[element - 1];
    Buffer *text = &parser->fields[FIELD_NONE];
    HtmlSlice value;
    parser->based[element] = outer;
    if (find_attribute(parser, "xml:base", &value)) {
        buffer_reset(text);
        sitemap_xml_append(parser, FIELD_NONE, value.bytes, value.bytes + value.length);
        if (url_parse(&parser->bases[element], outer, buffer_string(text), text->length) ==
            RESULT_OK) {
            parser->based[element] = &parser->bases[element];
        }
    }
    if (element + 1 < SITEMAP_BASES) {
        parser->based[element + 1] = parser->based[element];
        parser->based[SITEMAP_BASE_LINK] = parser->based[element];
    }
}

/* <link href>: the first that is the entry itself, not its editor or its enclosure. */
static void take_atom_link(SitemapParser *parser)
{
    HtmlSlice href;
    HtmlSlice rel;
    bool is_alternate =
        !find_attribute(parser, "rel", &rel) || ascii_is(rel.bytes, rel.length, "alternate");
    if (!parser->has_link && is_alternate && find_attribute(parser, "href", &href) &&
        href.length > 0) {
        take_base(parser, SITEMAP_BASE_LINK);
        sitemap_xml_append(parser, FIELD_LOC, href.bytes, href.bytes + href.length);
        parser->has_link = true;
    }
}

/* ---- tags ---- */

static void begin_field(SitemapParser *parser, SitemapField field)
{
    /* In a sitemap a second <loc> is the next entry, whose own tags are missing. */
    if (field == FIELD_LOC && parser->has_link) {
        if (parser->report->kind == SITEMAP_RSS) {
            return; /* the first one counts */
        }
        sitemap_entry_emit(parser); /* tags between two entries are missing */
        parser->has_link = false;
    }
    /* RSS: then it is a name and no address. */
    if (field == FIELD_GUID && has_value(parser, "isPermaLink", "false")) {
        return;
    }
    buffer_reset(&parser->fields[field]);
    parser->is_overlong[field] = false;
    parser->field = field;
    /* Its text is collected until an end tag comes at this depth or above. */
    parser->field_depth = parser->depth;
}

static void begin_entry(SitemapParser *parser, HtmlSlice prefix)
{
    if (parser->entry_depth > 0) {
        sitemap_entry_emit(parser); /* the one before was not closed */
    }
    sitemap_entry_reset(parser);
    buffer_reset(&parser->prefix);
    (void)buffer_append(&parser->prefix, prefix.bytes, prefix.length);
    parser->has_link = false;
    parser->entry_depth = parser->depth;
    take_base(parser, SITEMAP_BASE_ENTRY);
}

/* What an element is depends on where it stands:
 *
 *   the outermost one                 the root: it names the kind, and stops the reader if unknown
 *   within a field                    nothing: <loc><b>...</b></loc>
 *   an entry's name, none open        begins one, at any depth: <channel> of RSS is passed through
 *   the child of an open entry        a field, a link of Atom, or an entry whose end tag is missing
 *   anything else                     nothing: image:image and its children */
static void begin_element(SitemapParser *parser, HtmlSlice name)
{
    SitemapKind kind = parser->report->kind;
    if (parser->depth++ == 0) {
        parser->report->kind = kind_of_root(name);
        parser->is_stopped = parser->report->kind == SITEMAP_UNKNOWN;
        take_base(parser, SITEMAP_BASE_FEED);
        return;
    }
    if (parser->field != FIELD_NONE) {
        return;
    }
    HtmlSlice local = sitemap_local_name(name);
    HtmlSlice prefix = {.bytes = name.bytes};
    prefix.length = local.bytes > name.bytes ? (size_t)(local.bytes - name.bytes) - 1 : 0;
    bool is_child = parser->entry_depth > 0 && parser->depth == parser->entry_depth + 1 &&
                    sitemap_xml_is_own(parser, prefix);
    const FieldName *known = field_of(kind, local);
    if (known != NULL && known->field == FIELD_NONE) {
        if (parser->entry_depth == 0 || is_child) {
            begin_entry(parser, prefix);
        }
    } else if (is_child && known != NULL) {
        begin_field(parser, known->field);
    } else if (is_child && kind == SITEMAP_ATOM && ascii_is(local.bytes, local.length, "link")) {
        take_atom_link(parser);
    }
}

/* Depths alone decide, so an end tag of another name than the one that it should repeat ends the
 * innermost element; that only says that the file is broken. An end tag without an element is
 * nothing. */
static void sitemap_xml_end_tag(void *context, HtmlTagId id, uint64_t key)
{
    SitemapParser *parser = context;
    (void)id;
    if (parser->is_stopped || parser->depth == 0) {
        return;
    }
    if (parser->field != FIELD_NONE && parser->depth <= parser->field_depth) {
        parser->has_link |= parser->field == FIELD_LOC && parser->fields[FIELD_LOC].length > 0;
        parser->field = FIELD_NONE;
    }
    if (parser->entry_depth > 0 && parser->depth <= parser->entry_depth) {
        sitemap_entry_emit(parser);
        parser->entry_depth = 0;
    }
    parser->depth--;
    parser->is_stopped |= parser->depth == 0;
    parser->report->is_broken |=
        parser->depth < SITEMAP_OPEN_NAMES && parser->open[parser->depth] != key;
}

static HtmlTextMode sitemap_xml_start_tag(void *context, const HtmlTag *tag)
{
    SitemapParser *parser = context;
    if (!parser->is_stopped) {
        if (parser->depth < SITEMAP_OPEN_NAMES) {
            parser->open[parser->depth] = tag->key;
        }
        begin_element(parser, parser->markup.tag_name);
        if (tag->self_closing) {
            sitemap_xml_end_tag(parser, tag->id, tag->key);
        }
    }
    return HTML_TEXT_DATA;
}

static uint32_t sitemap_xml_wanted(void *context, HtmlTagId id)
{
    (void)context;
    (void)id;
    return 0; /* names that HTML does not have are looked for as well */
}

static bool sitemap_xml_has_cdata(void *context)
{
    (void)context;
    return true;
}

const SkimReader *sitemap_xml_reader(void)
{
    static const SkimReader reader = {.wanted = sitemap_xml_wanted,
                                      .start = sitemap_xml_start_tag,
                                      .end = sitemap_xml_end_tag,
                                      .text = sitemap_xml_text,
                                      .has_cdata = sitemap_xml_has_cdata};
    return &reader;
}

void sitemap_xml_begin(SitemapParser *parser)
{
    parser->is_xml = true;
    parser->depth = 0;
    parser->entry_depth = 0;
    parser->field = FIELD_NONE;
    parser->has_link = false;
    parser->is_finishing = false;
    parser->is_half_tag = false;
    skim_stream_begin(&parser->markup, 0, true);
}

void sitemap_xml_end(SitemapParser *parser)
{
    parser->is_finishing = true;
    /* is_finishing is set before, since the end gives the last text to sitemap_xml_text. */
    bool is_in_tag = skim_stream_end(&parser->markup);
    if (parser->is_stopped) {
        return;
    }
    /* The text that was being collected may lack its end. In a tag that is cut it is whole: the
     * text ended where the tag began. */
    if (parser->field != FIELD_NONE && !is_in_tag) {
        parser->is_refused |= parser->field == FIELD_LOC;
        buffer_reset(&parser->fields[parser->field]);
    }
    if (parser->entry_depth > 0) {
        sitemap_entry_emit(parser);
    }
    /* A file that is whole has stopped the reader with the end of its root. */
    parser->report->is_broken = true;
}

/* ---- dates ---- */

#define DATE_BYTES 40

/* "10:00", "10:00:00", "10:00:00.5" and a zone, behind a date. */
static bool read_time(const char *text, struct tm *parts, int64_t *zone_s)
{
    struct tm zone = {.tm_gmtoff = 0};
    const char *p = strptime(text, "%H:%M", parts);
    if (p != NULL && *p == ':') {
        p = strptime(p + 1, "%S", parts);
    }
    if (p == NULL) {
        return false;
    }
    if (*p == '.' || *p == ',') {
        p += 1 + strspn(p + 1, "0123456789");
    }
    p += *p == ' ' ? 1 : 0;
    bool has_zone = *p == '+' || *p == '-';
    if (has_zone && strptime(p, "%z", &zone) == NULL) {
        return false;
    }
    *zone_s = zone.tm_gmtoff;
    return true;
}

/* text is NUL-terminated. Formats from the most precise one on; a time counts behind a whole day
 * only. The year 1000 is a bound for years that were written with two digits. What stands behind a
 * day and is no time is passed over. */
static bool read_w3c(const char *text, int64_t *unix_s)
{
    static const char *const formats[] = {"%Y-%m-%d", "%Y-%m", "%Y"};
    struct tm parts;
    const char *end = NULL;
    for (size_t i = 0; i < sizeof formats / sizeof *formats && end == NULL; i++) {
        parts = (struct tm){.tm_mday = 1};
        end = strptime(text, formats[i], &parts);
    }
    bool is_day = end != NULL && end - text >= 8;
    int64_t zone_s = 0;
    if (end == NULL || parts.tm_year < 1000 - 1900 || (*end != '\0' && !is_day) ||
        (*end != '\0' && strchr("Tt ", *end) != NULL && !read_time(end + 1, &parts, &zone_s))) {
        return false;
    }
    *unix_s = (int64_t)timegm(&parts) - zone_s;
    return true;
}

bool sitemap_date(const char *text, size_t length, int64_t *unix_s)
{
    char copy[DATE_BYTES] = "";
    memcpy(copy, text, length < sizeof copy - 1 ? length : sizeof copy - 1);
    return read_w3c(copy, unix_s) || http_header_date(text, length, unix_s);
}

/* ---- One entry of a sitemap or feed while its fields are collected, and what becomes of it */

#define DAY_S INT64_C(86400)

static const char *const frequency_names[] = {"",       "always",  "hourly", "daily",
                                              "weekly", "monthly", "yearly", "never"};

const char *sitemap_frequency_name(SitemapFrequency frequency)
{
    return frequency_names[frequency];
}

void sitemap_entry_reset(SitemapParser *parser)
{
    for (size_t i = 0; i < sizeof parser->fields / sizeof *parser->fields; i++) {
        buffer_reset(&parser->fields[i]);
        parser->is_overlong[i] = false;
    }
    parser->is_refused = false;
}

void sitemap_field_append(SitemapParser *parser, SitemapField field, const char *bytes,
                          size_t length)
{
    Buffer *buffer = &parser->fields[field];
    /* Leading white space takes no room, or a field could be overlong for its indentation. */
    if (buffer->length == 0) {
        while (length > 0 && ascii_is_xml_space(*bytes)) {
            bytes++;
            length--;
        }
    }
    Result rc = buffer_append(buffer, bytes, length);
    /* A field that is too long is unknown, not shorter: half an address is another one. */
    parser->is_overlong[field] |= rc == RESULT_LIMIT;
    parser->result = rc == RESULT_MEMORY ? RESULT_MEMORY : parser->result;
}

/* White space of Unicode in UTF-8, with the byte order mark that once was some. */
static const char white_space[][4] = {
    "\t",           "\n",           "\v",           "\f",           "\r",           " ",
    "\x1C",         "\x1D",         "\x1E",         "\x1F",         "\xC2\x85",     "\xC2\xA0",
    "\xE1\x9A\x80", "\xE2\x80\x80", "\xE2\x80\x81", "\xE2\x80\x82", "\xE2\x80\x83", "\xE2\x80\x84",
    "\xE2\x80\x85", "\xE2\x80\x86", "\xE2\x80\x87", "\xE2\x80\x88", "\xE2\x80\x89", "\xE2\x80\x8A",
    "\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80", "\xEF\xBB\xBF",
};

/* Bytes of the white space at the end (or the start) of text; 0 when there is none. */
static size_t white_space_of(const char *text, size_t length, bool at_end)
{
    for (size_t i = 0; i < sizeof white_space / sizeof *white_space; i++) {
        size_t n = strlen(white_space[i]);
        if (n <= length && memcmp(at_end ? text + length - n : text, white_space[i], n) == 0) {
            return n;
        }
    }
    return 0;
}

/* What readers in Java and Python strip, too. */
static void sitemap_entry_trim(Buffer *buffer)
{
    if (buffer->length == 0) {
        return; /* it may have no memory yet */
    }
    size_t n = 0;
    while ((n = white_space_of(buffer->data, buffer->length, true)) > 0) {
        buffer->length -= n;
        buffer->data[buffer->length] = '\0';
    }
    size_t start = 0;
    while ((n = white_space_of(buffer->data + start, buffer->length - start, false)) > 0) {
        start += n;
    }
    if (start > 0) {
        buffer->length -= start;
        memmove(buffer->data, buffer->data + start, buffer->length + 1);
    }
}

/* Other schemes are rejected here, before the parser of URLs is asked. */
static bool is_absolute(const char *loc, size_t length)
{
    return (length > 7 && strncasecmp(loc, "http://", 7) == 0) ||
           (length > 8 && strncasecmp(loc, "https://", 8) == 0);
}

static SitemapFrequency frequency_of(const Buffer *field)
{
    for (size_t i = 1; i < sizeof frequency_names / sizeof *frequency_names; i++) {
        if (strcasecmp(buffer_string(field), frequency_names[i]) == 0) {
            return (SitemapFrequency)i;
        }
    }
    return SITEMAP_FREQUENCY_NONE;
}

/* By hand, since strtod takes the decimal point of the locale, "inf" and hexadecimal digits. A
 * comma counts as a point. -1: none. */
static double priority_of(const Buffer *field)
{
    const char *p = buffer_string(field);
    double value = 0.0;
    double unit = 1.0;
    bool any = false;
    for (; *p >= '0' && *p <= '9'; p++) {
        value = value * 10.0 + (*p - '0');
        any = true;
    }
    if (*p == '.' || *p == ',') {
        for (p++; *p >= '0' && *p <= '9'; p++) {
            unit /= 10.0;
            value += unit * (*p - '0');
            any = true;
        }
    }
    if (!any || *p != '\0') {
        return -1.0;
    }
    return value > 1.0 ? 1.0 : value;
}

uint32_t sitemap_frequency_s(SitemapFrequency frequency)
{
    static const uint32_t hours[] = {
        [SITEMAP_ALWAYS] = 1,       [SITEMAP_HOURLY] = 1,        [SITEMAP_DAILY] = 24,
        [SITEMAP_WEEKLY] = 7 * 24,  [SITEMAP_MONTHLY] = 30 * 24, [SITEMAP_YEARLY] = 365 * 24,
        [SITEMAP_NEVER] = 3650 * 24};
    return 3600 * hours[frequency];
}

/* Hints shift the score by a factor of two at most, up or down: whoever writes a sitemap may order
 * his own pages, and not push all of them before those of others. A date of the future is no
 * hint. */
double sitemap_hint_factor(const SitemapEntry *entry, int64_t now_s)
{
    static const double of_frequency[] = {[SITEMAP_ALWAYS] = 0.25,
                                          [SITEMAP_HOURLY] = 0.25,
                                          [SITEMAP_DAILY] = 0.125,
                                          [SITEMAP_YEARLY] = -0.125,
                                          [SITEMAP_NEVER] = -0.25};
    /* Logarithms to base 2, so that hints add up. */
    double shift = of_frequency[entry->changefreq];
    if (entry->priority >= 0.0) {
        shift += 2.0 * (entry->priority - 0.5);
    }
    if (entry->lastmod_s != SITEMAP_NO_DATE && entry->lastmod_s <= now_s + DAY_S) {
        bool is_recent = entry->lastmod_s >= now_s - 7 * DAY_S;
        bool is_old = entry->lastmod_s < now_s - 365 * DAY_S;
        shift += 0.25 * (is_recent - is_old);
    }
    return exp2(bounds_double(shift, -1.0, 1.0));
}

static void sitemap_entry_give(SitemapParser *parser, const Buffer *loc)
{
    SitemapReport *report = parser->report;
    const Buffer *lastmod = &parser->fields[FIELD_LASTMOD];
    SitemapEntry entry = {
        .url = &parser->url,
        .loc = buffer_string(loc),
        .loc_length = loc->length,
        .is_sitemap = report->kind == SITEMAP_INDEX,
        .lastmod_s = SITEMAP_NO_DATE,
        .lastmod = parser->is_overlong[FIELD_LASTMOD] ? "" : buffer_string(lastmod),
        .changefreq = frequency_of(&parser->fields[FIELD_FREQUENCY]),
        .priority = priority_of(&parser->fields[FIELD_PRIORITY]),
    };
    /* A date that cannot be read is none; the text stays for who wants to show it. */
    if (!sitemap_date(entry.lastmod, strlen(entry.lastmod), &entry.lastmod_s)) {
        entry.lastmod_s = SITEMAP_NO_DATE;
    }
    report->n_entries++;
    if (!parser->sink(parser->context, &entry)) {
        parser->is_stopped = true;
    }
}

static void sitemap_entry_emit(SitemapParser *parser)
{
    SitemapReport *report = parser->report;
    bool is_feed = report->kind == SITEMAP_RSS || report->kind == SITEMAP_ATOM;
    for (size_t i = 0; i < sizeof parser->fields / sizeof *parser->fields; i++) {
        sitemap_entry_trim(&parser->fields[i]);
    }
    /* The guid counts only when there is no link at all; a link that is too long is a broken
     * address, not a missing one. */
    SitemapField field = FIELD_LOC;
    if (parser->fields[FIELD_LOC].length == 0 && !parser->is_overlong[FIELD_LOC]) {
        field = FIELD_GUID;
    }
    const Buffer *loc = &parser->fields[field];
    bool is_empty = loc->length == 0;
    if (!parser->is_stopped && (!is_empty || parser->is_refused || parser->is_overlong[field])) {
        /* Addresses of sitemaps are absolute (sitemaps.org); feeds have a base. */
        bool is_valid = !is_empty && !parser->is_refused && !parser->is_overlong[field] &&
                        loc->length <= parser->options.max_url_bytes &&
                        ((is_feed && field == FIELD_LOC) || is_absolute(loc->data, loc->length));
        Result rc = RESULT_INVALID;
        if (is_valid) {
            rc = url_parse(&parser->url, is_feed ? parser->based[SITEMAP_BASE_LINK] : NULL,
                           loc->data, loc->length);
            parser->result = rc == RESULT_MEMORY ? RESULT_MEMORY : parser->result;
        }
        if (rc != RESULT_OK) {
            report->n_rejected++;
        } else if (report->n_entries >= parser->options.max_entries) {
            parser->result = RESULT_LIMIT;
            parser->is_stopped = true;
        } else {
            sitemap_entry_give(parser, loc);
        }
    }
    sitemap_entry_reset(parser);
}

/* A file of lines is a sitemap once a line is an address; what else stands in it counts as
 * rejected. */
void sitemap_entry_end_line(SitemapParser *parser)
{
    Buffer *line = &parser->fields[FIELD_LOC];
    sitemap_entry_trim(line);
    if (parser->is_overlong[FIELD_LOC] || is_absolute(buffer_string(line), line->length)) {
        parser->report->kind = SITEMAP_TEXT;
        sitemap_entry_emit(parser);
    } else {
        parser->report->n_rejected += line->length > 0 ? 1 : 0;
    }
    sitemap_entry_reset(parser);
}
