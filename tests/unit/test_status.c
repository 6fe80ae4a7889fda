#include <string.h>

#include "crawl/run/status.h"
#include "unit.h"

static void memory_is_that_of_this_process(void)
{
    CU_ASSERT_TRUE(status_rss_bytes() > 100000);
}

static StatusSample sample_at(int64_t seconds)
{
    static const Stats stats;
    return (StatusSample){.stats = &stats,
                          .mono = {seconds * 1000000000},
                          .wall = {INT64_C(1700000000000000) + seconds * 1000000},
                          .elapsed_ms = seconds * 1000,
                          .urls_queued = 100,
                          .connections = 10,
                          .parsers = 1,
                          .parse_queue_limit = 256};
}

static void the_limit_names_the_part_that_binds(void)
{
    StatusSample before = sample_at(0);
    StatusSample now = sample_at(10);
    CU_ASSERT_STRING_EQUAL(status_limit(&before, &now), "none");
    now.frontier.front = 5;
    CU_ASSERT_STRING_EQUAL(status_limit(&before, &now), "politeness");
    now.frontier.resolving = 6;
    CU_ASSERT_STRING_EQUAL(status_limit(&before, &now), "dns");
    now.cost_rests = 1;
    CU_ASSERT_STRING_EQUAL(status_limit(&before, &now), "parser");
    now.cost_rests = 0;
    now.frontier.acquired = 10;
    CU_ASSERT_STRING_EQUAL(status_limit(&before, &now), "connections");
    now.gate_closed = true;
    CU_ASSERT_STRING_EQUAL(status_limit(&before, &now), "memory");
    now.rate = 1000;
    CU_ASSERT_STRING_EQUAL(status_limit(&before, &now), "memory");
    now.held_back = true;
    CU_ASSERT_STRING_EQUAL(status_limit(&before, &now), "bandwidth");
    now.held_back = false;
    now.bytes = before.bytes + 10000; /* in ten seconds */
    CU_ASSERT_STRING_EQUAL(status_limit(&before, &now), "bandwidth");
    now.parse_queue = 129;
    now.parser_busy_us = 4000000;
    now.writer_busy_us = 3000000;
    CU_ASSERT_STRING_EQUAL(status_limit(&before, &now), "parser");
    now.writer_busy_us = 5000000; /* they wait for it */
    CU_ASSERT_STRING_EQUAL(status_limit(&before, &now), "writer");
    now.parsers = 2;
    now.parser_busy_us = 12000000;
    CU_ASSERT_STRING_EQUAL(status_limit(&before, &now), "parser");
    now.parsers = 1;
    now.writer_busy_us = 0;
    now.parse_queue = 0;
    now.parser_busy_us = 9500000;
    CU_ASSERT_STRING_EQUAL(status_limit(&before, &now), "parser");
    now.results_closed = true;
    CU_ASSERT_STRING_EQUAL(status_limit(&before, &now), "writer");
    now.results_closed = false;
    now.writer_busy_us = 9500000;
    CU_ASSERT_STRING_EQUAL(status_limit(&before, &now), "writer");
    now.urls_queued = 0;
    CU_ASSERT_STRING_EQUAL(status_limit(&before, &now), "seeds");
    now.disk_low = true;
    CU_ASSERT_STRING_EQUAL(status_limit(&before, &now), "disk");
    now.disk_low = false;
    now.state = STATE_PAUSED;
    CU_ASSERT_STRING_EQUAL(status_limit(&before, &now), "none");
    now.held = true;
    CU_ASSERT_STRING_EQUAL(status_limit(&before, &now), "operator");
}

static void a_status_line_and_its_json_say_the_same(void)
{
    StatusSample before = sample_at(0);
    StatusSample now = sample_at(10);
    Buffer line;
    Buffer json;
    buffer_init(&line, BUFFER_NO_LIMIT);
    buffer_init(&json, BUFFER_NO_LIMIT);
    now.pages = 250;
    now.by_status[2] = 200;
    now.by_status[4] = 50;
    CU_ASSERT_EQUAL(status_line(&before, &now, &line), RESULT_OK);
    CU_ASSERT_EQUAL(status_json(&before, &now, 77, &json), RESULT_OK);
    CU_ASSERT_EQUAL(strncmp(line.data, "time=2023-11-14T22:13:30.000Z state=running ", 44), 0);
    CU_ASSERT_PTR_EQUAL(strstr(json.data, "{\"pid\": 77, \"time\": \"2023-11-14T22:13:30"),
                        json.data);
    CU_ASSERT_STRING_EQUAL(json.data + json.length - 2, "}\n");
    static const char *const both[][2] = {{" pages=250 ", "\"pages\": 250,"},
                                          {" pages_s=25.0 ", "\"pages_s\": 25.0,"},
                                          {" 2xx=200 ", "\"2xx\": 200,"},
                                          {" 4xx=50 ", "\"4xx\": 50,"},
                                          {" urls_queued=100 ", "\"urls_queued\": 100,"},
                                          {" limit=none", "\"limit\": \"none\"}"}};
    for (size_t i = 0; i < sizeof both / sizeof *both; i++) {
        CU_ASSERT_PTR_NOT_NULL(strstr(line.data, both[i][0]));
        CU_ASSERT_PTR_NOT_NULL(strstr(json.data, both[i][1]));
    }
    CU_ASSERT_PTR_NULL(strchr(line.data, '\n'));
    size_t fields = 0;
    for (const char *p = line.data; (p = strchr(p, '=')) != NULL; p++) {
        fields++;
    }
    size_t names = 0;
    for (const char *p = json.data; (p = strstr(p, "\": ")) != NULL; p++) {
        names++;
    }
    CU_ASSERT_EQUAL(names, fields + 1); /* pid */
    buffer_destroy(&line);
    buffer_destroy(&json);
}

static void progress_fits_its_terminal(void)
{
    StatusSample before = sample_at(0);
    StatusSample now = sample_at(10);
    Buffer out;
    buffer_init(&out, BUFFER_NO_LIMIT);
    now.pages = 1234;
    CU_ASSERT_EQUAL(status_progress(&before, &now, 200, &out), RESULT_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, "running 10.0 s  1234 pages (123/s)"));
    for (unsigned columns = 2; columns < 100; columns++) {
        CU_ASSERT_EQUAL(status_progress(&before, &now, columns, &out), RESULT_OK);
        CU_ASSERT_TRUE(out.length < columns && strlen(out.data) == out.length);
    }
    buffer_destroy(&out);
}

static void no_time_between_samples_is_no_division_by_zero(void)
{
    StatusSample now = sample_at(0);
    Buffer out;
    buffer_init(&out, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(status_line(&now, &now, &out), RESULT_OK);
    CU_ASSERT_TRUE(strstr(out.data, "nan") == NULL && strstr(out.data, "inf ") == NULL);
    buffer_destroy(&out);
}

UNIT_MAIN("status", {"memory is that of this process", memory_is_that_of_this_process},
          {"the limit names the part that binds", the_limit_names_the_part_that_binds},
          {"a status line and its JSON say the same", a_status_line_and_its_json_say_the_same},
          {"progress fits its terminal", progress_fits_its_terminal},
          {"no time between samples is no division by zero",
           no_time_between_samples_is_no_division_by_zero})
