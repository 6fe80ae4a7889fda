#include "command/check/check.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "crawl/command_line.h"
#include "crawl/exit_status.h"
#include "crawl/input_file.h"
#include "render/archive_source.h"
#include "render/desk/render_desk.h"

#define CHECK_RENDER_MEMORY ((size_t)256 << 20) /* of answers that are kept */

typedef struct CheckRender {
    const char *place; /* a file, or a crawl's directory */
    bool document;     /* print that alone */
    Config config;
    Url url;
    ArchiveSource *source;
    Renderer *renderer;
    Rendered rendered;
    int64_t fetched_ms;
} CheckRender;

/* A file is the page itself; whatever else it asks for is lacking. */
static int check_render_put_file(CheckRender *check)
{
    static const char header[] = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
    Buffer body;
    int status = input_file_read(check->place, &body);
    if (status != 0) {
        return status;
    }
    RenderAnswer answer = {.status = 200,
                           .header = header,
                           .header_length = sizeof header - 1,
                           .body = buffer_string(&body),
                           .length = body.length};
    Result rc = archive_source_put(check->source, check->url.href, &answer);
    buffer_destroy(&body);
    check->fetched_ms = wall_now().us / 1000;
    return rc == RESULT_OK ? 0 : 1;
}

static int check_render_open(CheckRender *check, const char *url)
{
    struct stat about;
    Buffer folder = {.limit = 8192};
    WallTime date = {0};
    ArchiveVisit newest = {.status = 0};
    WarcId id;
    if (url_parse(&check->url, NULL, url, strlen(url)) != RESULT_OK) {
        (void)fprintf(stderr, "ragno check render: %s: no http URL\n", url);
        return 2;
    }
    if (stat(check->place, &about) != 0) {
        (void)fprintf(stderr, "ragno check render: %s: cannot be read\n", check->place);
        return 3;
    }
    bool is_crawl = S_ISDIR(about.st_mode);
    Result rc = buffer_printf(&folder, is_crawl ? "%s/warc" : "%s", check->place);
    if (rc == RESULT_OK) {
        rc = archive_source_new(&check->source, folder.data, CHECK_RENDER_MEMORY);
    }
    buffer_destroy(&folder);
    if (rc != RESULT_OK) {
        return 1;
    }
    if (!is_crawl) {
        return check_render_put_file(check);
    }
    if (archive_source_date(check->source, check->url.href, newest, &date, &id) != RESULT_OK) {
        (void)fprintf(stderr, "ragno check render: %s: not in the archive of %s\n", check->url.href,
                      check->place);
        return 1;
    }
    check->fetched_ms = date.us / 1000;
    return 0;
}

static int check_render_run(CheckRender *check)
{
    const Config *config = &check->config;
    RendererOptions options = render_desk_browsers(config);
    RenderPage page = {.url = check->url.href, .fetched_ms = check->fetched_ms};
    RenderSource source = {.ask = archive_source_ask, .context = check->source};
    Buffer why = {.limit = 4096};
    Result rc = browser_look(&options.browser, &why);
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno check render: %s\n", buffer_string(&why));
    }
    buffer_destroy(&why);
    rendered_init(&check->rendered, options.bounds.most_document);
    if (rc != RESULT_OK) {
        return 4;
    }
    rc = renderer_new(&check->renderer, &options, NULL);
    if (rc == RESULT_OK) {
        rc = renderer_render(check->renderer, &page, &source, false, &check->rendered);
    }
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno check render: no browser: %s\n", result_name(rc));
        return 4;
    }
    return check->rendered.has_document ? 0 : 1;
}

/* Each line of a list behind its name and a tab. */
static void check_render_list(const char *name, const Buffer *list)
{
    for (const char *line = buffer_string(list); *line != '\0';) {
        size_t length = strcspn(line, "\n");
        (void)printf("%s\t%.*s\n", name, (int)length, line);
        line += length + (line[length] == '\n');
    }
}

