#include "crawl/web/web.h"

#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <strings.h>

#include "base/core/ascii.h"
#include "base/memory/embed.h"
#include "base/memory/json_writer.h"
#include "crawl/web/web_metrics.h"
#include "crawl/web/web_look.h"
#include "logs/log_text.h"
#include "rules/listen_address.h"

/* Web socket: the socket that the status page listens at.
 *
 * What: TCP on a loopback address, or a Unix socket that its user and group may connect to; a
 * Unix socket that nobody listens at any more is replaced.
 * Owns: nothing; the descriptor is the caller's.
 * Threads: main.
 * Errors: error gets one sentence. */

#define BACKLOG   64
#define UNIX_MODE 0660

/* Removes a socket that nobody listens at: a crawl that was killed leaves one, and bind would fail.
 * Only a refused connection proves it; any other answer, and anything that is no socket, stays. */
static void remove_stale(const ListenAddress *address, const struct sockaddr_storage *name,
                         socklen_t length)
{
    struct stat st;
    if (lstat(address->path, &st) != 0 || !S_ISSOCK(st.st_mode)) {
        return;
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)name, length) != 0 &&
        errno == ECONNREFUSED) {
        (void)unlink(address->path);
    }
    file_close_fd(fd);
}

/* Asked of the socket, because with port 0 the system has chosen one. */
static Result tell_name(const ListenAddress *address, int fd, Buffer *name)
{
    struct sockaddr_storage bound = {.ss_family = AF_UNSPEC};
    socklen_t length = sizeof bound;
    char ip[IP_ADDRESS_TEXT_BYTES];
    if (address->is_unix) {
        return buffer_printf(name, "unix:%s", address->path);
    }
    if (getsockname(fd, (struct sockaddr *)&bound, &length) != 0) {
        return result_of_errno(errno);
    }
    struct sockaddr_in any; /* both families have the port in the same place */
    memcpy(&any, &bound, sizeof any);
    (void)ip_address_format(&address->ip, ip);
    return buffer_printf(name, address->ip.v6 ? "http://[%s]:%u/" : "http://%s:%u/", ip,
                         ntohs(any.sin_port));
}

/* The name is what a browser or proxy is given: "http://127.0.0.1:8088/", "unix:/run/page.sock". */
static Result web_socket_open(const ListenAddress *address, int *out, Buffer *name, Buffer *error)
{
    struct sockaddr_storage to;
    socklen_t length = listen_address_socket(address, &to);
    /* SO_REUSEADDR: connections of the crawl before may still be in TIME_WAIT at this port. */
    int on = 1;
    int fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && address->is_unix) {
        remove_stale(address, &to, length);
    } else if (fd >= 0) {
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    }
    /* The mode is set between bind and listen: nobody can connect before listen, so the socket is
     * never open to others than it should be, whatever the umask. */
    if (fd < 0 || bind(fd, (const struct sockaddr *)&to, length) != 0 ||
        (address->is_unix && chmod(address->path, UNIX_MODE) != 0) || listen(fd, BACKLOG) != 0) {
        int code = errno;
        (void)buffer_printf(error, "%s", strerror(code));
        file_close_fd(fd);
        return result_of_errno(code);
    }
    *out = fd;
    return tell_name(address, fd, name);
}

/* Removes the file of a Unix socket. */
static void web_socket_remove(const ListenAddress *address)
{
    if (address->is_unix) {
        (void)unlink(address->path);
    }
}

/* ---- Web files ---- */

EMBED(web_file_page, "src/crawl/web/files/page.html");
EMBED(web_file_style, "src/crawl/web/files/page.css");
EMBED(web_file_script, "src/crawl/web/files/page.js");

static const WebFile files[] = {
    {"/", "text/html; charset=utf-8", web_file_page, web_file_page_end},
    {"/page.css", "text/css; charset=utf-8", web_file_style, web_file_style_end},
    {"/page.js", "text/javascript; charset=utf-8", web_file_script, web_file_script_end}};

const WebFile *web_file_find(const char *path)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (strcmp(files[i].path, path) == 0) {
            return &files[i];
        }
    }
    return NULL;
}

