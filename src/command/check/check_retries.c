#include "command/check/check_commands.h"

#include <stdio.h>

#include "frontier/visit/politeness.h"

#define MS_SECOND 1000
#define MS_MINUTE 60000
#define MS_HOUR   3600000

/* As politeness.retry takes it. */
static void check_retries_print_time(int64_t ms)
{
    if (ms % MS_HOUR == 0 && ms > 0) {
        (void)printf("%lldh", (long long)(ms / MS_HOUR));
    } else if (ms % MS_MINUTE == 0 && ms > 0) {
        (void)printf("%lldm", (long long)(ms / MS_MINUTE));
    } else if (ms % MS_SECOND == 0) {
        (void)printf("%llds", (long long)(ms / MS_SECOND));
    } else {
        (void)printf("%lldms", (long long)ms);
    }
}

int check_retries(int argc, char **argv)
{
    RetryRule rules[FETCH_CLASSES];
    Buffer error;
    if (argc > 2) {
        (void)fprintf(stderr, "usage: ragno check retries ['CLASS WAIT RETRIES [drop], ...']\n");
        return 2;
    }
    buffer_init(&error, BUFFER_NO_LIMIT);
    politeness_default_rules(rules);
    if (argc == 2 && politeness_parse_rules(rules, argv[1], &error) != RESULT_OK) {
        (void)fprintf(stderr, "ragno check retries: %s\n", buffer_string(&error));
        buffer_destroy(&error);
        return 2;
    }
    for (FetchClass class = FETCH_OK + 1; class < FETCH_CLASSES; class ++) {
        const RetryRule *rule = &rules[class];
        (void)printf("%s\t", fetch_class_name(class));
        check_retries_print_time(rule->wait_ms);
        (void)printf("\t%u\t%s\t%s\n", rule->retries, rule->drops_host ? "host" : "URL",
                     fetch_class_meaning(class));
    }
    buffer_destroy(&error);
    return 0;
}
