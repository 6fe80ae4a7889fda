#include "command/check/check_commands.h"
#include "command/check/check_options.h"

#include <stdio.h>
#include <string.h>

int check_config(int argc, char **argv)
{
    Config config;
    if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
        (void)fprintf(stderr, "usage: ragno check config [FILE]\n");
        return 2;
    }
    if (config_init(&config) != RESULT_OK) {
        config_destroy(&config);
        return 1;
    }
    CheckOptions options = {.file = argc == 2 ? argv[1] : NULL};
    int status = check_options_load(&options, &config);
    if (status == 0) {
        (void)printf("the configuration is valid\n");
    }
    config_destroy(&config);
    return status;
}
