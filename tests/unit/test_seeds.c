#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crawl/seeds/seeds.h"
#include "folder_fixture.h"
#include "unit.h"

typedef struct Collected {
    Buffer urls; /* one per line */
    size_t n_batches;
    size_t largest;
    Result answer;
} Collected;

static Result on_batch(void *context, const LinkInfo *seeds, const char *const *tags, size_t n)
{
    Collected *c = context;
    c->n_batches++;
    c->largest = n > c->largest ? n : c->largest;
    for (size_t i = 0; i < n; i++) {
        CU_ASSERT_EQUAL(seeds[i].score, 1.0f);
        (void)buffer_printf(&c->urls, "%s%s%s\n", seeds[i].url, tags[i] == NULL ? "" : " ",
                            tags[i] == NULL ? "" : tags[i]);
    }
    return c->answer;
}

static int saved_stderr = -1;

/* What is printed meanwhile is collected in a file instead. */
static void silence(FILE *into)
{
    (void)fflush(stderr);
    saved_stderr = dup(STDERR_FILENO);
    (void)dup2(fileno(into), STDERR_FILENO);
}

static void speak(FILE *from, char *text, size_t size)
{
    (void)fflush(stderr);
    (void)dup2(saved_stderr, STDERR_FILENO);
    (void)close(saved_stderr);
    rewind(from);
    size_t n = fread(text, 1, size - 1, from);
    text[n] = '\0';
    (void)fclose(from);
}

static Result read_text(SeedReader *reader, Collected *c, const char *text, size_t length,
                        char *complaints, size_t size)
{
    char path[FOLDER_BYTES];
    int fd = folder_make_file(path);
    CU_ASSERT_TRUE_FATAL(write(fd, text, length) == (ssize_t)length);
    (void)close(fd);
    buffer_init(&c->urls, BUFFER_NO_LIMIT);
    *reader = (SeedReader){.context = c, .batch = on_batch};
    FILE *file = tmpfile();
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    silence(file);
    Result rc = seeds_read_file(reader, path);
    speak(file, complaints, size);
    (void)unlink(path);
    return rc;
}

static void lines_are_urls_comments_or_mistakes(void)
{
    static const char text[] = "\xef\xbb\xbfhttp://a.example\r\n"
                               "# a comment\n"
                               "\n"
                               "   https://b.example/x#frag   \n"
                               "c.example/path\n"
                               "not a \x1b url\n"
                               "ftp://d.example/\n"
                               "http://\n"
                               "HTTP://E.EXAMPLE:80/%7Ea";
    SeedReader reader;
    Collected c = {.answer = RESULT_OK};
    char complaints[4000];
    CU_ASSERT_EQUAL(read_text(&reader, &c, text, sizeof text - 1, complaints, sizeof complaints),
                    RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&c.urls),
                           "http://a.example/\nhttps://b.example/x\nhttp://c.example/path\n"
                           "http://e.example/%7Ea\n");
    CU_ASSERT_EQUAL(reader.good, 4);
    CU_ASSERT_EQUAL(reader.bad, 3);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(complaints, ":6: not an http or https URL, left out: not a ? url"));
    CU_ASSERT_PTR_NOT_NULL(strstr(complaints, ":7: "));
    CU_ASSERT_PTR_NOT_NULL(strstr(complaints, ":8: "));
    buffer_destroy(&c.urls);
}

static void many_mistakes_are_counted_not_printed(void)
{
    Buffer text;
    SeedReader reader;
    Collected c = {.answer = RESULT_OK};
    char complaints[8000];
    buffer_init(&text, BUFFER_NO_LIMIT);
    for (int i = 0; i < 500; i++) {
        (void)buffer_append_string(&text, "nonsense\n");
    }
    CU_ASSERT_EQUAL(read_text(&reader, &c, text.data, text.length, complaints, sizeof complaints),
                    RESULT_OK);
    CU_ASSERT_EQUAL(reader.bad, 500);
    CU_ASSERT_EQUAL(c.n_batches, 0);
    size_t lines = 0;
    for (const char *p = complaints; (p = strchr(p, '\n')) != NULL; p++) {
        lines++;
    }
    CU_ASSERT_EQUAL(lines, 21);
    CU_ASSERT_PTR_NOT_NULL(strstr(complaints, "500 lines that are not URLs were left out"));
    buffer_destroy(&c.urls);
    buffer_destroy(&text);
}