/* ---- Web token ---- */

#define RANDOM_BYTES 32u
#define FILE_BYTES   1024u

/* O_EXCL, so that a file that somebody else has put there meanwhile is not filled with our secret.
 * The mode of 0600 is that of the file's birth; there is no moment in which others may read it. */
static Result web_token_make(const char *path, Buffer *error)
{
    unsigned char bytes[RANDOM_BYTES];
    char text[2 * RANDOM_BYTES + 1];
    static const char digits[] = "0123456789abcdef";
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        (void)buffer_append_string(error, "the system gives no random bytes");
        return RESULT_IO;
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    text[sizeof text - 1] = '\n';
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool done = fd >= 0 && write(fd, text, sizeof text) == (ssize_t)sizeof text;
    int code = errno;
    if (fd >= 0 && close(fd) != 0) {
        done = false;
    }
    if (!done) {
        (void)buffer_printf(error, "%s cannot be written: %s", path, strerror(code));
        return result_of_errno(code);
    }
    return RESULT_OK;
}

static Result web_token_take(int fd, const char *path, Buffer *out, Buffer *error)
{
    char text[FILE_BYTES];
    struct stat st;
    if (fstat(fd, &st) == 0 && (st.st_mode & (S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH)) != 0) {
        (void)buffer_printf(error, "%s can be read by others than its owner; chmod 600 %s", path,
                            path);
        return RESULT_INVALID;
    }
    /* The mode was asked of the open file, not of its name, so it is the file that is read. */
    ssize_t n = read(fd, text, sizeof text - 1);
    if (n < 0) {
        (void)buffer_printf(error, "%s cannot be read: %s", path, strerror(errno));
        return RESULT_IO;
    }
    text[n] = '\0';
    /* The first word counts, so a file that an editor has ended with a line end is as good. */
    size_t length = strcspn(text, " \t\r\n");
    if (length < WEB_TOKEN_LEAST) {
        (void)buffer_printf(error, "the token in %s has %zu bytes, it needs %u at least", path,
                            length, WEB_TOKEN_LEAST);
        return RESULT_INVALID;
    }
    return buffer_append(out, text, length);
}

Result web_token_read(const char *path, Buffer *out, Buffer *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        Result rc = web_token_make(path, error);
        if (rc != RESULT_OK) {
            return rc;
        }
        fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (fd < 0) {
        (void)buffer_printf(error, "%s cannot be read: %s", path, strerror(errno));
        return result_of_errno(errno);
    }
    Result rc = web_token_take(fd, path, out, error);
    (void)close(fd);
    return rc;
}

/* ---- Web ---- */

/* A connection that says nothing for so long is closed: whoever connects and is silent must not
 * take all WEB_CLIENTS places from those who ask. A request that waits for its answer has no such
 * time. */
#define PATIENCE_S 3u
#define MEMORY     ((size_t)32768) /* of a connection: for its request, headers and all */
#define STACK      ((size_t)1 << 20)
#define ROWS       50u
#define TOKEN_NAME "web.token" /* in the crawl's directory */
#define JSON       "application/json"
#define TEXT       "text/plain; charset=utf-8"
#define METRICS    "text/plain; version=0.0.4; charset=utf-8"
#define SECURITY                                                                                   \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/* Threads: main makes and ends it. Meanwhile everything but `look` is libmicrohttpd's: one thread,
 * so that requests are answered one after the other. What takes long goes to look, and the
 * connection rests (ask_look); what the crawl itself answers goes over the control socket, within
 * the request, since the main thread answers at once. */
struct Web {
    char *directory;
    char *names; /* by which it may be asked for, besides localhost */
    bool writes;
    Buffer token; /* empty: nobody may change anything */
    ListenAddress address;
    struct MHD_Daemon *daemon;
    WebLook *look;
    WebCrawl crawl; /* of libmicrohttpd's thread */
};

/* One request, from its first line to the end of its answer.
 *
 *   head: web_take_request() makes it --body's pieces--> end: judged, answered or given to look
 *                                        '--> MHD_NO: no memory, the connection is closed
 *   asked: is_asked, the connection rests --resume()--> web_take_request() again, answered
 *   forget_request(), whatever became of it */
