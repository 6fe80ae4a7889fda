#include "crawl/control/control_address.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

Result control_address_open(ControlAddress *address, const char *directory)
{
    *address = (ControlAddress){.name = {.sun_family = AF_UNIX}, .directory = -1};
    char *path = address->name.sun_path;
    size_t room = sizeof address->name.sun_path;
    int n = snprintf(path, room, "%s/" CONTROL_NAME, directory);
    if (n >= 0 && (size_t)n < room) {
        return RESULT_OK;
    }
    address->directory = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (address->directory < 0) {
        return result_of_errno(errno);
    }
    (void)snprintf(path, room, "/proc/self/fd/%d/" CONTROL_NAME, address->directory);
    return RESULT_OK;
}

void control_address_close(ControlAddress *address)
{
    if (address->directory >= 0) {
        (void)close(address->directory);
        address->directory = -1;
    }
}