static void many_seeds_come_in_batches(void)
{
    Buffer text;
    SeedReader reader;
    Collected c = {.answer = RESULT_OK};
    char complaints[100];
    buffer_init(&text, BUFFER_NO_LIMIT);
    for (int i = 0; i < 25000; i++) {
        (void)buffer_printf(&text, "http://h%d.example/\n", i);
    }
    CU_ASSERT_EQUAL(read_text(&reader, &c, text.data, text.length, complaints, sizeof complaints),
                    RESULT_OK);
    CU_ASSERT_EQUAL(reader.good, 25000);
    CU_ASSERT_EQUAL(c.n_batches, 3);
    CU_ASSERT_EQUAL(c.largest, 10000);
    buffer_destroy(&c.urls);
    c.answer = RESULT_FULL; /* whoever takes them cannot go on */
    CU_ASSERT_EQUAL(read_text(&reader, &c, text.data, text.length, complaints, sizeof complaints),
                    RESULT_FULL);
    buffer_destroy(&c.urls);
    buffer_destroy(&text);
}

static void a_file_that_cannot_be_read_is_named(void)
{
    SeedReader reader = {.batch = on_batch};
    char complaints[400];
    FILE *file = tmpfile();
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    silence(file);
    Result missing = seeds_read_file(&reader, "/nonexistent/seeds.txt");
    Result folder = seeds_read_file(&reader, "/tmp");
    speak(file, complaints, sizeof complaints);
    CU_ASSERT_EQUAL(missing, RESULT_NOT_FOUND);
    CU_ASSERT_NOT_EQUAL(folder, RESULT_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(complaints, "/nonexistent/seeds.txt"));
    CU_ASSERT_PTR_NOT_NULL(strstr(complaints, "/tmp: cannot be read"));
}

static void words_of_the_command_line_are_seeds(void)
{
    char a[] = "example.org";
    char b[] = "nothing";
    char *words[] = {a, b};
    char complaints[400];
    Collected c = {.answer = RESULT_OK};
    buffer_init(&c.urls, BUFFER_NO_LIMIT);
    SeedReader reader = {.context = &c, .batch = on_batch};
    FILE *file = tmpfile();
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    silence(file);
    CU_ASSERT_EQUAL(seeds_read_words(&reader, words, 2), RESULT_OK);
    speak(file, complaints, sizeof complaints);
    CU_ASSERT_STRING_EQUAL(buffer_string(&c.urls), "http://example.org/\n");
    CU_ASSERT_EQUAL(reader.bad, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(complaints, "command line:2"));
    buffer_destroy(&c.urls);
}

static void credentials_and_bad_ports_are_taken_out(void)
{
    static const char text[] = "http://me:secret@a.example/x\nhttp://b.example:22/\n"
                               "http://c.example:0/\nhttp://d.example:8080/\n";
    SeedReader reader;
    Collected c = {.answer = RESULT_OK};
    char complaints[4000];
    CU_ASSERT_EQUAL(read_text(&reader, &c, text, sizeof text - 1, complaints, sizeof complaints),
                    RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&c.urls), "http://a.example/x\nhttp://d.example:8080/\n");
    CU_ASSERT_EQUAL(reader.good, 2);
    CU_ASSERT_EQUAL(reader.bad, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(complaints, ":1: user information was removed"));
    CU_ASSERT_PTR_NULL(strstr(complaints, "secret"));
    CU_ASSERT_PTR_NOT_NULL(strstr(complaints, ":2: a port that is not connected to"));
    CU_ASSERT_PTR_NOT_NULL(strstr(complaints, ":3: "));
    buffer_destroy(&c.urls);
}

