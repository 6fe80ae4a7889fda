#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/thread/thread.h"
#include "crawl/control/control_link.h"
#include "crawl/control/control_server.h"
#include "folder_fixture.h"
#include "unit.h"
#include "until.h"

/* ---- words ----------------------------------------------------------------------------------- */

static Result parse(const char *line, ControlWords *words, Buffer *error)
{
    buffer_reset(error);
    return control_words_parse(words, line, strlen(line), error);
}

static void a_line_is_taken_apart(void)
{
    static const struct {
        const char *line;
        const char *words[4];
    } rows[] = {
        {"", {NULL}},
        {"  \t ", {NULL}},
        {"pause", {"pause"}},
        {"  set\tfetch.connections  7 ", {"set", "fetch.connections", "7"}},
        {"set filter.fetch \"not HostEndsWith(\\\".x\\\")\"",
         {"set", "filter.fetch", "not HostEndsWith(\".x\")"}},
        {"a \"\" b", {"a", "", "b"}},
        {"deny a\"b\\c", {"deny", "a\"b\\c"}},
        {"\"back\\\\slash\"", {"back\\slash"}},
    };
    ControlWords words;
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CU_ASSERT_EQUAL_FATAL(parse(rows[i].line, &words, &error), RESULT_OK);
        size_t n = 0;
        while (n < 4 && rows[i].words[n] != NULL) {
            CU_ASSERT_TRUE_FATAL(n < words.n);
            CU_ASSERT_STRING_EQUAL(words.words[n], rows[i].words[n]);
            n++;
        }
        CU_ASSERT_EQUAL(words.n, n);
        control_words_destroy(&words);
    }
    buffer_destroy(&error);
}

static void what_is_no_line_gets_a_sentence(void)
{
    static const struct {
        const char *line;
        const char *says;
    } rows[] = {
        {"set \"open", "the quote at byte 5 is not closed"},
        {"\"a\"b", "byte 4: a blank is expected"},
        {"\"a\\n\"", "byte 4: after a backslash"},
        {"bell\x07", "byte 5 is a control character (0x07)"},
        {"\"ends with\\", "the quote at byte 1 is not closed"},
    };
    ControlWords words;
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CU_ASSERT_EQUAL(parse(rows[i].line, &words, &error), RESULT_INVALID);
        CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&error), rows[i].says));
        CU_ASSERT_PTR_NULL(words.words);
    }
    buffer_destroy(&error);
}