typedef struct Request {
    struct MHD_Connection *connection;
    bool is_asked; /* look has its question */
    bool is_long;  /* its body is longer than WEB_BODY_BYTES */
    Buffer body;   /* what it says */
    WebQuestion question;
} Request;

/* ---- answers ---- */

static enum MHD_Result send_response(Request *request, unsigned status, const char *type,
                                     struct MHD_Response *response)
{
    static const char *const headers[][2] = {{"Cache-Control", "no-store"},
                                             {"Content-Security-Policy", SECURITY},
                                             {"Cross-Origin-Resource-Policy", "same-origin"},
                                             {"Referrer-Policy", "no-referrer"},
                                             {"X-Content-Type-Options", "nosniff"},
                                             {"X-Frame-Options", "DENY"}};
    if (response == NULL) {
        return MHD_NO;
    }
    (void)MHD_add_response_header(response, "Content-Type", type);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        (void)MHD_add_response_header(response, headers[i][0], headers[i][1]);
    }
    /* RFC 9110 asks for these two headers. */
    if (status == 405) {
        (void)MHD_add_response_header(response, "Allow", "GET, HEAD");
    }
    if (status == 401) {
        (void)MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
    }
    enum MHD_Result rc = MHD_queue_response(request->connection, status, response);
    MHD_destroy_response(response);
    return rc;
}

/* Copied, as the caller's buffer ends before the answer has been sent. */
static enum MHD_Result send_text(Request *request, unsigned status, const char *type,
                                 const Buffer *text)
{
    char nothing[1] = "";
    return send_response(request, status, type,
                         MHD_create_response_from_buffer(text->length,
                                                         text->length == 0 ? nothing : text->data,
                                                         MHD_RESPMEM_MUST_COPY));
}

static enum MHD_Result web_say(Request *request, unsigned status, const char *sentence)
{
    Buffer text = {.limit = 4096};
    (void)buffer_printf(&text, "%s\n", sentence);
    enum MHD_Result rc = send_text(request, status, TEXT, &text);
    buffer_destroy(&text);
    return rc;
}

/* ---- what is asked of the crawl ---- */

/* The page for who has no JavaScript: what its tiles show, as a table that is asked for anew.
 * Values need no escaping: status.json has numbers and words of ours. */
static Result web_figures(const char *status, Buffer *out)
{
    static const char *const fields[][2] = {{"state", "State"},
                                            {"limit", "What limits it"},
                                            {"elapsed_s", "Seconds at work"},
                                            {"pages", "Pages"},
                                            {"pages_s", "Pages a second"},
                                            {"bytes", "Bytes received"},
                                            {"bytes_s", "Bytes a second"},
                                            {"urls_seen", "URLs known"},
                                            {"urls_queued", "URLs queued"},
                                            {"hosts", "Hosts"},
                                            {"hosts_waiting", "Hosts that wait for a retry"},
                                            {"active", "Transfers"},
                                            {"err", "Without an answer"},
                                            {"5xx", "Answers 5xx"},
                                            {"throttled", "Answers 429 and 503"},
                                            {"rss_bytes", "Memory, bytes"},
                                            {"db_bytes", "Database, bytes"},
                                            {"disk_free_bytes", "Disk free, bytes"}};
    LogText time = status_json_get(status, "time");
    Result rc = buffer_printf(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"refresh\" content=\"10\">\n<title>ragno</title>\n<table>\n"
        "<caption>ragno, %.*s</caption>\n",
        (int)time.length, time.bytes);
    for (size_t i = 0; rc == RESULT_OK && i < sizeof fields / sizeof *fields; i++) {
        LogText value = status_json_get(status, fields[i][0]);
        rc = buffer_printf(out, "<tr><th scope=\"row\">%s<td>%.*s\n", fields[i][1],
                           (int)value.length, value.bytes);
    }
    if (rc == RESULT_OK) {
        rc = buffer_append_string(out, "</table>\n<p><a href=\"status.json\">status.json</a> "
                                       "<a href=\"hosts.json\">hosts.json</a>\n");
    }
    return rc;
}