static void credentials_may_be_kept(void)
{
    char word[] = "http://me:secret@a.example/x";
    char *words[] = {word};
    Collected c = {.answer = RESULT_OK};
    SeedReader reader = {.context = &c, .batch = on_batch, .keep_credentials = true};
    buffer_init(&c.urls, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(seeds_read_words(&reader, words, 1), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&c.urls), "http://me:secret@a.example/x\n");
    buffer_destroy(&c.urls);
}

static void a_tag_and_a_comment_stand_behind_the_url(void)
{
    static const char text[] = "http://a.example/x#y\n"
                               "http://b.example/  news \n"
                               "http://c.example/ # a remark\n"
                               "\td.example/p\tlong-tag\t# a remark\n"
                               "http://e.example/ #remark\r\n"
                               "http://f.example/my own page.html\n"
                               "no url at all\n";
    char complaints[4096];
    SeedReader reader;
    Collected c = {.answer = RESULT_OK};
    CU_ASSERT_EQUAL(read_text(&reader, &c, text, sizeof text - 1, complaints, sizeof complaints),
                    RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&c.urls), "http://a.example/x\n"
                                                   "http://b.example/ news\n"
                                                   "http://c.example/\n"
                                                   "http://d.example/p long-tag\n"
                                                   "http://e.example/\n");
    CU_ASSERT_PTR_NOT_NULL(strstr(complaints, ":6: more than a URL and a tag (a blank in a URL is "
                                              "%20), left out: http://f.example/my own page"));
    CU_ASSERT_PTR_NOT_NULL(strstr(complaints, ":7: not an http or https URL, left out: no url"));
    CU_ASSERT_EQUAL(reader.bad, 2);
    buffer_destroy(&c.urls);
}

static void a_word_of_the_command_line_is_a_url_with_its_blanks(void)
{
    char word[] = "http://a.example/my page?q=a b#c d";
    char *words[] = {word};
    Collected c = {.answer = RESULT_OK};
    SeedReader reader = {.context = &c, .batch = on_batch};
    buffer_init(&c.urls, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(seeds_read_words(&reader, words, 1), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&c.urls), "http://a.example/my%20page?q=a%20b\n");
    buffer_destroy(&c.urls);
}

static void a_word_that_is_no_url_stops_everything(void)
{
    char good[] = "http://a.example/";
    char bad[] = "frobnicate";
    char *words[] = {good, bad};
    bool found = false;
    Buffer error;
    buffer_init(&error, 1000);
    CU_ASSERT_EQUAL(seeds_probe(NULL, 0, words, 1, &found, &error), RESULT_OK);
    CU_ASSERT_TRUE(found);
    CU_ASSERT_EQUAL(seeds_probe(NULL, 0, words, 2, &found, &error), RESULT_INVALID);
    CU_ASSERT_STRING_EQUAL(buffer_string(&error), "'frobnicate' is not an http or https URL");
    buffer_destroy(&error);
}

UNIT_MAIN("seeds",
          {"a tag and a comment stand behind the URL", a_tag_and_a_comment_stand_behind_the_url},
          {"a word of the command line is a URL, with its blanks",
           a_word_of_the_command_line_is_a_url_with_its_blanks},
          {"a word that is no URL stops everything", a_word_that_is_no_url_stops_everything},
          {"lines are URLs, comments or mistakes", lines_are_urls_comments_or_mistakes},
          {"many mistakes are counted, not printed", many_mistakes_are_counted_not_printed},
          {"many seeds come in batches", many_seeds_come_in_batches},
          {"a file that cannot be read is named", a_file_that_cannot_be_read_is_named},
          {"words of the command line are seeds", words_of_the_command_line_are_seeds},
          {"credentials and bad ports are taken out", credentials_and_bad_ports_are_taken_out},
          {"credentials may be kept", credentials_may_be_kept})