static void words_that_are_joined_are_taken_apart_again(void)
{
    char *words[] = {(char[]){"set"},
                     (char[]){""},
                     (char[]){"two words"},
                     (char[]){"\"quoted\""},
                     (char[]){"back\\slash \\"},
                     (char[]){"Ünïcode"}};
    size_t n = sizeof words / sizeof *words;
    ControlWords found;
    Buffer line;
    Buffer error;
    buffer_init(&line, BUFFER_NO_LIMIT);
    buffer_init(&error, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL_FATAL(control_words_join(words, n, &line, &error), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(parse(buffer_string(&line), &found, &error), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(found.n, n);
    for (size_t i = 0; i < n; i++) {
        CU_ASSERT_STRING_EQUAL(found.words[i], words[i]);
    }
    control_words_destroy(&found);
    char *bad[] = {(char[]){"two\nlines"}};
    CU_ASSERT_EQUAL(control_words_join(bad, 1, &line, &error), RESULT_INVALID);
    buffer_destroy(&line);
    buffer_destroy(&error);
}

/* ---- server and link ------------------------------------------------------------------------- */

typedef struct World {
    char folder[256];
    ControlServer *server;
    Thread thread;
    int stop[2];        /* pipe: a byte ends the thread */
    ControlClient held; /* asked "hold": answered by "let" */
    ControlPeer peer;
    size_t n_gone;
} World;

/* echo WORD...: a line each. hold: waits for somebody's `let`. no: an error. flood: far too much.
 */
static void take(void *context, ControlClient client, const ControlPeer *peer,
                 const ControlWords *words)
{
    World *w = context;
    w->peer = *peer;
    if (strcmp(words->words[0], "hold") == 0) {
        w->held = client;
        return;
    }
    if (strcmp(words->words[0], "let") == 0) {
        if (w->held != 0) {
            control_server_say(w->server, w->held, "let go");
            control_server_end(w->server, w->held, CONTROL_OK, NULL);
        }
        w->held = 0;
    } else if (strcmp(words->words[0], "no") == 0) {
        control_server_end(w->server, client, CONTROL_ERROR, "not today");
        return;
    } else if (strcmp(words->words[0], "flood") == 0) {
        char line[65536];
        memset(line, 'x', sizeof line);
        line[sizeof line - 1] = '\0';
        for (size_t i = 0; i < 2 * CONTROL_UNREAD / sizeof line; i++) {
            control_server_say(w->server, client, line);
        }
    } else {
        for (size_t i = 1; i < words->n; i++) {
            control_server_say(w->server, client, words->words[i]);
        }
    }
    control_server_end(w->server, client, CONTROL_OK, NULL);
}

static void gone(void *context, ControlClient client)
{
    World *w = context;
    w->n_gone += client != 0;
}

static void *serve(void *context)
{
    World *w = context;
    struct pollfd fds[] = {{.fd = control_server_fd(w->server), .events = POLLIN},
                           {.fd = w->stop[0], .events = POLLIN}};
    while ((fds[1].revents & POLLIN) == 0) {
        (void)poll(fds, 2, -1);
        control_server_serve(w->server);
    }
    return NULL;
}

static void start(World *w, const char *folder)
{
    ControlSink sink = {.context = w, .take = take, .gone = gone};
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    (void)snprintf(w->folder, sizeof w->folder, "%s", folder);
    CU_ASSERT_EQUAL_FATAL(control_server_open(&w->server, folder, &sink, &error), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(pipe2(w->stop, O_CLOEXEC), 0);
    CU_ASSERT_EQUAL_FATAL(thread_start(&w->thread, "server", serve, w), RESULT_OK);
    buffer_destroy(&error);
}

static void end(World *w)
{
    CU_ASSERT_EQUAL(write(w->stop[1], "x", 1), 1);
    thread_join(&w->thread);
    control_server_close(w->server);
    (void)close(w->stop[0]);
    (void)close(w->stop[1]);
}

static bool collect(void *context, const char *line)
{
    Buffer *lines = context;
    return buffer_printf(lines, "%s|", line) == RESULT_OK;
}

/* Asks one line; returns what came, and the lines of it in *lines. */
static Result ask(ControlLink *link, const char *line, Buffer *lines, Buffer *error)
{
    ControlWords words;
    buffer_reset(lines);
    buffer_reset(error);
    CU_ASSERT_EQUAL_FATAL(control_words_parse(&words, line, strlen(line), error), RESULT_OK);
    Result rc = control_link_ask(link, words.words, words.n, collect, lines, 60000, NULL, error);
    control_words_destroy(&words);
    return rc;
}

static ControlLink *connect_to(const char *folder)
{
    ControlLink *link = NULL;
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL_FATAL(control_link_open(&link, folder, &error), RESULT_OK);
    buffer_destroy(&error);
    return link;
}

static void questions_are_answered(void)
{
    char folder[FOLDER_BYTES];
    folder_make(folder);
    World w = {.held = 0};
    Buffer lines;
    Buffer error;
    struct stat st;
    char path[300];
    buffer_init(&lines, BUFFER_NO_LIMIT);
    buffer_init(&error, BUFFER_NO_LIMIT);
    start(&w, folder);
    (void)snprintf(path, sizeof path, "%s/control", folder);
    CU_ASSERT_EQUAL_FATAL(stat(path, &st), 0);
    CU_ASSERT_EQUAL(st.st_mode & 07777, 0600);
    ControlLink *link = connect_to(folder);
    CU_ASSERT_EQUAL(ask(link, "echo one \"two words\"", &lines, &error), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&lines), "one|two words|");
    CU_ASSERT_EQUAL(ask(link, "no", &lines, &error), RESULT_LIMIT);
    CU_ASSERT_STRING_EQUAL(buffer_string(&error), "not today");
    CU_ASSERT_EQUAL(ask(link, "echo again", &lines, &error), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&lines), "again|");
    control_link_close(link);
    end(&w);
    CU_ASSERT_EQUAL(w.peer.pid, getpid());
    CU_ASSERT_EQUAL(w.peer.uid, getuid());
    CU_ASSERT_NOT_EQUAL(stat(path, &st), 0);
    CU_ASSERT_EQUAL(control_link_open(&link, folder, &error), RESULT_NOT_FOUND);
    buffer_destroy(&lines);
    buffer_destroy(&error);
    folder_remove(folder);
}

static int connect_socket(const char *folder)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    (void)snprintf(name.sun_path, sizeof name.sun_path, "%s/control", folder);
    CU_ASSERT_EQUAL_FATAL(connect(fd, (struct sockaddr *)&name, sizeof name), 0);
    return fd;
}

static void an_answer_may_take_its_time(void)
{
    char folder[FOLDER_BYTES];
    folder_make(folder);
    World w = {.held = 0};
    Buffer lines;
    Buffer error;
    buffer_init(&lines, BUFFER_NO_LIMIT);
    buffer_init(&error, BUFFER_NO_LIMIT);
    start(&w, folder);
    /* Two requests in one piece: the second is read when the first is answered. */
    int fd = connect_socket(folder);
    CU_ASSERT_EQUAL(send(fd, "hold\necho behind\n", 17, 0), 17);
    ControlLink *link = connect_to(folder);
    Result rc = RESULT_OK;
    char seen[64] = "";
    size_t n = 0;
    /* `hold` may not have been read when the first `let` is. */
    while (n < 22) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        rc = ask(link, "let", &lines, &error);
        CU_ASSERT_EQUAL_FATAL(rc, RESULT_OK);
        if (poll(&ready, 1, 10) == 1) {
            ssize_t got = recv(fd, seen + n, sizeof seen - 1 - n, 0);
            CU_ASSERT_TRUE_FATAL(got > 0);
            n += (size_t)got;
        }
    }
    CU_ASSERT_STRING_EQUAL(seen, " let go\nok\n behind\nok\n");
    (void)close(fd);
    control_link_close(link);
    end(&w);
    buffer_destroy(&lines);
    buffer_destroy(&error);
    folder_remove(folder);
}

