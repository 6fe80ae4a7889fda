#include <string.h>

#include "fetch/connect/port_map.h"
#include "unit.h"

static void ports_are_mapped_and_others_are_not(void)
{
    PortMap map;
    Buffer error;
    buffer_init(&error, 1000);
    CU_ASSERT_EQUAL(port_map_parse(&map, " 80:8080, 443:8443\t1:65535", &error), RESULT_OK);
    CU_ASSERT_EQUAL(map.n, 3);
    CU_ASSERT_EQUAL(port_map_port(&map, 80), 8080);
    CU_ASSERT_EQUAL(port_map_port(&map, 443), 8443);
    CU_ASSERT_EQUAL(port_map_port(&map, 1), 65535);
    CU_ASSERT_EQUAL(port_map_port(&map, 8080), 8080);
    CU_ASSERT_EQUAL(port_map_parse(&map, "", &error), RESULT_OK);
    CU_ASSERT_EQUAL(port_map_port(&map, 80), 80);
    buffer_destroy(&error);
}

static void what_is_no_pair_is_refused(void)
{
    static const char *const bad[] = {"80",          "80:",      ":80",     "80:0",
                                      "0:80",        "80:65536", "a:b",     "80:81x",
                                      "80:81;90:91", "80-81",    "80:81:82"};
    PortMap map;
    Buffer error;
    buffer_init(&error, 1000);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        buffer_reset(&error);
        if (port_map_parse(&map, bad[i], &error) != RESULT_INVALID) {
            CU_FAIL(bad[i]);
        }
        CU_ASSERT_TRUE(error.length > 0);
    }
    char many[400] = "";
    for (int i = 0; i < 17; i++) {
        (void)snprintf(many + strlen(many), sizeof many - strlen(many), "%d:%d,", i + 1, i + 1);
    }
    CU_ASSERT_EQUAL(port_map_parse(&map, many, &error), RESULT_INVALID);
    buffer_destroy(&error);
}

UNIT_MAIN("port_map", {"ports are mapped and others are not", ports_are_mapped_and_others_are_not},
          {"what is no pair is refused", what_is_no_pair_is_refused})