/* The status in another form; tell: NULL, as it is. */
static enum MHD_Result send_status(Web *web, Request *request, const char *type,
                                   Result (*tell)(const char *status, Buffer *out))
{
    Buffer json = {.limit = BUFFER_NO_LIMIT};
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    /* Asked of the control socket. If the crawl gives no figures, its sentence is the answer. */
    unsigned status = web_crawl_status(&web->crawl, &json);
    bool shown = status == 200 && tell != NULL;
    if (status == 200 && tell != NULL && tell(buffer_string(&json), &text) != RESULT_OK) {
        status = 500;
    }
    enum MHD_Result rc =
        send_text(request, status, status == 200 ? type : TEXT, shown ? &text : &json);
    buffer_destroy(&json);
    buffer_destroy(&text);
    return rc;
}

/* What page.js has to know: what it may offer, and by which columns hosts can be ordered. */
static enum MHD_Result send_about(Web *web, Request *request)
{
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    JsonWriter json;
    json_init(&json, &text);
    json_open(&json, NULL, '{');
    json_string(&json, "version", RAGNO_VERSION);
    json_string(&json, "directory", web->directory);
    json_bool(&json, "writes", web->writes);
    json_open(&json, "orders", '[');
    for (unsigned i = 0; i < SURVEY_ORDERS; i++) {
        json_string(&json, NULL, survey_order_name((SurveyOrder)i));
    }
    json_close(&json);
    json_close(&json);
    enum MHD_Result rc = send_text(request, json.result == RESULT_OK ? 200 : 500, JSON, &text);
    buffer_destroy(&text);
    return rc;
}