/* Sends bytes, ends the connection on this side, and reads what comes. */
static void send_raw(const char *folder, const char *bytes, size_t length, char answer[256])
{
    int fd = connect_socket(folder);
    size_t sent = 0;
    size_t n = 0;
    ssize_t got = 1;
    while (sent < length) {
        ssize_t step = send(fd, bytes + sent, length - sent, MSG_NOSIGNAL);
        if (step <= 0) {
            break; /* it was told to stop */
        }
        sent += (size_t)step;
    }
    (void)shutdown(fd, SHUT_WR);
    while (n < 255 && got > 0) {
        got = recv(fd, answer + n, 255 - n, 0);
        n += got > 0 ? (size_t)got : 0;
    }
    answer[n] = '\0';
    (void)close(fd);
}

static void whatever_is_sent_gets_a_sentence(void)
{
    char folder[FOLDER_BYTES];
    char answer[256];
    folder_make(folder);
    World w = {.held = 0};
    start(&w, folder);
    static const char zeros[] = "echo \0\0\0\n";
    send_raw(folder, zeros, sizeof zeros - 1, answer);
    CU_ASSERT_STRING_EQUAL(answer,
                           "usage byte 6 is a control character (0x00); a request is text\n");
    send_raw(folder, "\n\n\r\necho yes\r\n", 14, answer);
    CU_ASSERT_STRING_EQUAL(answer, " yes\nok\n");
    send_raw(folder, "echo half", 9, answer);
    CU_ASSERT_STRING_EQUAL(answer, "usage the request has no line end\n");
    send_raw(folder, "", 0, answer);
    CU_ASSERT_STRING_EQUAL(answer, "");
    static const char http[] = "\x16\x03\x01 GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    send_raw(folder, http, sizeof http - 1, answer);
    CU_ASSERT_PTR_NOT_NULL(strstr(answer, "usage byte 1 is a control character"));
    size_t much = CONTROL_LINE_BYTES + 200000;
    char *line = malloc(much);
    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    memset(line, 'a', much);
    send_raw(folder, line, much, answer);
    CU_ASSERT_PTR_NOT_NULL(strstr(answer, "usage a request is a line of at most"));
    free(line);
    end(&w);
    folder_remove(folder);
}

static void many_are_served_at_once_and_the_silent_make_room(void)
{
    char folder[FOLDER_BYTES];
    folder_make(folder);
    World w = {.held = 0};
    ControlLink *links[CONTROL_CLIENTS];
    int idle[CONTROL_CLIENTS];
    Buffer lines;
    Buffer error;
    buffer_init(&lines, BUFFER_NO_LIMIT);
    buffer_init(&error, BUFFER_NO_LIMIT);
    start(&w, folder);
    for (size_t i = 0; i < CONTROL_CLIENTS; i++) {
        links[i] = connect_to(folder);
        CU_ASSERT_EQUAL(ask(links[i], "echo first", &lines, &error), RESULT_OK);
    }
    for (size_t i = CONTROL_CLIENTS; i > 0; i--) {
        CU_ASSERT_EQUAL(ask(links[i - 1], "echo second", &lines, &error), RESULT_OK);
        CU_ASSERT_STRING_EQUAL(buffer_string(&lines), "second|");
    }
    /* The last of the list was heard first: it makes room. */
    ControlLink *more = connect_to(folder);
    CU_ASSERT_EQUAL(ask(more, "echo more", &lines, &error), RESULT_OK);
    CU_ASSERT_EQUAL(ask(links[CONTROL_CLIENTS - 1], "echo gone", &lines, &error), RESULT_CLOSED);
    CU_ASSERT_EQUAL(ask(links[0], "echo stays", &lines, &error), RESULT_OK);
    control_link_close(more);
    for (size_t i = 0; i < CONTROL_CLIENTS; i++) {
        control_link_close(links[i]);
        idle[i] = connect_socket(folder); /* they never say anything */
    }
    more = connect_to(folder);
    CU_ASSERT_EQUAL(ask(more, "echo still", &lines, &error), RESULT_OK);
    control_link_close(more);
    for (size_t i = 0; i < CONTROL_CLIENTS; i++) {
        (void)close(idle[i]);
    }
    end(&w);
    buffer_destroy(&lines);
    buffer_destroy(&error);
    folder_remove(folder);
}

