#include "rules/scope/denial_list.h"

#include <stdio.h>
#include <string.h>

#include "folder_fixture.h"
#include "unit.h"

static char folder[64];

static void write_file(const char *text)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/" DENIAL_LIST_FILE, folder);
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    (void)fputs(text, file);
    (void)fclose(file);
}

static void a_list_survives_on_disk(void)
{
    DenialList list = {.n = 0};
    DenialList again = {.n = 0};
    Buffer error;
    buffer_init(&error, 4096);
    folder_make(folder);
    CU_ASSERT_EQUAL(denial_list_read(&list, folder, &error), RESULT_OK);
    CU_ASSERT_EQUAL(list.n, 0);
    CU_ASSERT_EQUAL(denial_list_add(&list, "example.org", "2026-01-31 uid=0"), RESULT_OK);
    CU_ASSERT_EQUAL(denial_list_add(&list, "regex:a b", ""), RESULT_OK);
    CU_ASSERT_EQUAL(denial_list_add(&list, "example.org", "later"), RESULT_EXISTS);
    CU_ASSERT_EQUAL(denial_list_write(&list, folder, &error), RESULT_OK);
    CU_ASSERT_EQUAL(denial_list_read(&again, folder, &error), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(again.n, 2);
    CU_ASSERT_STRING_EQUAL(again.rules[0], "example.org");
    CU_ASSERT_STRING_EQUAL(again.notes[0], "2026-01-31 uid=0");
    CU_ASSERT_STRING_EQUAL(again.rules[1], "regex:a b");
    CU_ASSERT_EQUAL(denial_list_remove(&again, "example.org"), RESULT_OK);
    CU_ASSERT_EQUAL(denial_list_remove(&again, "example.org"), RESULT_NOT_FOUND);
    CU_ASSERT_EQUAL(again.n, 1);
    denial_list_destroy(&list);
    denial_list_destroy(&again);
    buffer_destroy(&error);
    folder_remove(folder);
}

static void a_mistake_names_its_line_and_changes_nothing(void)
{
    DenialList list = {.n = 0};
    Buffer error;
    buffer_init(&error, 4096);
    folder_make(folder);
    write_file("# a remark\n\nExample.ORG\n");
    CU_ASSERT_EQUAL(denial_list_read(&list, folder, &error), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(list.n, 1);
    CU_ASSERT_STRING_EQUAL(list.rules[0], "example.org");
    write_file("other.example\nhttp://\n");
    CU_ASSERT_EQUAL(denial_list_read(&list, folder, &error), RESULT_INVALID);
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&error), DENIAL_LIST_FILE ":2: "));
    CU_ASSERT_EQUAL(list.n, 1);
    CU_ASSERT_STRING_EQUAL(list.rules[0], "example.org");
    denial_list_destroy(&list);
    buffer_destroy(&error);
    folder_remove(folder);
}

UNIT_MAIN("denial_list", {"a list survives on disk", a_list_survives_on_disk},
          {"a mistake names its line and changes nothing",
           a_mistake_names_its_line_and_changes_nothing})