static const char *header_of(const Request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

/* Judged before the body is: who has no token learns nothing of what he has sent. Refusals are
 * logged without their words, which may be a token in the wrong place. */
static enum MHD_Result web_change(Web *web, Request *request)
{
    const char *authorization = header_of(request, "Authorization");
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    if (!web->writes) {
        return web_say(request, 403, "the page is read-only (control.web_write = no)");
    }
    if (authorization == NULL || !web_guard_token(authorization, buffer_string(&web->token))) {
        LOG_WARN("web", "refused, no token or a wrong one", "bytes=%zu", request->body.length);
        return web_say(request, 401,
                       "this needs 'Authorization: Bearer TOKEN' (control.token_file)");
    }
    if (request->is_long) {
        return web_say(request, 413, "the request's body is too long");
    }
    unsigned status =
        web_crawl_do(&web->crawl, buffer_string(&request->body), request->body.length, &text);
    /* As a JSON text, so that nothing in it can look like a line of the log. */
    Buffer words = {.limit = BUFFER_NO_LIMIT};
    (void)json_append_text(&words, buffer_string(&request->body), request->body.length);
    LOG_INFO("web", "asked by the status page", "words=%s status=%u", buffer_string(&words),
             status);
    enum MHD_Result rc = send_text(request, status, TEXT, &text);
    buffer_destroy(&words);
    buffer_destroy(&text);
    return rc;
}

/* ---- what look answers ---- */

static void resume(void *context)
{
    Request *request = context;
    MHD_resume_connection(request->connection);
}

/* The connection rests until look has answered; then libmicrohttpd calls again. It is suspended
 * before look is asked: look may answer at once, and a connection that is resumed before it rests
 * would rest for ever. Until look has answered, the question, a part of the request, belongs to
 * look alone. */
static enum MHD_Result ask_look(Web *web, Request *request, WebQuestionKind kind, const char *text)
{
    WebQuestion *question = &request->question;
    if (request->is_asked) {
        return send_text(request, question->status,
                         kind == WEB_WHY_TEXT || question->status != 200 ? TEXT : JSON,
                         &question->body);
    }
    question->kind = kind;
    question->text = text == NULL ? "" : text;
    question->answered = resume;
    question->context = request;
    request->is_asked = true;
    MHD_suspend_connection(request->connection);
    /* It was not taken, so nobody else resumes the connection; the next call sends the refusal. */
    if (web_look_ask(web->look, question) != RESULT_OK) {
        question->status = 503;
        (void)buffer_append_string(&question->body, "too many questions at once; ask again\n");
        MHD_resume_connection(request->connection);
    }
    return MHD_YES;
}

static const char *argument_of(const Request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

static enum MHD_Result send_hosts(Web *web, Request *request)
{
    const char *order = argument_of(request, "order");
    const char *rows = argument_of(request, "rows");
    char *end = NULL;
    unsigned long n = rows == NULL ? ROWS : strtoul(rows, &end, 10);
    request->question.order = order == NULL ? SURVEY_QUEUE : survey_order_of(order);
    if (request->question.order == SURVEY_ORDERS) {
        return web_say(request, 400,
                       "order: queue, speed, errors, waiting, pages, bytes or slowest is expected");
    }
    /* A sign or a word gives either no digits or a number beyond the bound. */
    if (rows != NULL && (end == rows || *end != '\0' || n < 1 || n > SURVEY_ROWS_MAX)) {
        return web_say(request, 400, "rows: a number from 1 to 1000 is expected");
    }
    request->question.rows = n;
    return ask_look(web, request, WEB_HOSTS, argument_of(request, "filter"));
}

/* ---- requests ---- */

static enum MHD_Result web_get(Web *web, Request *request, const char *path)
{
    const WebFile *file = web_file_find(path);
    if (file != NULL) {
        /* The bytes are part of the program: nothing is copied, nothing freed. */
        struct MHD_IoVec all = {.iov_base = file->bytes,
                                .iov_len = (size_t)(file->end - file->bytes)};
        return send_response(request, 200, file->type,
                             MHD_create_response_from_iovec(&all, 1, NULL, NULL));
    }
    if (strcmp(path, "/status.json") == 0) {
        return send_status(web, request, JSON, NULL);
    }
    if (strcmp(path, "/metrics") == 0) {
        return send_status(web, request, METRICS, web_metrics);
    }
    if (strcmp(path, "/figures.html") == 0) {
        return send_status(web, request, "text/html; charset=utf-8", web_figures);
    }
    if (strcmp(path, "/about.json") == 0) {
        return send_about(web, request);
    }
    if (strcmp(path, "/history.json") == 0) {
        return ask_look(web, request, WEB_HISTORY, NULL);
    }
    if (strcmp(path, "/hosts.json") == 0) {
        return send_hosts(web, request);
    }
    if (strcmp(path, "/why.json") == 0 || strcmp(path, "/why.txt") == 0) {
        WebQuestionKind kind = path[5] == 'j' ? WEB_WHY_JSON : WEB_WHY_TEXT;
        const char *url = argument_of(request, "url");
        if (url == NULL || *url == '\0') {
            return web_say(request, 400, "url: the URL that is asked about is missing");
        }
        return ask_look(web, request, kind, url);
    }
    return web_say(request, 404,
                   path[0] == '/' && strcmp(path, "/control") == 0
                       ? "/control takes POST"
                       : "there is no such page; / is the status page");
}

/* Who may not ask at all gets a sentence: NULL: he may. */
static const char *web_refusal_of(const Web *web, const Request *request)
{
    const char *host = header_of(request, "Host");
    const char *origin = header_of(request, "Origin");
    const char *site = header_of(request, "Sec-Fetch-Site");
    if (host == NULL || !web_guard_host(host, web->names)) {
        return "the Host header names neither this machine nor one of control.web_hosts";
    }
    if (origin != NULL && !web_guard_origin(origin, host)) {
        return "the Origin header names another site";
    }
    /* A browser sends no Origin with a plain GET of another site's script or image, but says that
     * it comes from elsewhere. A link that somebody follows is welcome. */
    if (site != NULL && strcmp(site, "cross-site") == 0 && header_of(request, "Origin") == NULL) {
        const char *mode = header_of(request, "Sec-Fetch-Mode");
        return mode != NULL && strcmp(mode, "navigate") == 0 ? NULL : "another site asks";
    }
    return NULL;
}

/* libmicrohttpd calls: at the head of a request, for each piece of its body, at its end, and once
 * more when look has answered. */
static enum MHD_Result web_take_request(void *context, struct MHD_Connection *connection,
                                        const char *path, const char *method, const char *version,
                                        const char *bytes, size_t *n_bytes, void **slot)
{
    Request *request = *slot;
    (void)version;
    if (request == NULL) {
        request = calloc(1, sizeof *request);
        if (request != NULL) {
            request->connection = connection;
            buffer_init(&request->body, WEB_BODY_BYTES);
            buffer_init(&request->question.body, BUFFER_NO_LIMIT);
        }
        *slot = request;
        return request == NULL ? MHD_NO : MHD_YES;
    }
    /* What is too long is still read, or the connection would be reset before the answer is
     * seen. */
    if (*n_bytes > 0) {
        request->is_long =
            request->is_long || buffer_append(&request->body, bytes, *n_bytes) != RESULT_OK;
        *n_bytes = 0;
        return MHD_YES;
    }
    /* Asked again when look has answered; the headers are the same. */
    const char *refusal = web_refusal_of(context, request);
    if (refusal != NULL) {
        return web_say(request, 403, refusal);
    }
    if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0) {
        return web_get(context, request, path);
    }
    if (strcmp(method, "POST") == 0 && strcmp(path, "/control") == 0) {
        return web_change(context, request);
    }
    return web_say(request, 405, "GET and HEAD are known, and POST for /control");
}

/* libmicrohttpd calls it once for each request, also for those that broke off. None is suspended
 * then: look answers all that it took before it ends (web_look_stop). */
static void forget_request(void *context, struct MHD_Connection *connection, void **slot,
                           enum MHD_RequestTerminationCode how)
{
    Request *request = *slot;
    (void)context;
    (void)connection;
    (void)how;
    if (request != NULL) {
        buffer_destroy(&request->body);
        buffer_destroy(&request->question.body);
        free(request);
        *slot = NULL;
    }
}

/* At the level of debugging: clients that break off are no trouble of the crawl. */
__attribute__((format(printf, 2, 0))) static void log_trouble(void *context, const char *format,
                                                              va_list arguments)
{
    char text[512];
    (void)context;
    (void)vsnprintf(text, sizeof text, format, arguments);
    text[strcspn(text, "\n")] = '\0';
    LOG_DEBUG("web", "libmicrohttpd", "words=\"%s\"", text);
}

/* ---- opening ---- */

static Result web_open_all(Web *web, const Config *config, const CrawlStore *store, Buffer *name,
                           Buffer *error)
{
    int fd = -1;
    Result rc = listen_address_parse(&web->address, config->control_listen, error);
    if (rc == RESULT_OK && web->writes) {
        Buffer path = {.limit = BUFFER_NO_LIMIT};
        rc = *config->control_token_file == '\0'
                 ? buffer_printf(&path, "%s/" TOKEN_NAME, web->directory)
                 : buffer_append_string(&path, config->control_token_file);
        if (rc == RESULT_OK) {
            rc = web_token_read(buffer_string(&path), &web->token, error);
        }
        buffer_destroy(&path);
    }
    if (rc == RESULT_OK) {
        rc = web_look_start(&web->look, web->directory, &store->tables);
    }
    if (rc == RESULT_OK) {
        rc = web_socket_open(&web->address, &fd, name, error);
    }
    if (rc == RESULT_OK) {
        /* The descriptor is the daemon's from here on, unless it does not start. */
        web->daemon = MHD_start_daemon(
            MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL,
            NULL, web_take_request, web, MHD_OPTION_EXTERNAL_LOGGER, log_trouble, NULL,
            MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, WEB_CLIENTS,
            MHD_OPTION_CONNECTION_TIMEOUT, PATIENCE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, MEMORY,
            MHD_OPTION_THREAD_STACK_SIZE, STACK, MHD_OPTION_NOTIFY_COMPLETED, forget_request, NULL,
            MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
        rc = web->daemon == NULL ? RESULT_IO : RESULT_OK;
    }
    if (rc != RESULT_OK && fd >= 0) {
        (void)close(fd);
        web_socket_remove(&web->address);
    }
    return rc;
}

static Web *new_web(const Config *config, const CrawlStore *store)
{
    Web *web = calloc(1, sizeof *web);
    if (web == NULL) {
        return NULL;
    }
    /* Copies, as the configuration may change while the page is open. */
    web->directory = strdup(store->directory);
    web->names = strdup(config->control_web_hosts);
    web->writes = config->control_web_write;
    web->crawl.directory = web->directory;
    buffer_init(&web->token, 4096);
    if (web->directory == NULL || web->names == NULL) {
        web_close(web);
        return NULL;
    }
    return web;
}

Result web_open(Web **out, const Config *config, const CrawlStore *store)
{
    Buffer name = {.limit = BUFFER_NO_LIMIT};
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    *out = NULL;
    if (*config->control_listen == '\0') {
        return RESULT_OK;
    }
    Web *web = new_web(config, store);
    if (web == NULL) {
        return RESULT_MEMORY;
    }
    /* Whatever goes wrong from here on costs the page alone. */
    Result rc = web_open_all(web, config, store, &name, &error);
    if (rc == RESULT_OK) {
        LOG_INFO("web", "status page", "url=%s writes=%s", buffer_string(&name),
                 web->writes ? "yes" : "no");
        *out = web;
    } else {
        LOG_WARN("web", "no status page, the crawl goes on without", "listen=%s error=\"%s\"",
                 config->control_listen,
                 error.length > 0 ? buffer_string(&error) : result_name(rc));
        web_close(web);
    }
    buffer_destroy(&name);
    buffer_destroy(&error);
    return RESULT_OK;
}

void web_close(Web *web)
{
    if (web == NULL) {
        return;
    }
    web_look_stop(web->look); /* first: no connection may rest when the daemon stops */
    if (web->daemon != NULL) {
        MHD_stop_daemon(web->daemon);
        web_socket_remove(&web->address);
    }
    web_look_delete(web->look);
    control_link_close(web->crawl.link);
    buffer_destroy(&web->token);
    free(web->directory);
    free(web->names);
    free(web);
}

/* ---- web guard ---- */

#define SEPARATORS ", \t"

/* Bytes of a Host header without its port; 0: it is none. "[::1]:8088" has colons in its name,
 * so brackets end it. */
static size_t name_length(const char *host)
{
    if (*host == '[') {
        const char *end = strchr(host, ']');
        return end != NULL && (end[1] == '\0' || end[1] == ':') ? (size_t)(end + 1 - host) : 0;
    }
    return strcspn(host, ":");
}

static bool has_port_or_end(const char *rest)
{
    return *rest == '\0' || (*rest == ':' && rest[1 + strspn(rest + 1, "0123456789")] == '\0');
}

bool web_guard_host(const char *host, const char *names)
{
    IpAddress address;
    size_t n = name_length(host);
    if (n == 0 || !has_port_or_end(host + n)) {
        return false;
    }
    if ((n == 9 && strncasecmp(host, "localhost", n) == 0) ||
        (ip_address_parse(host, n, &address) == RESULT_OK && ip_address_is_loopback(&address))) {
        return true;
    }
    for (size_t length = 0; ascii_next_word(&names, &length, SEPARATORS);) {
        if (length == n && strncasecmp(host, names, n) == 0) {
            return true;
        }
    }
    return false;
}

/* "null", which a sandboxed page sends, has no scheme and is refused. */
bool web_guard_origin(const char *origin, const char *host)
{
    size_t scheme = strncmp(origin, "http://", 7) == 0 ? 7 : 8;
    return (scheme == 7 || strncmp(origin, "https://", 8) == 0) &&
           strcasecmp(origin + scheme, host) == 0;
}

bool web_guard_token(const char *authorization, const char *token)
{
    static const char scheme[] = "Bearer ";
    size_t n = strlen(token);
    if (n == 0 || strncasecmp(authorization, scheme, sizeof scheme - 1) != 0) {
        return false;
    }
    const char *given = authorization + sizeof scheme - 1;
    size_t length = strlen(given);
    /* Every byte is compared, whatever the first difference is, so that time tells nothing of the
     * token. */
    unsigned differs = length != n;
    for (size_t i = 0; i < n; i++) {
        differs |= (unsigned char)token[i] ^ (unsigned char)(i < length ? given[i] : 0);
    }
    return differs == 0;
}