static void check_render_links(const CheckRender *check)
{
    HtmlParser *parser = NULL;
    Page page;
    HtmlOptions options = {.no_digests = true};
    HtmlInput input = {.body = buffer_string(&check->rendered.document),
                       .length = check->rendered.document.length,
                       .content_type = "text/html; charset=utf-8",
                       .url = check->url.href,
                       .url_length = check->url.length};
    if (html_parser_new(&parser, &options) == RESULT_OK &&
        html_parse(parser, &input, &page) == RESULT_OK) {
        for (size_t i = 0; i < page.n_links; i++) {
            (void)printf("link\t%s\t%s\n", link_kind_name((LinkKind)page.links[i].kind),
                         page.links[i].url);
        }
    }
    html_parser_delete(parser);
}

static void check_render_print(const CheckRender *check)
{
    const Rendered *rendered = &check->rendered;
    if (check->document) {
        (void)fwrite(buffer_string(&rendered->document), 1, rendered->document.length, stdout);
        return;
    }
    (void)printf("browser\t%s\n", renderer_product(check->renderer));
    (void)printf("end\t%s\n", render_end_name(rendered->end));
    (void)printf("requests\t%u\n", rendered->n_requests);
    (void)printf("frames\t%u\n", rendered->n_frames);
    if (renderer_is_cut_off(check->renderer)) {
        (void)printf("namespace\tits own\n");
    }
    if (rendered->is_cut) {
        (void)printf("cut\tyes\n");
    }
    if (archive_source_near(check->source) > 0) {
        (void)printf("near\t%" PRIu64 "\n", archive_source_near(check->source));
    }
    if (archive_source_damaged(check->source) > 0) {
        (void)printf("damaged\t%" PRIu64 "\n", archive_source_damaged(check->source));
    }
    check_render_list("lacking", &rendered->lacking);
    check_render_list("refused", &rendered->refused);
    check_render_list("onward", &rendered->onward);
    if (rendered->has_document) {
        check_render_links(check);
        VisibleReader *reader = NULL;
        VisiblePage page;
        VisibleOptions options = {.memory_bytes = 0};
        VisibleInput input = {.body = buffer_string(&check->rendered.document),
                              .length = check->rendered.document.length,
                              .content_type = "text/html; charset=utf-8",
                              .url = check->url.href,
                              .url_length = check->url.length};
        if (visible_reader_new(&reader, &options) == RESULT_OK &&
            visible_read(reader, &input, &page) == RESULT_OK) {
            (void)printf("\n%.*s\n", (int)page.length, page.text);
        }
        visible_reader_delete(reader);
    }
}

/* Renders one page offline, and prints what came of it: facts and links, a line each; an empty
 * line; the text. */
int check_render(const char *usage, int argc, char **argv)
{
    CheckRender check = {.place = NULL};
    CheckOptions options = {.file = NULL};
    const CommandOption rows[] = {CHECK_OPTIONS_ROWS(&options),
                                  {"document", 0, COMMAND_FLAG, .to = &check.document}};
    CommandLine line = {"check render", usage, COMMAND_ROWS(rows), .words_least = 2,
                        .words_most = 2};
    int status = command_line_take(&line, argc, argv);
    if (status != 0) {
        return status == COMMAND_HELPED ? 0 : status;
    }
    check.place = line.words[0];
    (void)signal(SIGPIPE, SIG_IGN); /* a browser may end while it is written to */
    status = check_options_load(&options, &check.config);
    if (status == 0) {
        status = check_render_open(&check, line.words[1]);
    }
    if (status == 0) {
        status = check_render_run(&check);
        if (status != 4) {
            check_render_print(&check);
        }
        rendered_destroy(&check.rendered);
    }
    renderer_delete(check.renderer);
    archive_source_delete(check.source);
    url_destroy(&check.url);
    config_destroy(&check.config);
    return status;
}
