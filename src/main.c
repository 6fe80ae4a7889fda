#include <stdio.h>
#include <string.h>

#include "check.h"
#include "db.h"

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "check") == 0) {
        return check_main(argc - 1, argv + 1);
    }
    if (argc > 1 && strcmp(argv[1], "db") == 0) {
        return db_main(argc - 1, argv + 1);
    }
    (void)fprintf(stderr, "usage: ragno check COMMAND ...\n       ragno db DIR COMMAND ...\n");
    return 2;
}