static void who_does_not_read_is_left(void)
{
    char folder[FOLDER_BYTES];
    folder_make(folder);
    World w = {.held = 0};
    Buffer lines;
    Buffer error;
    buffer_init(&lines, BUFFER_NO_LIMIT);
    buffer_init(&error, BUFFER_NO_LIMIT);
    start(&w, folder);
    int fd = connect_socket(folder);
    CU_ASSERT_EQUAL(send(fd, "flood\n", 6, 0), 6);
    /* The server has left it when nothing more comes but an end. */
    ControlLink *link = connect_to(folder);
    CU_ASSERT_EQUAL(ask(link, "echo others are served", &lines, &error), RESULT_OK);
    size_t n = 0;
    ssize_t got = 1;
    char chunk[65536];
    while (got > 0) {
        got = recv(fd, chunk, sizeof chunk, 0);
        n += got > 0 ? (size_t)got : 0;
    }
    CU_ASSERT_TRUE(n < 2 * CONTROL_UNREAD);
    (void)close(fd);
    control_link_close(link);
    end(&w);
    CU_ASSERT_EQUAL(w.n_gone, 1);
    buffer_destroy(&lines);
    buffer_destroy(&error);
    folder_remove(folder);
}

static void a_socket_of_a_crash_is_replaced_and_a_file_is_not(void)
{
    char folder[FOLDER_BYTES];
    char path[128];
    folder_make(folder);
    World w = {.held = 0};
    ControlSink sink = {.context = &w, .take = take, .gone = gone};
    ControlServer *server = NULL;
    ControlServer *second = NULL;
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL_FATAL(control_server_open(&server, folder, &sink, &error), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(control_server_open(&second, folder, &sink, &error), RESULT_OK);
    control_server_close(server);
    control_server_close(second);
    folder_put(folder, "control", "mine", 4);
    CU_ASSERT_NOT_EQUAL(control_server_open(&server, folder, &sink, &error), RESULT_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&error), "control: File exists"));
    (void)snprintf(path, sizeof path, "%s/control", folder);
    CU_ASSERT_EQUAL(access(path, F_OK), 0);
    buffer_destroy(&error);
    folder_remove(folder);
}

static void a_directory_may_have_a_long_name(void)
{
    char folder[FOLDER_BYTES];
    char deep[256];
    folder_make(folder);
    int n = snprintf(deep, sizeof deep, "%s/%0150d", folder, 1);
    CU_ASSERT_EQUAL_FATAL(mkdir(deep, 0700), 0);
    CU_ASSERT_TRUE(n > 150);
    World w = {.held = 0};
    Buffer lines;
    Buffer error;
    buffer_init(&lines, BUFFER_NO_LIMIT);
    buffer_init(&error, BUFFER_NO_LIMIT);
    start(&w, deep);
    ControlLink *link = connect_to(deep);
    CU_ASSERT_EQUAL(ask(link, "echo deep", &lines, &error), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&lines), "deep|");
    control_link_close(link);
    end(&w);
    buffer_destroy(&lines);
    buffer_destroy(&error);
    folder_remove(folder);
}

UNIT_MAIN("control", {"a line is taken apart", a_line_is_taken_apart},
          {"what is no line gets a sentence", what_is_no_line_gets_a_sentence},
          {"words that are joined are taken apart again",
           words_that_are_joined_are_taken_apart_again},
          {"questions are answered", questions_are_answered},
          {"an answer may take its time", an_answer_may_take_its_time},
          {"whatever is sent gets a sentence", whatever_is_sent_gets_a_sentence},
          {"many are served at once, and the silent make room",
           many_are_served_at_once_and_the_silent_make_room},
          {"who does not read is left", who_does_not_read_is_left},
          {"a socket of a crash is replaced, and a file is not",
           a_socket_of_a_crash_is_replaced_and_a_file_is_not},
          {"a directory may have a long name", a_directory_may_have_a_long_name})
